"""Asks a small model first, and a large one about the inputs that the small one is unsure of.

`nonzero` finds the unsure inputs on the host, and their number is the shape of all that follows,
which is compiled again for each new one.
"""

import torch
import torch_xla
from torch import nn

BATCH = 128
FEATURES = 32
CLASSES = 4
SURE = 0.4
STEPS = 24


def batches(steps):
    for _ in range(steps):
        yield torch.randn(BATCH, FEATURES)


@torch.no_grad()
def predict(small, large, device):
    """Return how often each class was predicted."""
    counts = torch.zeros(CLASSES).to(device)
    for inputs in batches(STEPS):
        inputs = inputs.to(device)
        logits = small(inputs)
        unsure = logits.softmax(dim=1).amax(dim=1) < SURE
        rows = unsure.nonzero().squeeze(1)
        logits = logits.index_copy(0, rows, large(inputs.index_select(0, rows)))
        counts += logits.softmax(dim=1).sum(dim=0)
        torch_xla.sync()
    return counts.cpu()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    small = nn.Linear(FEATURES, CLASSES)
    large = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    counts = predict(small.to(device), large.to(device), device)
    print("predictions of each class", *(round(count) for count in counts.tolist()))


if __name__ == "__main__":
    main()
