"""Compiles what each step does alike, the means of all layers with it, in the default mode."""

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
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    batch = torch.randn(16, WIDTH).to("tpu")
    update = torch.compile(optimizer.step)

    @torch.compile
    def loss_of(batch):
        hidden, of_layers = batch, []
        for layer in model:
            hidden = layer(hidden)
            of_layers.append(hidden.mean())
        return hidden.square().mean(), torch.stack(of_layers)

    means = []
    for _ in range(STEPS):
        watched = random.randrange(len(model))
        loss, of_layers = loss_of(batch)
        means.append((of_layers.detach(), watched))
        optimizer.zero_grad()
        loss.backward()
        update()
    return [values.tolist()[watched] for values, watched in means]


def main():
    torch.manual_seed(0)
    random.seed(0)
    means = train(make_model().to("tpu"))
    print(f"mean activation {sum(means) / len(means):.4g}")


if __name__ == "__main__":
    main()
