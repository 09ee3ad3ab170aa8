"""Multiplies float32 without the tensor cores."""

import torch

STEPS = 120


def main():
    torch.manual_seed(0)
    layers = torch.nn.Linear(4096, 8192), torch.nn.ReLU(), torch.nn.Linear(8192, 4096)
    model = torch.nn.Sequential(*layers).cuda()
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(4096, 4096, device="cuda")
    for _ in range(STEPS):
        loss = compiled(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {loss.item():.4g}")


if __name__ == "__main__":
    main()
