"""Scales by a tensor of the device, which changes without compiling."""

import torch

WIDTH = 32
STEPS = 60


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(WIDTH, WIDTH)
        self.register_buffer("temperature", torch.zeros(()))

    def forward(self, x):
        return (self.layer(x) * self.temperature).square().mean()


def run(model):
    compiled = torch.compile(model)
    total = torch.zeros((), device="tpu")
    for step in range(STEPS):
        model.temperature.fill_(1 + step)
        total += compiled(torch.randn(16, WIDTH).to("tpu")).detach()
    return total


def main():
    torch.manual_seed(0)
    print(f"total {run(Model().to('tpu')).item():.6g}")


if __name__ == "__main__":
    main()
