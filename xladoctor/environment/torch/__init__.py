"""What is checked of torch.compile, where PyTorch alone is installed."""
