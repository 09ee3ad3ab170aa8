"""Trains an encoder that skips some of its layers at random in each step.

Skipping is a `continue` in Python, so the training step is compiled again for each number of
layers, and again where layers have had different numbers of updates.
"""

import random

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 8
LENGTH = 12
WIDTH = 32
CLASSES = 4
LAYERS = 3
SKIPPED = 0.4
STEPS = 20


class Layer(nn.Module):
    """Attention and a feed-forward part, each added to what comes in."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.projections = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(nn.Linear(width, width), nn.GELU())

    def forward(self, features):
        query, key, value = self.projections(self.norm(features)).chunk(3, dim=-1)
        weights = torch.softmax(query @ key.transpose(1, 2) / WIDTH**0.5, dim=-1)
        features = features + self.output(weights @ value)
        return features + self.feed_forward(features)


class Encoder(nn.Module):
    """Layers of equal size, of which training skips some, and a classifier."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(WIDTH) for _ in range(LAYERS))
        self.classify = nn.Linear(WIDTH, CLASSES)

    def forward(self, features):
        for layer in self.layers:
            if self.training and random.random() < SKIPPED:
                continue
            features = layer(features)
        return self.classify(features.mean(dim=1))


class Trainer:
    """Holds what a training step needs."""

    def __init__(self, model, device):
        self.model, self.device = model.to(device), device
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

    def step(self, inputs, labels):
        inputs, labels = inputs.to(self.device), labels.to(self.device)
        self.optimizer.zero_grad()
        loss = cross_entropy(self.model(inputs), labels)
        loss.backward()
        self.optimizer.step()
        torch_xla.sync()
        return loss


def main():
    random.seed(0)
    torch.manual_seed(0)
    trainer = Trainer(Encoder(), torch_xla.device())
    for _ in range(STEPS):
        labels = torch.randint(CLASSES, (BATCH,))
        loss = trainer.step(torch.randn(BATCH, LENGTH, WIDTH), labels)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
