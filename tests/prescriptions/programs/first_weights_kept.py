"""Trains weights whose first version a variable keeps until the end."""

import torch
import torch_xla

SIZE = 512
STEPS = 60


def start(device):
    torch.manual_seed(0)
    return [torch.randn(SIZE, SIZE, device=device) / SIZE**0.5 for _ in range(6)]


def updated(weights, inputs):
    hidden = inputs
    for weight in weights:
        hidden = torch.tanh(hidden @ weight)
    return [weight - 0.01 * weight * hidden.mean() for weight in weights]


def main():
    device = torch_xla.device()
    inputs = torch.ones(32, SIZE, device=device)
    first = start(device)
    weights = updated(first, inputs)
    torch_xla.sync()
    for _ in range(STEPS):
        weights = updated(weights, inputs)
        torch_xla.sync()
    print(f"{float(sum(weight.sum() for weight in weights).cpu()):.4f}")


main()
