"""Takes batches from an MpDeviceLoader, whose thread sends them while the device works.

It also ends each step with a barrier.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset
from torch_xla.distributed.parallel_loader import MpDeviceLoader

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


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for recordings, pitches in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(recordings), pitches)
        loss.backward()
        optimizer.step()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(LENGTH, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
    loss = train(model, MpDeviceLoader(make_loader(), device))
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
