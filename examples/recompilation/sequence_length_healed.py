"""Trains on recordings of gestures, in batches that are padded to one of a few lengths.

A batch is padded to the next of the lengths in BUCKETS, so the training step is compiled once
for each of them and never again.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy, pad
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

SENSORS = 8
CLASSES = 4
LONGEST = 64
BUCKETS = (32, LONGEST)
BATCH = 8
STEPS = 24


class Classifier(nn.Module):
    """Looks at each moment alone and takes the mean over the moments that were recorded."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(SENSORS, 32)
        self.readout = nn.Linear(32, CLASSES)

    def forward(self, gestures, lengths):
        features = torch.relu(self.hidden(gestures))
        moments = torch.arange(gestures.shape[1], device=gestures.device)
        recorded = (moments < lengths.unsqueeze(1)).unsqueeze(2)
        return self.readout((features * recorded).sum(dim=1) / lengths.unsqueeze(1))


def make_gestures(count):
    """Return pairs of readings, noisy around those of a class, and the label of the class."""
    centres = torch.randn(CLASSES, SENSORS)
    lengths = torch.empty(count).exponential_(1 / 12).clamp(4, LONGEST).long().tolist()
    labels = torch.randint(CLASSES, (count,)).tolist()
    return [
        (centres[label] + torch.randn(length, SENSORS), label)
        for length, label in zip(lengths, labels, strict=True)
    ]


def collate(gestures):
    """Pad a batch to the shortest bucket that holds its longest recording."""
    lengths = torch.tensor([len(readings) for readings, _ in gestures])
    readings = pad_sequence([readings for readings, _ in gestures], batch_first=True)
    length = next(bucket for bucket in BUCKETS if bucket >= readings.shape[1])
    readings = pad(readings, (0, 0, 0, length - readings.shape[1]))
    return readings, lengths, torch.tensor([label for _, label in gestures])


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for readings, lengths, labels in loader:
        readings, lengths, labels = readings.to(device), lengths.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(readings, lengths), labels)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loader = DataLoader(make_gestures(STEPS * BATCH), BATCH, shuffle=True, collate_fn=collate)
    loss = train(Classifier().to(device), loader, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
