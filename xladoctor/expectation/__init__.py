"""Expectations: what a block of a program may compile, wait for, or run on the CPU."""

from __future__ import annotations

from xladoctor.expectation.block import expect
from xladoctor.expectation.interface import Expectation, UnmetExpectation

__all__ = ["Expectation", "UnmetExpectation", "expect"]
