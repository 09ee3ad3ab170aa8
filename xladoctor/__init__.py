"""A performance doctor for PyTorch/XLA programs: causes, lines, costs and fixes from one run."""

__version__ = "0.1.0"
