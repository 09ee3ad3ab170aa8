"""Fits a polynomial until the loss is small, with an update by hand."""

from itertools import count

import torch
import torch_xla
from torch.nn import functional as F  # noqa: N812

DEGREE = 4
device = torch_xla.device()
torch.manual_seed(0)
TRUE_WEIGHTS = torch.randn(DEGREE, 1) * 5
TRUE_BIAS = torch.randn(1) * 5


def get_batch(size=32):
    x = torch.randn(size, 1)
    powers = torch.cat([x**i for i in range(1, DEGREE + 1)], 1)
    return powers.to(device), (powers @ TRUE_WEIGHTS + TRUE_BIAS).to(device)


fc = torch.nn.Linear(DEGREE, 1).to(device)
for batch in count(1):
    x, y = get_batch()
    fc.zero_grad()
    output = F.smooth_l1_loss(fc(x), y)
    loss = output.item()
    output.backward()
    for param in fc.parameters():
        param.data.add_(-0.1 * param.grad)
    if loss < 1e-3 or batch == 8:
        break
print(f"loss {loss:.4f} after {batch} batches")
