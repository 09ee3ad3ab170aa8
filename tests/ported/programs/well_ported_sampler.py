"""Draws samples from a diffusion model; the schedule is numbers of the host."""

from itertools import pairwise

import torch
import torch_xla
from torch import nn

STEPS = 30
SAMPLES = 4


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.inward, self.outward = nn.Linear(48, 64), nn.Linear(64, 48)
        self.time = nn.Linear(1, 64)

    def forward(self, sample, time):
        return self.outward(nn.functional.silu(self.inward(sample) + self.time(time)))


@torch.no_grad()
def sample(model, device):
    sigmas = [*((torch.linspace(999, 0, STEPS) / 200).exp() - 0.9).tolist(), 0.0]
    images = (sigmas[0] * torch.randn(8, 48)).to(device)
    for sigma, following in pairwise(sigmas):
        now = torch.tensor([sigma, following - sigma]).to(device)
        scaled = images / (now[0] ** 2 + 1) ** 0.5
        images = images + model(scaled, now[:1].log()) * now[1]
        torch_xla.sync()
    return images.cpu()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Denoiser().to(device).eval()
    for _ in range(SAMPLES):
        print(f"mean of the samples {sample(model, device).mean():.4f}")


if __name__ == "__main__":
    main()
