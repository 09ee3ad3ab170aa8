"""An averaged copy of the weights, and an optimizer that updates a parameter at a time."""

from copy import deepcopy

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

STEPS = 250


class Lion:
    """Updates by the sign of a moving average of the gradient."""

    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.99)):
        self.parameters = list(parameters)
        self.lr = lr
        self.betas = betas
        self.averages = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self):
        for p, average in zip(self.parameters, self.averages, strict=True):
            update = average * self.betas[0] + p.grad * (1 - self.betas[0])
            p.add_(update.sign(), alpha=-self.lr)
            average.mul_(self.betas[1]).add_(p.grad, alpha=1 - self.betas[1])
            p.grad = None
            torch_xla.sync()


@torch.no_grad()
def update_average(averaged, model, decay=0.99):
    for kept, p in zip(averaged.parameters(), model.parameters(), strict=True):
        kept.mul_(decay).add_(p, alpha=1 - decay)


def network():
    layers = [layer for _ in range(5) for layer in (nn.Linear(64, 64), nn.SiLU())]
    return nn.Sequential(*layers, nn.Linear(64, 1))


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = network()
    averaged = deepcopy(model).to(device)
    model = model.to(device)
    optimizer = Lion(model.parameters())
    for _ in range(STEPS):
        inputs = torch.randn(64, 64)
        targets = inputs.mean(dim=1, keepdim=True)
        loss = mse_loss(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        update_average(averaged, model)
        torch_xla.sync()
    print(f"final loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
