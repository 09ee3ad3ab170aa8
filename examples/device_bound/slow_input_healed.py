"""Evaluates a wide model with a loader whose workers read ahead while the device works.

The loop hardly waits for a batch; but the end comes no sooner, since the device is no faster.
"""

import time

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

BATCH = 768
FEATURES = 128
WIDTH = 1536
STEPS = 24


class Recordings(Dataset):
    """Files of noise with a tone of one of two pitches, a batch in each, on slow storage."""

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        time.sleep(0.04)
        generator = torch.Generator().manual_seed(index)
        pitches = torch.arange(BATCH) % 2
        tones = torch.sin(torch.arange(FEATURES) * (0.1 + 0.1 * pitches.unsqueeze(1)))
        return tones + torch.randn(BATCH, FEATURES, generator=generator), pitches


def make_model():
    """Return eight layers of large matrix products between a small first and a small last one."""
    hidden = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(8)]
    return nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.ReLU(), *hidden, nn.Linear(WIDTH, 2))


@torch.no_grad()
def evaluate(model, device):
    losses = []
    loader = DataLoader(Recordings(), batch_size=None, num_workers=2, prefetch_factor=2)
    for tones, pitches in loader:
        tones, pitches = tones.to(device), pitches.to(device)
        losses.append(cross_entropy(model(tones), pitches))
        torch_xla.sync()
    return torch.stack(losses).mean()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    print(f"mean loss {evaluate(make_model().to(device), device).item():.9g}")


if __name__ == "__main__":
    main()
