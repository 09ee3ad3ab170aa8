"""Whether torch and torch_xla are sound here, and which of their settings hurt."""
