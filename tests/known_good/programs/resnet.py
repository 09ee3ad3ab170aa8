"""Trains torchvision's ResNet-18 on images of random noise, fed by MpDeviceLoader."""

import torch
import torch.utils.data
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torchvision
from torch import nn

BATCH, BATCHES, EPOCHS, LOG_EVERY = 8, 20, 2, 10


def loader():
    images = torch.randn(BATCH * BATCHES, 3, 32, 32)
    labels = torch.randint(0, 10, (BATCH * BATCHES,))
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images, labels), BATCH, shuffle=True, drop_last=True
    )


def log(epoch, step, loss):
    print(f"epoch {epoch} step {step} loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = torchvision.models.resnet18(num_classes=10).to(device).train()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(EPOCHS):
        batches = pl.MpDeviceLoader(loader(), device)
        for step, (images, labels) in enumerate(batches):
            with torch_xla.step():
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
                loss.backward()
                xm.optimizer_step(optimizer)
                if step % LOG_EVERY == 0:
                    xm.add_step_closure(log, args=(epoch, step, loss))


if __name__ == "__main__":
    main()
