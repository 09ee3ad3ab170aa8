"""Trains a generator against a discriminator, each with its optimizer, with a barrier.

A barrier after both updates makes each step one graph, the same every time; the losses that are
printed every fifth step are already there.
"""

import torch
import torch_xla
from torch import nn, optim
from torch.nn.functional import binary_cross_entropy_with_logits as judged

BATCH = 64
NOISE = 4
STEPS = 10


def points(count):
    """Points near the unit circle, which the generator is to imitate."""
    angles = 2 * torch.pi * torch.rand(count)
    return torch.stack([angles.cos(), angles.sin()], dim=1) + 0.05 * torch.randn(count, 2)


def network(inputs, outputs):
    layers = nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, outputs, bias=False)
    return nn.Sequential(*layers)


class Game:
    """Both networks with their optimizers; a round updates first one, then the other."""

    def __init__(self, device):
        self.device = device
        self.generator = network(NOISE, 2).to(device)
        self.discriminator = network(2, 1).to(device)
        self.forger = optim.SGD(self.generator.parameters(), lr=0.05)
        self.judge = optim.SGD(self.discriminator.parameters(), lr=0.05)
        self.genuine = torch.ones(BATCH, 1).to(device)
        self.mixed = torch.cat([self.genuine, torch.zeros(BATCH, 1).to(device)])

    def round(self):
        real, noise = points(BATCH).to(self.device), torch.randn(BATCH, NOISE).to(self.device)
        fakes = self.generator(noise)

        self.judge.zero_grad()
        doubt = judged(self.discriminator(torch.cat([real, fakes.detach()])), self.mixed)
        doubt.backward()
        self.judge.step()

        self.forger.zero_grad()
        failure = judged(self.discriminator(fakes), self.genuine)
        failure.backward()
        self.forger.step()
        return doubt.detach(), failure.detach()


def main():
    torch.manual_seed(0)
    game = Game(torch_xla.device())
    for step in range(1, STEPS + 1):
        losses = game.round()
        torch_xla.sync()
        if step % 5 == 0:
            doubt, failure = torch.stack(losses).tolist()
            print(f"step {step} discriminator {doubt:.6g} generator {failure:.6g}")


if __name__ == "__main__":
    main()
