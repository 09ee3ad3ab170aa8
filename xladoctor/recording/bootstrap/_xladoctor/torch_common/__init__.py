"""Hooks of PyTorch that several frontends need: Dynamo, loaders, hiding from what is traced."""
