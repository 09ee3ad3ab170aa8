"""Tests of xladoctor.cache_keys."""
