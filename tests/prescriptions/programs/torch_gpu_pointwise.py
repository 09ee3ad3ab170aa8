"""Computes an activation of its own with one kernel for each operation, beside a compiled model."""

import torch

STEPS = 2000


def activate(x):
    """Return a smooth activation."""
    return x * torch.sigmoid(x) + 0.1 * torch.tanh(x) * torch.exp(-x.abs()) - 0.01 * x


def main():
    torch.manual_seed(0)
    model = torch.nn.Linear(1024, 1024).cuda()
    compiled = torch.compile(model)
    x = torch.randn(16384, 1024, device="cuda")
    with torch.no_grad():
        for _ in range(STEPS):
            for _ in range(8):
                x = activate(x)
            y = compiled(x[:64])
    print(f"result {y.mean().item():.4g}")


if __name__ == "__main__":
    main()
