"""A training loop of accelerate, which prepares the loader, the model and the optimizer."""

import torch
import torch.utils.data
from accelerate import Accelerator
from torch import nn

BATCH, BATCHES, EPOCHS = 16, 25, 2


def main():
    torch.manual_seed(0)
    accelerator = Accelerator()
    model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.utils.data.TensorDataset(
        torch.randn(BATCH * BATCHES, 64), torch.randint(0, 4, (BATCH * BATCHES,))
    )
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, drop_last=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(EPOCHS):
        total = torch.zeros((), device=accelerator.device)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            optimizer.step()
            total += loss.detach()
        accelerator.print(f"epoch {epoch} loss {total.item() / BATCHES:.4f}")


if __name__ == "__main__":
    main()
