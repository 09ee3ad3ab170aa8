"""The same by somebody who knows XLA: one length, sums on the device, a barrier for each step."""

import random

import torch
import torch_xla
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

VOCABULARY = 500
CLASSES = 4
EPOCHS = 2
LONGEST = 40


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
    batch = torch.zeros(len(rows), LONGEST, dtype=torch.long)
    for place, row in zip(batch, rows, strict=True):
        place[: len(row)] = row
    return batch, torch.tensor(labels)


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
    hits = torch.zeros(1).to(device)
    total = 0
    with torch.no_grad():
        for tokens, labels in loader:
            guess = model(tokens.to(device)).argmax(1)
            hits += (guess == labels.to(device)).sum()
            total += len(labels)
            torch_xla.sync()
    model.train()
    return hits.item() / total


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train = DataLoader(Sentences(320, 1), 16, shuffle=True, collate_fn=collate)
    valid = DataLoader(Sentences(96, 2), 16, collate_fn=collate)
    model = Classifier().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch_xla.sync()
    for epoch in range(EPOCHS):
        running, correct = torch.zeros(1).to(device), torch.zeros(1).to(device)
        for tokens, labels in tqdm(train):
            tokens, labels = tokens.to(device), labels.to(device)
            optimizer.zero_grad()
            logits = model(tokens)
            loss = nn.functional.cross_entropy(logits, labels)
            loss.backward()
            optimizer.step()
            running += loss.detach()
            correct += (logits.argmax(1) == labels).sum()
            torch_xla.sync()
        torch.save(model.state_dict(), "/tmp/first_port.pt")
        accuracy = evaluate(model, valid, device)
        mean = running.item() / len(train)
        print(f"epoch {epoch}: loss {mean:.4f}, {correct.item():.0f} right, valid {accuracy:.3f}")


if __name__ == "__main__":
    main()
