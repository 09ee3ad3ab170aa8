"""Checks of an installation of torch and torch_xla, and of settings that hurt."""

from xladoctor.frontends.torch_xla.environment.checks import FRAMEWORK

__all__ = ["FRAMEWORK"]
