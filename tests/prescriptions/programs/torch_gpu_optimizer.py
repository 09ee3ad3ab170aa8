"""Trains a deep model with an optimizer that updates its parameters one by one."""

import torch

STEPS = 100


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(100))).cuda()
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    x = torch.randn(64, 64, device="cuda")
    for _ in range(STEPS):
        loss = (compiled(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {loss.item():.4g}")


if __name__ == "__main__":
    main()
