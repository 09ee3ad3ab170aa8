"""What is checked of torch.compile, where PyTorch alone is installed."""

from xladoctor.frontends.torch.environment.checks import FRAMEWORK

__all__ = ["FRAMEWORK"]
