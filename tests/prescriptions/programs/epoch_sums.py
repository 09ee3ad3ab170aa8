"""An epoch's loss and accuracy, summed by reads."""

import torch
import torch_xla

device = torch_xla.device()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(
    device
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [(torch.rand(64, 32), torch.randint(0, 10, (64,))) for _ in range(20)]


def epoch():
    total, correct = 0.0, 0
    losses = []
    for x, y in data:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        pred = model(x)
        loss = torch.nn.functional.cross_entropy(pred, y)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        total += loss.item()
        correct += (pred.argmax(1) == y).sum().item()
        losses.append(loss.item())
    print(f"loss {total / len(data):.4f}, accuracy {correct / 1280:.3f}, {max(losses):.3f}")


for _ in range(3):
    epoch()
