"""Takes batches from a loader and sends each to the device itself, in the step: 17 MB of signals.

The loop waits while they are sent, and the device has nothing to do.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

BATCH = 64
LENGTH = 65536
KEPT = 256
STEPS = 40


class Recordings(Dataset):
    """Noise with a tone of one of two pitches: a few in memory, of which batches are slices."""

    def __init__(self):
        self.pitches = torch.arange(KEPT) % 2
        tones = torch.sin(torch.arange(LENGTH) * (0.1 + 0.1 * torch.arange(2).reshape(2, 1)))
        self.recordings = 0.1 * tones[self.pitches] + torch.randn(KEPT, LENGTH)

    def __len__(self):
        return STEPS * BATCH

    def __getitems__(self, indices):
        begin = indices[0] % KEPT
        batch = slice(begin, begin + len(indices))
        return self.recordings[batch], self.pitches[batch]


def make_loader():
    return DataLoader(Recordings(), batch_size=BATCH, drop_last=True, collate_fn=tuple)


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for recordings, pitches in loader:
        recordings, pitches = recordings.to(device), pitches.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(recordings), pitches)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(LENGTH, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
    loss = train(model, make_loader(), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
