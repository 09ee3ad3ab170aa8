"""Programs of TorchTPU, run for real without a TPU: over a PJRT plugin for the CPU."""
