"""A Lightning module, trained by a loop of one's own as Lightning's documents write it for XLA."""

import lightning
import torch
import torch.utils.data
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
from torch import nn

BATCH, BATCHES = 16, 60


class Autoencoder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 100))

    def training_step(self, batch, batch_index):
        (inputs,) = batch
        return nn.functional.mse_loss(self.decoder(self.encoder(inputs)), inputs)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    lightning.seed_everything(0)
    device = torch_xla.device()
    module = Autoencoder().to(device)
    optimizer = module.configure_optimizers()
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(BATCH * BATCHES, 100)), BATCH, drop_last=True
    )
    for index, batch in enumerate(pl.MpDeviceLoader(loader, device)):
        optimizer.zero_grad()
        loss = module.training_step(batch, index)
        loss.backward()
        xm.optimizer_step(optimizer)
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
