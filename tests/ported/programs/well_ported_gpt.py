"""A small language model with a key and value cache of fixed size, which writes a text."""

import torch
import torch_xla
from torch import nn

VOCABULARY = 50
LENGTH = 24
WIDTH = 32


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, token, at, keys, values):
        """One token in; its scores, and the cache with the token in it."""
        q, k, v = self.qkv(self.tokens(token) + self.places(at)).chunk(3, dim=-1)
        here = (torch.arange(LENGTH, device=at.device) == at).unsqueeze(1)
        keys, values = torch.where(here, k, keys), torch.where(here, v, values)
        seen = torch.arange(LENGTH, device=at.device) <= at
        weights = (keys @ q.view(-1) / WIDTH**0.5).masked_fill(~seen, -1e9).softmax(dim=0)
        return self.head(weights @ values), keys, values


@torch.no_grad()
def generate(model, start, device):
    token, at = torch.tensor([start]).to(device), torch.zeros(1, dtype=torch.int64).to(device)
    keys, values = torch.zeros(2, LENGTH, WIDTH).to(device)
    written = []
    for _ in range(LENGTH - 1):
        scores, keys, values = model(token, at, keys, values)
        token = scores.argmax(dim=-1, keepdim=True)
        at = at + 1
        written.append(token)
        torch_xla.sync()
    return torch.cat(written).cpu().tolist()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Model().to(device).eval()
    for start in (1, 7, 3):
        print(generate(model, start, device))


if __name__ == "__main__":
    main()
