"""Evaluates with dropout every twenty steps, with a barrier after each batch; reads come last."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
STEPS = 60
HELD_OUT = 8


def batches(steps):
    """Yield fresh numbers, and their sums."""
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, inputs.sum(dim=1, keepdim=True)


def make_model():
    return nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 1))


def evaluate(model, device):
    """The mean loss on other batches, dropout being on for its spread."""
    losses = []
    with torch.no_grad():
        for inputs, targets in batches(HELD_OUT):
            inputs, targets = inputs.to(device), targets.to(device)
            losses.append(mse_loss(model(inputs), targets))
            torch_xla.sync()
    return sum(loss.item() for loss in losses) / len(losses)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (inputs, targets) in enumerate(batches(STEPS), 1):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        mse_loss(model(inputs), targets).backward()
        optimizer.step()
        torch_xla.sync()
        if step % 20 == 0:
            print(f"step {step} loss {evaluate(model, device):.9g}")


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train(make_model().to(device), device)


if __name__ == "__main__":
    main()
