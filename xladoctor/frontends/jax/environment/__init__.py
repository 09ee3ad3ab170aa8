"""Checks of an installation of JAX."""

from xladoctor.frontends.jax.environment.checks import FRAMEWORK

__all__ = ["FRAMEWORK"]
