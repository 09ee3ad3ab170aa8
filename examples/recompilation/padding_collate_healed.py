"""Trains a tagger with callbacks; the loader pads all batches to one length.

So one graph serves all steps.
"""

import random

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

SENTENCES = 240
LONGEST = 60
BATCH = 8
WORDS = 100
TAGS = 5
PADDING = 0


def make_sentences():
    """Return sentences of different lengths, as lists of the numbers of their words."""
    lengths = [random.randint(3, LONGEST) for _ in range(SENTENCES)]
    return [[random.randrange(1, WORDS) for _ in range(length)] for length in lengths]


def collate(sentences):
    """Make a batch of sentences, filled up with padding."""
    words = torch.full((len(sentences), LONGEST), PADDING)
    for row, sentence in zip(words, sentences, strict=True):
        row[: len(sentence)] = torch.tensor(sentence)
    return {"words": words, "tags": words % TAGS}


class Callback:
    """What a trainer tells of its course."""

    def after_step(self, loss):
        """A step is over."""

    def after_training(self):
        """All steps are over."""


class MeanLoss(Callback):
    """Prints the mean loss at the end."""

    def __init__(self):
        self.losses = []

    def after_step(self, loss):
        self.losses.append(loss.detach())

    def after_training(self):
        print(f"mean loss {torch.stack(self.losses).mean().item():.9g}")


class Trainer:
    """Trains a model on batches that are dictionaries."""

    def __init__(self, model, callbacks):
        self.device = torch_xla.device()
        self.model = model.to(self.device)
        self.optimizer = torch.optim.Adam(model.parameters())
        self.callbacks = callbacks

    def prepare(self, batch):
        """Send a batch to the device."""
        return {name: tensor.to(self.device) for name, tensor in batch.items()}

    def fit(self, loader):
        """Train on all batches."""
        for batch in loader:
            loss = self.training_step(**self.prepare(batch))
            torch_xla.sync()
            for callback in self.callbacks:
                callback.after_step(loss)
        for callback in self.callbacks:
            callback.after_training()

    def training_step(self, words, tags):
        """Update the model once."""
        self.optimizer.zero_grad()
        scores = self.model(words)
        loss = cross_entropy(scores.flatten(0, 1), tags.flatten())
        loss.backward()
        self.optimizer.step()
        return loss


def main():
    random.seed(0)
    torch.manual_seed(0)
    loader = DataLoader(make_sentences(), BATCH, shuffle=True, collate_fn=collate)
    model = nn.Sequential(
        nn.Embedding(WORDS, 32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, TAGS)
    )
    Trainer(model, [MeanLoss()]).fit(loader)


if __name__ == "__main__":
    main()
