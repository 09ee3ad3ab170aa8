"""Draws samples from a diffusion model, with a barrier after each step of its scheduler."""

import torch
import torch_xla
from torch import nn

STEPS = 14


class Scheduler:
    """Euler steps over decreasing noise levels, which it keeps on the device."""

    def __init__(self, count, device):
        self.times = torch.linspace(999, 0, count).long().tolist()
        levels = (torch.linspace(999, 0, count) / 200).exp() - 0.9
        self.sigmas = torch.cat([levels, torch.zeros(1)]).to(device)

    def scale(self, sample, index):
        return sample / (self.sigmas[index] ** 2 + 1) ** 0.5

    def step(self, noise, index, sample):
        return sample + noise * (self.sigmas[index + 1] - self.sigmas[index])


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.inward, self.outward = nn.Linear(48, 64), nn.Linear(64, 48)
        self.time = nn.Embedding(1000, 64)

    def forward(self, sample, time):
        return self.outward(nn.functional.silu(self.inward(sample) + self.time(time)))


@torch.no_grad()
def sample(model, scheduler, device):
    images = (160 * torch.randn(8, 48)).to(device)
    for index, t in enumerate(scheduler.times):
        noise = model(scheduler.scale(images, index), torch.tensor(t).to(device))
        images = scheduler.step(noise, index, images)
        torch_xla.sync()
    return images.cpu()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Denoiser().to(device).eval()
    scheduler = Scheduler(STEPS, device)
    print(f"mean of the samples {sample(model, scheduler, device).mean():.4f}")


if __name__ == "__main__":
    main()
