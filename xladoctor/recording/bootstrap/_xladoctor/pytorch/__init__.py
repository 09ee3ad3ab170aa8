"""Shared by the frontends of PyTorch: Dynamo and data loaders."""
