"""Draws samples from a diffusion model, with a schedule of noise levels on the device.

The step is counted on the device, and `index_select` reads the level at a place that is data,
so all steps have one graph.
"""

import torch
import torch_xla
from torch import nn

BATCH = 64
FEATURES = 32
STEPS = 24


class Denoiser(nn.Module):
    """Guesses the noise in samples from them and its level."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(FEATURES + 1, 128)
        self.readout = nn.Linear(128, FEATURES)

    def forward(self, samples, level):
        inputs = torch.cat([samples, level.log().expand(BATCH, 1)], dim=1)
        return self.readout(torch.relu(self.hidden(inputs)))


@torch.no_grad()
def draw(model, device):
    levels = torch.logspace(1, -2, STEPS).to(device)
    samples = (10 * torch.randn(BATCH, FEATURES)).to(device)
    step = torch.zeros(1, dtype=torch.long).to(device)
    for _ in range(STEPS):
        level = levels.index_select(0, step)
        samples = samples - level / STEPS * model(samples, level)
        step += 1
        torch_xla.sync()
    return samples


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    samples = draw(Denoiser().to(device), device).cpu()
    print(f"spread of the samples {samples.std().item():.9g}")


if __name__ == "__main__":
    main()
