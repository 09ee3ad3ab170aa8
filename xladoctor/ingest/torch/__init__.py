"""What PyTorch itself writes about its compilations."""
