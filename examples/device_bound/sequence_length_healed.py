"""Evaluates a wide model on gestures in batches that are all padded to one length.

The model is compiled once, for at most 5% more moments.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy, pad
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

SENSORS = 8
CLASSES = 4
WIDTH = 1536
SHORTEST = 122
LONGEST = 128
BATCH = 4
STEPS = 24


class Classifier(nn.Module):
    """Looks at each moment alone and takes the mean over the moments that were recorded."""

    def __init__(self):
        super().__init__()
        hidden = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(8)]
        self.hidden = nn.Sequential(nn.Linear(SENSORS, WIDTH), nn.ReLU(), *hidden)
        self.readout = nn.Linear(WIDTH, CLASSES)

    def forward(self, gestures, lengths):
        moments = torch.arange(gestures.shape[1], device=gestures.device)
        recorded = (moments < lengths.unsqueeze(1)).unsqueeze(2)
        means = (self.hidden(gestures) * recorded).sum(dim=1) / lengths.unsqueeze(1)
        return self.readout(means)


def make_gestures(count):
    """Return pairs of readings, noisy around those of a class, and its label; shortest first."""
    centres = torch.randn(CLASSES, SENSORS)
    lengths = torch.randint(SHORTEST, LONGEST + 1, (count,)).sort().values.tolist()
    labels = torch.randint(CLASSES, (count,)).tolist()
    return [
        (centres[label] + torch.randn(length, SENSORS), label)
        for length, label in zip(lengths, labels, strict=True)
    ]


def collate(gestures):
    """Pad a batch to the length of the longest recording of all."""
    lengths = torch.tensor([len(readings) for readings, _ in gestures])
    readings = pad_sequence([readings for readings, _ in gestures], batch_first=True)
    readings = pad(readings, (0, 0, 0, LONGEST - readings.shape[1]))
    return readings, lengths, torch.tensor([label for _, label in gestures])


@torch.no_grad()
def evaluate(model, loader, device):
    losses = []
    for readings, lengths, labels in loader:
        readings, lengths, labels = readings.to(device), lengths.to(device), labels.to(device)
        losses.append(cross_entropy(model(readings, lengths), labels))
        torch_xla.sync()
    return torch.stack(losses).mean()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loader = DataLoader(make_gestures(STEPS * BATCH), BATCH, collate_fn=collate)
    print(f"mean loss {evaluate(Classifier().to(device), loader, device).item():.9g}")


if __name__ == "__main__":
    main()
