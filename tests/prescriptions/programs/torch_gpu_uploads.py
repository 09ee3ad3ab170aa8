"""Sends large batches from pageable memory, and waits for each."""

import torch
from torch.utils.data import DataLoader, TensorDataset

BATCH = 512
STEPS = 120


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    data = TensorDataset(torch.randn(BATCH * STEPS, 2048))
    model = torch.nn.Sequential(
        torch.nn.Linear(2048, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 8)
    )
    model = model.cuda()
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(data, batch_size=BATCH, num_workers=4)
    for (x,) in loader:
        loss = compiled(x.cuda()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {loss.item():.4g}")


if __name__ == "__main__":
    main()
