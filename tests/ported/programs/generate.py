"""A small GPT writes a text, a token at a time, until the token that ends one."""

import torch
import torch_xla
from torch import nn

VOCABULARY = 50
BLOCK = 32
WIDTH = 32
END = 0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        length = x.size(1)
        mask = torch.tril(torch.ones(length, length, device=x.device)) == 0
        weights = (q @ k.transpose(1, 2) / WIDTH**0.5).masked_fill(mask, float("-inf")).softmax(-1)
        x = x + self.project(weights @ v)
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(Block())
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, idx):
        positions = torch.arange(idx.size(1), device=idx.device)
        return self.head(self.blocks(self.tokens(idx) + self.positions(positions)))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            cropped = idx if idx.size(1) <= BLOCK else idx[:, -BLOCK:]
            logits = self(cropped)[:, -1, :]
            following = logits.argmax(dim=-1, keepdim=True)
            idx = torch.cat((idx, following), dim=1)
            if following.item() == END:
                break
        return idx


def main():
    torch.manual_seed(3)
    device = torch_xla.device()
    model = GPT().to(device).eval()
    start = torch.randint(1, VOCABULARY, (1, 4)).to(device)
    print(model.generate(start, max_new_tokens=6).cpu().tolist())


if __name__ == "__main__":
    main()
