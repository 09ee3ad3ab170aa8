"""What must be known of each framework above XLA after capture: data, not code."""
