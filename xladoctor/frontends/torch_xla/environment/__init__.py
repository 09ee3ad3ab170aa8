"""Whether torch and torch_xla are sound here, and which of their settings hurt."""

from xladoctor.frontends.torch_xla.environment.checks import FRAMEWORK

__all__ = ["FRAMEWORK"]
