"""Trains for several epochs with a loader that leaves out the last, smaller batch of each.

All batches have one size, so one graph serves all steps.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

IMAGES = 220
SIZE = 12
BATCH = 24
CLASSES = 5
EPOCHS = 4


class Patterns(Dataset):
    """Noisy images of a few patterns."""

    def __init__(self, length, patterns):
        self.labels = torch.arange(length) % CLASSES
        self.images = patterns[self.labels] + torch.randn(length, 1, SIZE, SIZE)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


class Classifier(nn.Module):
    """A convolution and a linear layer."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten())
        self.classify = nn.Linear(4 * (SIZE - 2) ** 2, CLASSES)

    def forward(self, images):
        return self.classify(self.features(images))


class Experiment:
    """A model with its data."""

    def __init__(self, device):
        self.device = device
        self.model = Classifier().to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        patterns = torch.randn(CLASSES, 1, SIZE, SIZE)
        self.training = DataLoader(
            Patterns(IMAGES, patterns), batch_size=BATCH, shuffle=True, drop_last=True
        )

    def train(self):
        for images, labels in self.training:
            images, labels = images.to(self.device), labels.to(self.device)
            self.optimizer.zero_grad()
            loss = cross_entropy(self.model(images), labels)
            loss.backward()
            self.optimizer.step()
            torch_xla.sync()
        return loss


def main():
    torch.manual_seed(0)
    experiment = Experiment(torch_xla.device())
    for epoch in range(EPOCHS):
        loss = experiment.train()
        print(f"epoch {epoch} loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
