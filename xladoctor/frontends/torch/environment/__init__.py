"""Checks of torch.compile, for installations of PyTorch alone."""

from xladoctor.frontends.torch.environment.checks import FRAMEWORK

__all__ = ["FRAMEWORK"]
