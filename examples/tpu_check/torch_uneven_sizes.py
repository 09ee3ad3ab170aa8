"""Trains a transformer layer whose sizes fill none of a TPU's tiles."""

import torch
import torch_xla
from torch import nn

BATCH = 4
LENGTH = 129
HEADS = 4
WIDTH = HEADS * 65
STEPS = 20


def build():
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
    return nn.Sequential(layer, nn.Linear(WIDTH, WIDTH))


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = build().to(device, torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, LENGTH, WIDTH).to(device, torch.bfloat16)
        loss = nn.functional.mse_loss(model(inputs).float(), inputs.float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch_xla.sync()
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
