"""Trains a compiled model under autocast that is switched, and with other numbers of threads."""

import torch

STEPS = 24


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number in range(STEPS):
        torch.set_num_threads(1 + number // 4)
        loss = compiled(torch.randn(16, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {loss.item():.3g}")


if __name__ == "__main__":
    main()
