"""Trains a deep network whose layers are equal: all forty are compiled, forward and backward."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import layer_norm, mse_loss

BATCH = 256
FEATURES = 64
LAYERS = 40
STEPS = 8


class Layer(nn.Module):
    """Tokens attend to each other as they are; one matrix mixes their features."""

    def __init__(self):
        super().__init__()
        self.mixed = nn.Linear(FEATURES, FEATURES, bias=False)

    def forward(self, tokens):
        normal = layer_norm(tokens, (FEATURES,))
        weights = torch.softmax(normal @ normal.transpose(1, 2) / FEATURES**0.5, dim=-1)
        return tokens + torch.tanh(self.mixed(weights @ normal))


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.last = nn.Linear(FEATURES, 1)

    def forward(self, tokens):
        for layer in self.layers:
            tokens = layer(tokens)
        return self.last(tokens)


def batches(steps):
    """Yield fresh tokens, and a number for each."""
    for _ in range(steps):
        tokens = torch.randn(BATCH, 16, FEATURES)
        yield tokens, tokens.mean(dim=2, keepdim=True)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for tokens, targets in batches(STEPS):
        tokens, targets = tokens.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(tokens), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(Deep().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
