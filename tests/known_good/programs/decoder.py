"""Trains a small decoder-only language model on tokens made on the device."""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn

VOCABULARY, WIDTH, HEADS, LAYERS, CONTEXT, BATCH, STEPS = 512, 128, 4, 2, 64, 8, 60


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inward, self.outward = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        query, key, value = (
            part.view(batch, length, HEADS, -1).transpose(1, 2)
            for part in self.inward(x).chunk(3, dim=-1)
        )
        y = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.outward(y.transpose(1, 2).reshape(batch, length, WIDTH))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.first, self.second = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Decoder().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    total = torch.zeros((), device=device)
    for step in range(1, STEPS + 1):
        tokens = torch.randint(0, VOCABULARY, (BATCH, CONTEXT + 1), device=device)
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(
            logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1)
        )
        loss.backward()
        xm.optimizer_step(optimizer)
        total += loss.detach()
        torch_xla.sync()
        if step % 20 == 0:
            print(f"step {step} mean loss {total.item() / step:.4f}")


if __name__ == "__main__":
    main()
