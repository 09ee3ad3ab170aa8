"""Segments images with a U-Net, and scores it on others after every second batch."""

import torch
import torch_xla
from torch import nn, optim
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 2


class DoubleConv(nn.Sequential):
    def __init__(self, inward, outward):
        super().__init__(
            nn.Conv2d(inward, outward, 3, padding=1, bias=False), nn.BatchNorm2d(outward),
            nn.ReLU(inplace=True),
            nn.Conv2d(outward, outward, 3, padding=1, bias=False), nn.BatchNorm2d(outward),
            nn.ReLU(inplace=True),
        )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.inc = DoubleConv(3, width)
        self.down = DoubleConv(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.conv = DoubleConv(2 * width, width)
        self.outc = nn.Conv2d(width, CLASSES, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(F.max_pool2d(x1, 2))
        return self.outc(self.conv(torch.cat([x1, self.up(x2)], dim=1)))


def dice_coefficient(guessed, true, epsilon=1e-6):
    common = 2 * (guessed * true).sum(dim=(-1, -2))
    sizes = guessed.sum(dim=(-1, -2)) + true.sum(dim=(-1, -2))
    return ((common + epsilon) / (sizes + epsilon)).mean()


def dice_loss(logits, true_masks):
    true = F.one_hot(true_masks, CLASSES).permute(0, 3, 1, 2).float()
    return 1 - dice_coefficient(F.softmax(logits, dim=1), true)


@torch.inference_mode()
def evaluate(net, dataloader, device):
    net.eval()
    dice_score = 0
    for image, mask_true in dataloader:
        image, mask_true = image.to(device), mask_true.to(device)
        mask_pred = F.one_hot(net(image).argmax(dim=1), CLASSES).permute(0, 3, 1, 2).float()
        mask_true = F.one_hot(mask_true, CLASSES).permute(0, 3, 1, 2).float()
        dice_score += dice_coefficient(mask_pred[:, 1:], mask_true[:, 1:])
        torch_xla.sync()
    net.train()
    return dice_score / len(dataloader)


def samples(count):
    image = torch.rand(count, 3, 12, 12)
    return TensorDataset(image, (image[:, 0] > 0.5).long())


def train_net(net, device, batches=4, batch_size=4):
    train_loader = DataLoader(samples(batches * batch_size), batch_size, shuffle=True)
    val_loader = DataLoader(samples(2 * batch_size), batch_size)
    optimizer = optim.RMSprop(net.parameters(), lr=1e-4, momentum=0.9, foreach=True)
    criterion = nn.CrossEntropyLoss()
    net.train()
    epoch_loss = 0
    for global_step, (image, true_masks) in enumerate(train_loader, 1):
        image = image.to(device, dtype=torch.float32)
        true_masks = true_masks.to(device)
        masks_pred = net(image)
        loss = criterion(masks_pred, true_masks) + dice_loss(masks_pred, true_masks)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        torch_xla.sync()
        epoch_loss += loss.item()
        print(f"step {global_step} loss {epoch_loss / global_step:.4f}")
        if global_step % 2 == 0:
            print(f"validation dice score {evaluate(net, val_loader, device).item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    xla = torch_xla.device()
    train_net(UNet().to(xla), xla)
