"""Trains from a loader whose only worker process cannot keep up.

Reading a sample takes 6 ms, as from a network disk; one worker reads ahead, but never enough.
"""

import time

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

BATCH = 8
SAMPLES = 320
FEATURES = 1024


class Recordings(Dataset):
    """Noise with a tone of one of two pitches, read from slow storage."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        time.sleep(0.006)
        generator = torch.Generator().manual_seed(index)
        pitch = index % 2
        tone = torch.sin(torch.arange(FEATURES) * (0.1 + 0.1 * pitch))
        return tone + torch.randn(FEATURES, generator=generator), pitch


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Recordings(), batch_size=BATCH, num_workers=1)
    for tones, pitches in loader:
        tones, pitches = tones.to(device), pitches.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(tones), pitches)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 512), nn.ReLU(), nn.Linear(512, 2)).to(device)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
