"""Checks of an installation of torch and TorchTPU."""

from xladoctor.frontends.torch_tpu.environment.checks import FRAMEWORK

__all__ = ["FRAMEWORK"]
