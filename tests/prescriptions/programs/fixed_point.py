"""A fixed point, iterated until it is reached."""

import torch
import torch_xla

device = torch_xla.device()
torch.manual_seed(0)
a = (torch.rand(64, 64) / 80).to(device)
b = torch.rand(64).to(device)
x = torch.zeros(64).to(device)
delta = torch.ones(()).to(device)
while delta > 1e-6:
    new = a @ x + b
    delta = (new - x).abs().max()
    x = new
    torch_xla.sync()
print(x.sum().item())
