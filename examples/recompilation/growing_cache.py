"""Generates text with a cache of keys and values that grows by one token in every step.

Each step sees a longer cache than the one before, so none can use what another has compiled.
"""

import torch
import torch_xla
from torch import nn

VOCABULARY = 64
FEATURES = 32
BATCH = 4
STEPS = 24


class Decoder(nn.Module):
    """One layer of attention to all tokens so far."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, FEATURES)
        self.query = nn.Linear(FEATURES, FEATURES)
        self.key_value = nn.Linear(FEATURES, 2 * FEATURES)
        self.readout = nn.Linear(FEATURES, VOCABULARY)

    def forward(self, token, cache):
        features = self.embedding(token)
        cache = torch.cat([cache, self.key_value(features).unsqueeze(1)], dim=1)
        keys, values = cache.chunk(2, dim=2)
        scores = torch.einsum("bf,btf->bt", self.query(features), keys) / FEATURES**0.5
        context = torch.einsum("bt,btf->bf", scores.softmax(dim=1), values)
        return self.readout(features + context), cache


@torch.no_grad()
def generate(model, prompt, device):
    """Return the most likely tokens after each prompt of one token."""
    token = prompt.to(device)
    cache = torch.empty(BATCH, 0, 2 * FEATURES).to(device)
    tokens = []
    for _ in range(STEPS):
        logits, cache = model(token, cache)
        token = logits.argmax(dim=1)
        tokens.append(token)
        torch_xla.sync()
    return torch.stack([token.cpu() for token in tokens], dim=1)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    tokens = generate(Decoder().to(device), torch.randint(VOCABULARY, (BATCH,)), device)
    for sentence in tokens.tolist():
        print(*sentence)


if __name__ == "__main__":
    main()
