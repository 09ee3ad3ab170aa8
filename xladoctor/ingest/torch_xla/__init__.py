"""Readers of what torch_xla itself writes: metrics reports and analysis logs."""
