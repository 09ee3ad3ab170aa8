"""Predictions are asserted to be in their range in each step."""

import torch
import torch_xla

device = torch_xla.device()
torch.manual_seed(0)
model = torch.nn.Linear(32, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    out = model(torch.rand(16, 32).to(device)).sigmoid()
    assert (out >= 0).all()
    loss = out.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch_xla.sync()
print(loss.item())
