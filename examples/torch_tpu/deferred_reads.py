"""Looks at a layer here and there, and so cuts chains of deferred operators elsewhere each time."""

import random

import torch

WIDTH = 64
LAYERS = 10
STEPS = 60


def make_model():
    layers = []
    for _ in range(LAYERS):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()]
    return torch.nn.Sequential(*layers)


def train(model):
    torch.tpu.eager_mode = torch.tpu.EagerMode.DEFER_AND_FUSE
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    batch = torch.randn(16, WIDTH).to("tpu")
    means = []
    for _ in range(STEPS):
        watched = random.randrange(len(model))
        hidden = batch
        for number, layer in enumerate(model):
            hidden = layer(hidden)
            if number == watched:
                means.append(hidden.mean().item())
        loss = hidden.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return means


def main():
    torch.manual_seed(0)
    random.seed(0)
    means = train(make_model().to("tpu"))
    print(f"mean activation {sum(means) / len(means):.4g}")


if __name__ == "__main__":
    main()
