"""A generator against a discriminator: the optimizers end the step, and a closure logs."""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn

LATENT = 8
BATCH = 64
STEPS = 60


def log(step, loss_d, loss_g):
    print(f"step {step} loss_d {loss_d.item():.4f} loss_g {loss_g.item():.4f}")


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    generator = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 16)).to(device)
    discriminator = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    criterion = nn.BCEWithLogitsLoss()
    d_optimizer = torch.optim.SGD(discriminator.parameters(), lr=0.01, momentum=0.9)
    g_optimizer = torch.optim.SGD(generator.parameters(), lr=0.01, momentum=0.9)
    ones = torch.ones(BATCH, 1).to(device)
    zeros = torch.zeros(BATCH, 1).to(device)
    for step in range(STEPS):
        real = torch.randn(BATCH, 16).cumsum(dim=1).to(device)
        fake = generator(torch.randn(BATCH, LATENT).to(device))
        d_optimizer.zero_grad()
        loss_d = criterion(discriminator(real), ones)
        loss_d = loss_d + criterion(discriminator(fake.detach()), zeros)
        loss_d.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        loss_g = criterion(discriminator(fake), ones)
        loss_g.backward()
        if step % 20 == 0:
            xm.add_step_closure(log, args=(step, loss_d, loss_g))
        xm.optimizer_step(g_optimizer, barrier=True)


if __name__ == "__main__":
    main()
