"""Batches come from two worker processes; the last one of each epoch is smaller, and read."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

FEATURES = 64


def train(model, device):
    labels = torch.randint(4, (200,))
    data = TensorDataset(torch.randn(200, FEATURES), labels)
    loader = DataLoader(data, batch_size=32, num_workers=2, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    correct = 0
    for _ in range(3):
        for inputs, targets in loader:
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad()
            scores = model(inputs)
            cross_entropy(scores, targets).backward()
            optimizer.step()
            torch_xla.sync()
            correct += (scores.argmax(1) == targets).sum().item()
    return correct


if __name__ == "__main__":
    torch.manual_seed(0)
    print(train(nn.Linear(FEATURES, 4).to(torch_xla.device()), torch_xla.device()))
