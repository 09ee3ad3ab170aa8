"""Denoises images in a generator, without a barrier: one graph holds all sixty turns.

Nothing runs until the images are fetched; then the whole graph is compiled.
"""

from collections.abc import Iterator

import torch
import torch_xla
from torch import nn

TURNS = 60
WIDTH = 192


class Denoiser(nn.Module):
    """Guesses the noise in flat images, given how much there is."""

    def __init__(self) -> None:
        super().__init__()
        self.inward = nn.Linear(WIDTH + 1, 256)
        self.middle = nn.ModuleList(nn.Linear(256, 256) for _ in range(6))
        self.outward = nn.Linear(256, WIDTH)

    def forward(self, images: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        hidden = self.inward(torch.cat([images, level.expand(len(images), 1)], dim=1))
        for layer in self.middle:
            hidden = hidden + torch.tanh(layer(hidden))
        return self.outward(hidden)


@torch.no_grad()
def turns(
    model: nn.Module, images: torch.Tensor, levels: list[torch.Tensor]
) -> Iterator[torch.Tensor]:
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
        noise = torch.randn(16, WIDTH).to(device)
        *_, images = turns(model, noise, [level.to(device) for level in levels])
        print(f"batch {batch} mean {images.cpu().mean():.6f}")


if __name__ == "__main__":
    main()
