"""Trains a compiled recurrent model with logging, a schedule and a counter in the module."""

import torch
from torch import nn

STEPS = 60


class Tagger(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embedding = nn.Embedding(300, width)
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, 8)
        self.seen = 0

    def forward(self, tokens):
        self.seen += 1
        hidden = self.embedding(tokens)
        for layer in self.mix:
            hidden = hidden + torch.tanh(layer(hidden)) * min(1.0, self.seen / 30)
        if hidden.abs().mean() > 100:
            print("large", hidden.abs().mean().item())
        return self.head(hidden)


def batches(steps):
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        longest = int(torch.randint(10, 50, (), generator=generator))
        tokens = torch.randint(0, 300, (16, longest), generator=generator)
        yield tokens, tokens % 8


def main():
    torch.manual_seed(0)
    model = Tagger()
    compiled = torch.compile(model, dynamic=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.99**step)
    running = 0.0
    for step, (tokens, labels) in enumerate(batches(STEPS)):
        optimizer.zero_grad()
        logits = compiled(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        loss.backward()
        optimizer.step()
        schedule.step()
        running += loss.item()
        if step % 20 == 19:
            print(f"step {step + 1}: loss {running / 20:.4f}")
            running = 0.0


if __name__ == "__main__":
    main()
