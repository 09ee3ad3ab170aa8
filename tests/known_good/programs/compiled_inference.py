"""Classifies batches with a model that torch.compile hands to XLA."""

import torch
import torch_xla
import torchvision

BATCH, BATCHES = 4, 30


@torch.no_grad()
def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = torchvision.models.resnet18(num_classes=10).to(device).eval()
    compiled = torch.compile(model, backend="openxla")
    torch_xla.sync()
    classes = []
    for _ in range(BATCHES):
        images = torch.randn(BATCH, 3, 32, 32).to(device)
        classes.append(compiled(images).argmax(-1))
    torch_xla.sync()
    print(torch.cat(classes).bincount(minlength=10).tolist())


if __name__ == "__main__":
    main()
