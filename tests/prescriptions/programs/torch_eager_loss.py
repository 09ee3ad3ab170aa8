"""Compiles the model, but not the augmentation and the loss, which go over large tensors."""

import torch

BATCH = 64
SIDE = 96
STEPS = 25


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3, 1, 1))
        self.shift = torch.nn.Parameter(torch.zeros(3, 1, 1))

    def forward(self, images):
        return torch.tanh(images * self.scale + self.shift)


def augment(images, gain):
    bright = images * gain + 0.05
    contrast = (bright - bright.mean(dim=(2, 3), keepdim=True)) * 1.1 + 0.5
    return contrast.clamp(0, 1).pow(0.9) - 0.5


def loss_of(outputs, targets):
    error = outputs - targets
    return (torch.sqrt(error * error + 1e-6) + 0.1 * torch.exp(-error.abs())).mean()


def main():
    torch.manual_seed(0)
    model = Model()
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    images = torch.rand(BATCH, 3, SIDE, SIDE)
    for _ in range(STEPS):
        gain = 0.9 + 0.2 * torch.rand(BATCH, 1, 1, 1)
        optimizer.zero_grad()
        loss = loss_of(compiled(augment(images, gain)), images)
        loss.backward()
        optimizer.step()
    print(f"final loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
