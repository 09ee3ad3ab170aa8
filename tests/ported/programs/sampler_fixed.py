"""Draws samples from a diffusion model: each step of the scheduler looks itself up by its time."""

import torch
import torch_xla
from torch import nn

STEPS = 30


class EulerScheduler:
    """Euler steps over decreasing noise levels."""

    def set_timesteps(self, count, device):
        times = torch.linspace(999, 0, count)
        self.sigmas = torch.cat([((times / 200).exp() - 0.9), torch.zeros(1)])
        self.timesteps = times
        self.device = device

    def index_of(self, timestep):
        return (self.timesteps == timestep).nonzero().item()

    def scale_model_input(self, sample, timestep):
        step_index = self.index_of(timestep)
        sigma = self.sigmas[step_index].to(self.device)
        return sample / (sigma**2 + 1) ** 0.5

    def step(self, noise, timestep, sample):
        step_index = self.index_of(timestep)
        change = self.sigmas[step_index + 1] - self.sigmas[step_index]
        return sample + noise * change.to(self.device)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(1, 16)
        self.inward = nn.Conv2d(3, 16, 3, padding=1)
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.outward = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, sample, timestep):
        embedded = torch.sin(self.time(timestep.view(1, 1) / 1000)).view(1, 16, 1, 1)
        hidden = nn.functional.silu(self.inward(sample) + embedded)
        return self.outward(nn.functional.silu(self.middle(hidden)))


@torch.no_grad()
def sample(model, scheduler, device):
    scheduler.set_timesteps(STEPS, device)
    images = (torch.randn(2, 3, 16, 16) * scheduler.sigmas[0]).to(device)
    for t in scheduler.timesteps:
        scaled = scheduler.scale_model_input(images, t)
        noise = model(scaled, t.to(device))
        images = scheduler.step(noise, t, images)
        torch_xla.sync()
    return images.clamp(-1, 1).cpu()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Denoiser().to(device).eval()
    scheduler = EulerScheduler()
    for _ in range(2):
        print(f"mean of the samples {sample(model, scheduler, device).mean():.5f}")


if __name__ == "__main__":
    main()
