"""What the frontends of PyTorch share: Dynamo, and loaders of batches."""
