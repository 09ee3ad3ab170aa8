"""A sentence classifier as it was on a GPU: lengths that vary, a progress bar, metrics on the host,
a checkpoint each epoch."""

import random

import torch
import torch_xla
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

VOCABULARY = 500
CLASSES = 4
EPOCHS = 2


class Sentences(Dataset):
    def __init__(self, count, seed):
        draw = random.Random(seed)
        self.lengths = [draw.randint(8, 40) for _ in range(count)]
        generator = torch.Generator().manual_seed(seed)
        self.rows = [torch.randint(1, VOCABULARY, (n,), generator=generator) for n in self.lengths]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index], int(self.rows[index].sum()) % CLASSES


def collate(samples):
    rows, labels = zip(*samples, strict=True)
    return pad_sequence(rows, batch_first=True), torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width, padding_idx=0)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, tokens):
        padding = tokens == 0
        hidden = self.embedding(tokens)
        mixed, _ = self.attention(hidden, hidden, hidden, key_padding_mask=padding)
        hidden = self.norm(hidden + mixed).masked_fill(padding.unsqueeze(-1), 0.0)
        return self.head(hidden.sum(1) / (~padding).sum(1, keepdim=True))


def evaluate(model, loader, device):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for tokens, labels in loader:
            guess = model(tokens.to(device)).argmax(1).cpu()
            hits += (guess == labels).sum().item()
            total += len(labels)
    model.train()
    return hits / total


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train = DataLoader(Sentences(320, 1), 16, shuffle=True, collate_fn=collate)
    valid = DataLoader(Sentences(96, 2), 16, collate_fn=collate)
    model = Classifier().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(EPOCHS):
        running, correct = 0.0, 0
        bar = tqdm(train)
        for step, (tokens, labels) in enumerate(bar):
            tokens, labels = tokens.to(device), labels.to(device)
            optimizer.zero_grad()
            logits = model(tokens)
            loss = nn.functional.cross_entropy(logits, labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
            correct += (logits.argmax(1) == labels).sum().item()
            bar.set_postfix(loss=running / (step + 1))
        torch.save(model.state_dict(), "/tmp/first_port.pt")
        accuracy = evaluate(model, valid, device)
        print(
            f"epoch {epoch}: loss {running / len(train):.4f}, {correct} right, valid {accuracy:.3f}"
        )


if __name__ == "__main__":
    main()
