"""A text classifier on batches padded to their longest sentence."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

VOCABULARY = 200
CLASSES = 4


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32, padding_idx=0)
        self.attention = nn.Linear(32, 1)
        self.head = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, CLASSES))

    def forward(self, tokens):
        embedded = self.embedding(tokens)
        scores = self.attention(embedded).squeeze(-1).masked_fill(tokens == 0, -1e9)
        return self.head((scores.softmax(dim=1).unsqueeze(-1) * embedded).sum(dim=1))


def collate(samples):
    sentences, labels = zip(*samples, strict=True)
    return pad_sequence(sentences, batch_first=True), torch.tensor(labels)


def sentences(count):
    for _ in range(count):
        length = int(torch.randint(5, 90, ()))
        yield torch.randint(1, VOCABULARY, (length,)), int(torch.randint(CLASSES, ()))


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Classifier().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(list(sentences(12 * 8)), batch_size=8, collate_fn=collate)
    for step, (tokens, labels) in enumerate(loader):
        tokens, labels = tokens.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(tokens), labels)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        if step % 6 == 5:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
