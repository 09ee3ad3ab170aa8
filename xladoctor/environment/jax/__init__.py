"""What is checked of JAX."""
