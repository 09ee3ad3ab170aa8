"""What is particular to a framework above XLA and must be known after capture: data, not code."""
