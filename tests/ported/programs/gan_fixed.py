"""A generator against a discriminator, each with its own optimizer."""

from itertools import pairwise

import torch
import torch_xla
from torch import nn

LATENT = 8
BATCH = 64
STEPS = 4


def layers(*sizes):
    stack = []
    for inner, outer in pairwise(sizes):
        stack += [nn.Linear(inner, outer), nn.LeakyReLU(0.2)]
    return nn.Sequential(*stack[:-1])


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    generator = layers(LATENT, 32, 16).to(device)
    discriminator = layers(16, 32, 1).to(device)
    criterion = nn.BCEWithLogitsLoss()
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for step in range(STEPS):
        # The discriminator: real samples, then generated ones.
        discriminator.zero_grad()
        real = torch.randn(BATCH, 16).cumsum(dim=1).to(device)
        label = torch.full((BATCH, 1), 1.0, device=device)
        output = discriminator(real)
        err_real = criterion(output, label)
        err_real.backward()
        d_x = output.mean().item()
        noise = torch.randn(BATCH, LATENT, device=device)
        fake = generator(noise)
        label.fill_(0.0)
        err_fake = criterion(discriminator(fake.detach()), label)
        err_fake.backward()
        d_optimizer.step()

        # The generator, which wants its samples taken for real ones.
        generator.zero_grad()
        label.fill_(1.0)
        err_g = criterion(discriminator(fake), label)
        err_g.backward()
        g_optimizer.step()
        torch_xla.sync()
        if step % 2 == 1:
            loss_d = (err_real + err_fake).item()
            print(f"[{step}/{STEPS}] loss_d {loss_d:.4f} loss_g {err_g.item():.4f} D(x) {d_x:.4f}")


if __name__ == "__main__":
    main()
