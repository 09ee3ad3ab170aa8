"""Trains, and ends with an exception of its own after 21 steps."""

import torch
import torch_xla

device = torch_xla.device()
model = torch.nn.Linear(64, 10).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    inputs = torch.randn(32, 64).to(device)
    targets = torch.randint(0, 10, (32,)).to(device)
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch_xla.sync()
    print(step, loss.item())
    if step == 20:
        raise FileNotFoundError("checkpoint-20.pt")
