"""Trains with torchmetrics on the device: updated each step, computed once an epoch."""

import torch
import torch.utils.data
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
from torch import nn
from torchmetrics.classification import MulticlassAccuracy

BATCH, BATCHES, EPOCHS = 16, 25, 2


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 5)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    accuracy = MulticlassAccuracy(num_classes=5, validate_args=False).to(device)
    data = torch.utils.data.TensorDataset(
        torch.randn(BATCH * BATCHES, 32), torch.randint(0, 5, (BATCH * BATCHES,))
    )
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, drop_last=True)
    for epoch in range(EPOCHS):
        for inputs, labels in pl.MpDeviceLoader(loader, device):
            optimizer.zero_grad()
            logits = model(inputs)
            nn.functional.cross_entropy(logits, labels).backward()
            xm.optimizer_step(optimizer)
            accuracy.update(logits.detach(), labels)
        print(f"epoch {epoch} accuracy {accuracy.compute().item():.3f}")
        accuracy.reset()


if __name__ == "__main__":
    main()
