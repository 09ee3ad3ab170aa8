"""Draws the noise of each step on the host, while the device waits."""

import torch

STEPS = 150


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = torch.nn.Sequential(
        torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)
    )
    model = model.cuda()
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        noise = torch.randn(1024, 1024).cuda()
        loss = (compiled(noise) - noise).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {loss.item():.2g}")


if __name__ == "__main__":
    main()
