"""Trains a small vision transformer of timm, with a schedule of the learning rate."""

import timm
import timm.scheduler
import torch
import torch.utils.data
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
from torch import nn

BATCH, BATCHES, EPOCHS = 8, 16, 2


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = (
        timm.create_model(
            "vit_tiny_patch16_224", img_size=32, patch_size=8, depth=3, num_classes=10
        )
        .to(device)
        .train()
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = timm.scheduler.CosineLRScheduler(optimizer, t_initial=EPOCHS)
    data = torch.utils.data.TensorDataset(
        torch.randn(BATCH * BATCHES, 3, 32, 32), torch.randint(0, 10, (BATCH * BATCHES,))
    )
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, drop_last=True)
    batches = pl.MpDeviceLoader(loader, device)
    for epoch in range(EPOCHS):
        schedule.step(epoch)
        total = torch.zeros((), device=device)
        for images, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            xm.optimizer_step(optimizer)
            total += loss.detach()
        print(f"epoch {epoch} loss {total.item() / BATCHES:.4f}")


if __name__ == "__main__":
    main()
