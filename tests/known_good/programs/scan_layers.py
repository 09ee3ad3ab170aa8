"""Trains a stack of equal layers which scan_layers compiles once."""

import torch
import torch_xla
from torch import nn
from torch_xla.experimental.scan_layers import scan_layers

WIDTH, LAYERS, BATCH, STEPS = 96, 12, 32, 50


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = nn.ModuleList(Layer() for _ in range(LAYERS)).to(device)
    optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-3)
    torch_xla.sync()
    inputs = torch.randn(BATCH, WIDTH, device=device)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = (scan_layers(layers, inputs, is_layer_pure=True) ** 2).mean()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
