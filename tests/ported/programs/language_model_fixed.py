"""A recurrent language model: truncated backpropagation, clipping, and a hand-made update."""

import math

import torch
import torch_xla
from torch import nn

TOKENS = 64
BPTT = 3
BATCH = 8
CLIP = 0.25
LOG_INTERVAL = 2


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(TOKENS, 24)
        self.rnn = nn.RNNCell(24, 32)
        self.decoder = nn.Linear(32, TOKENS)

    def forward(self, tokens, hidden):
        outputs = []
        for embedded in self.encoder(tokens):
            hidden = self.rnn(embedded, hidden)
            outputs.append(hidden)
        return self.decoder(torch.stack(outputs)).view(-1, TOKENS), hidden


def get_batch(source, i):
    return source[i : i + BPTT], source[i + 1 : i + 1 + BPTT].reshape(-1)


def train(model, source, lr, device):
    criterion = nn.CrossEntropyLoss()
    total_loss = 0.0
    hidden = torch.zeros(BATCH, 32).to(device)
    for batch, i in enumerate(range(0, len(source) - BPTT, BPTT)):
        data, targets = (part.to(device) for part in get_batch(source, i))
        model.zero_grad()
        hidden = hidden.detach()
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        torch_xla.sync()
        total_loss += loss.item()
        if batch % LOG_INTERVAL == 0 and batch > 0:
            mean = total_loss / LOG_INTERVAL
            print(f"batch {batch} loss {mean:.2f} perplexity {math.exp(mean):.2f}")
            total_loss = 0.0


def main():
    torch.manual_seed(1111)
    device = torch_xla.device()
    corpus = torch.randint(TOKENS, (BPTT * 6 + 1, BATCH))
    train(RNNModel().to(device), corpus, lr=5.0, device=device)


if __name__ == "__main__":
    main()
