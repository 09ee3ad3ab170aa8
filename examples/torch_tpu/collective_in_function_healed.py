"""Says that all ranks run the function alike, so that its collectives are compiled with it."""

import os

import torch
import torch.distributed
import torch.distributed._functional_collectives as collectives
from torch.tpu import distributed

WIDTH = 64
STEPS = 100


@torch.compile
@distributed.spmd_safe
def layers(x, weight, group):
    hidden = collectives.all_reduce(torch.relu(x @ weight), "sum", group)
    return collectives.all_reduce((hidden @ weight).square().mean(), "sum", group)


def run(rank, ranks):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29511")
    torch.distributed.init_process_group("tpu_dist", rank=rank, world_size=ranks)
    torch.manual_seed(0)
    weight = torch.randn(WIDTH, WIDTH).to("tpu")
    losses = []
    with torch.no_grad():
        for _ in range(STEPS):
            x = torch.randn(16, WIDTH).to("tpu")
            losses.append(layers(x, weight, torch.distributed.group.WORLD))
    print(f"mean loss {sum(loss.item() for loss in losses) / STEPS:.6g}")


def main():
    """One rank in this process; with more, torch.multiprocessing.spawn calls run."""
    distributed.set_tpu_launch_env(nproc_per_node=1)
    run(0, 1)


if __name__ == "__main__":
    main()
