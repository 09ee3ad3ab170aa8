"""Trains a small language model on sentences of varying length.

Each batch is padded to its own longest sentence, so that almost every step has a new shape,
for which XLA compiles the training step again.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

VOCABULARY = 64
PADDING = 0
LONGEST = 96


def make_sentences(count):
    """Return sequences of tokens that count up; most are short, a few are long."""
    lengths = torch.empty(count).exponential_(1 / 16).clamp(2, LONGEST).long().tolist()
    starts = torch.randint(VOCABULARY, (count,)).tolist()
    return [
        1 + torch.arange(start, start + length) % (VOCABULARY - 1)
        for start, length in zip(starts, lengths, strict=True)
    ]


def collate(sentences):
    """Pad a batch; each token is to be predicted from the one before it."""
    tokens = pad_sequence(sentences, batch_first=True, padding_value=PADDING)
    return tokens[:, :-1], tokens[:, 1:]


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        logits = model(inputs)
        loss = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PADDING)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY, bias=False))
    loader = DataLoader(make_sentences(24 * 16), batch_size=16, shuffle=True, collate_fn=collate)
    loss = train(model.to(device), loader, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
