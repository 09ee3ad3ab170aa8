"""The loss that a step returns is summed as a number, below the barrier in the step."""

import torch
import torch_xla

device = torch_xla.device()
torch.manual_seed(0)
model = torch.nn.Linear(32, 10).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [(torch.rand(64, 32), torch.randint(0, 10, (64,))) for _ in range(20)]


def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    torch_xla.sync()
    return loss


def train():
    for epoch in range(2):
        running = 0.0
        for x, y in data:
            loss = step(x.to(device), y.to(device))
            running += loss.item()
        print(f"{running:.4f}")


train()
