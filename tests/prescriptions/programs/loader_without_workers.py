"""A loader without workers, whose samples come from slow storage."""

import time

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset


class Recordings(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, index):
        time.sleep(0.003)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(64, generator=generator) + index % 2, index % 2


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Linear(64, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Recordings(), batch_size=8)
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(f"final loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
