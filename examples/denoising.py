"""Denoises images in a generator, without a barrier: one graph holds all thirty turns.

Nothing runs until the images are fetched; then the whole graph is compiled.
"""

from collections.abc import Iterator

import torch
import torch_xla
from torch import nn

TURNS = 30
WIDTH = 192


class Denoiser(nn.Module):
    """Guesses the noise in flat images, given how much there is."""

    def __init__(self) -> None:
        super().__init__()
        self.inward = nn.Linear(WIDTH + 1, 256)
        self.middle = nn.ModuleList(nn.Linear(256, 256) for _ in range(12))
        self.outward = nn.Linear(256, WIDTH)

    def forward(self, images: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        hidden = self.inward(torch.cat([images, level.expand(len(images), 1)], dim=1))
        for layer in self.middle:
            hidden = hidden + torch.tanh(layer(hidden))
        return self.outward(hidden)


@torch.no_grad()
def denoised(model: nn.Module, images: torch.Tensor, levels: torch.Tensor) -> Iterator[torch.Tensor]:
    """The images after each turn."""
    for level in levels:
        images = images - 0.1 * level * model(images, level)
        yield images


def main() -> None:
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Denoiser().to(device)
    levels = torch.linspace(1.0, 0.1, TURNS).unsqueeze(1)
    for batch in range(4):
        images = torch.randn(16, WIDTH).to(device)
        for images in denoised(model, images, [level.to(device) for level in levels]):
            pass
        print(f"batch {batch} mean {images.cpu().mean():.6f}")


if __name__ == "__main__":
    main()
