"""Makes its batches itself, between two steps."""

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    """Pictures that are resized as they are asked for."""

    def __init__(self, size=9600):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        torch.manual_seed(index)
        picture = torch.rand(1, 3, 96, 96)
        return torch.nn.functional.interpolate(picture, 64, mode="bicubic", antialias=True)[0]


def main():
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 16, 3, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)
    model = torch.nn.Sequential(*layers).cuda()
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Images(), batch_size=32)
    for images in loader:
        loss = compiled(images.cuda()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {loss.item():.4g}")


if __name__ == "__main__":
    main()
