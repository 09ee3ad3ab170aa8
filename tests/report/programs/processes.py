"""Four processes with a device each; the third has to wait for its data, the second reads."""

import multiprocessing
import time

import torch
import torch_xla


def train(rank: int) -> None:
    """Train one replica."""
    device = torch_xla.device()
    model = torch.nn.Linear(256, 10).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        if rank == 2:
            time.sleep(0.05)
        inputs = torch.randn(64, 256).to(device)
        targets = torch.randint(0, 10, (64,)).to(device)
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch_xla.sync()
        if rank == 1:
            loss.item()


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=train, args=(rank,)) for rank in range(4)]
    for process in started:
        process.start()
    for process in started:
        process.join()
