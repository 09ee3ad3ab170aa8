"""What JAX itself writes."""
