"""Trains a model in TorchTPU's default mode, which launches each operator by itself."""

import torch

WIDTH = 64
LAYERS = 6
STEPS = 200


def make_model():
    layers = []
    for _ in range(LAYERS):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH), torch.nn.GELU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1))


def train(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    total = torch.zeros((), device="tpu")
    for _ in range(STEPS):
        batch = torch.randn(16, WIDTH).to("tpu")
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total / STEPS


def main():
    torch.manual_seed(0)
    print(f"mean loss {train(make_model().to('tpu')).item():.6g}")


if __name__ == "__main__":
    main()
