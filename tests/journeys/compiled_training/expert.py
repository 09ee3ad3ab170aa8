"""The same by somebody who knows torch.compile: a dynamic length, the counter in a tensor."""

import torch
from torch import nn

STEPS = 60


class Tagger(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embedding = nn.Embedding(300, width)
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, 8)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, tokens):
        self.seen = self.seen + 1
        share = torch.clamp(self.seen / 30, max=1.0)
        hidden = self.embedding(tokens)
        for layer in self.mix:
            hidden = hidden + torch.tanh(layer(hidden)) * share
        return self.head(hidden), hidden.abs().mean()


def batches(steps):
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        longest = int(torch.randint(10, 50, (), generator=generator))
        tokens = torch.randint(0, 300, (16, longest), generator=generator)
        yield tokens, tokens % 8


def main():
    torch.manual_seed(0)
    model = Tagger()
    compiled = torch.compile(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.99**step)
    running = 0.0
    for step, (tokens, labels) in enumerate(batches(STEPS)):
        torch._dynamo.mark_dynamic(tokens, 1)
        optimizer.zero_grad()
        logits, size = compiled(tokens)
        if size > 100:
            print("large", size.item())
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
