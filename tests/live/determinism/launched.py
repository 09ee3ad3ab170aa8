"""Each process of torch_xla.launch trains; crops grow, and an operator has no lowering."""

import torch
import torch_xla
from torch import nn


def train(index):
    device = torch_xla.device()
    torch.manual_seed(index)
    model = nn.Linear(16, 4).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        inputs = torch.randn(8 + step // 4, 16).to(device)
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
        torch_xla.sync()
        if step % 2:
            print(index, step, model.bias.cpu().sum())


if __name__ == "__main__":
    torch_xla.launch(train, start_method="fork")
