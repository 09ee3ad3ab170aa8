"""Simulates the flow of heat and keeps the field of every eighth step for a film.

`+=` gives the memory of the old field to the new one, but a field that is kept must not be given
away: a step that keeps it is compiled apart, though it computes the same.
"""

import torch
import torch_xla

SIZE = 64
EVERY = 8
STEPS = 24


def flow(field):
    """Return how much each place warms up in one step."""
    neighbours = sum(torch.roll(field, by, dim) for by in (-1, 1) for dim in (0, 1))
    return 0.2 * (neighbours - 4 * field)


def simulate(field):
    frames = []
    for step in range(1, STEPS + 1):
        change = flow(field)
        if step % EVERY == 0:
            frames.append(field)
            field = field + change
        else:
            field += change
        torch_xla.sync()
    return frames


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    field = (10 * torch.rand(SIZE, SIZE)).to(device)
    for frame in simulate(field):
        print(f"spread of the heat {frame.cpu().std().item():.9g}")


if __name__ == "__main__":
    main()
