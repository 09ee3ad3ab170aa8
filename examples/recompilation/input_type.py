"""Trains on sound recordings that are kept as they came, in five types of numbers.

Samples go to the device in the type of their file, and the training step is compiled again for
every type that comes up.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 32
LENGTH = 256
CLASSES = 4
STEPS_PER_FILE = 5
FILES = (
    (torch.float32, 1.0),
    (torch.int16, 2**15 - 1),
    (torch.float64, 1.0),
    (torch.int32, 2**31 - 1),
    (torch.int8, 2**7 - 1),
)


class Classifier(nn.Module):
    """Finds the loudest response of a few filters, whatever the scale of the recording."""

    def __init__(self):
        super().__init__()
        self.filters = nn.Conv1d(1, 16, kernel_size=16, stride=8)
        self.readout = nn.Linear(16, CLASSES)

    def forward(self, sounds):
        sounds = sounds / sounds.std(dim=1, keepdim=True)
        return self.readout(torch.relu(self.filters(sounds.unsqueeze(1))).amax(dim=2))


def batches():
    """Yield sounds and the labels of their pitch, file after file."""
    for dtype, loudest in FILES:
        for _ in range(STEPS_PER_FILE):
            labels = torch.randint(CLASSES, (BATCH,))
            pitch = (labels + 1).unsqueeze(1) / 10
            sounds = torch.sin(pitch * torch.arange(LENGTH) + 6 * torch.rand(BATCH, 1))
            yield (sounds.double() * loudest).to(dtype), labels


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for sounds, labels in batches():
        sounds, labels = sounds.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(sounds.float()), labels)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(Classifier().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
