"""Loops that train a model, of PyTorch/XLA and of JAX, with all that may stand in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.differential.grammar import AROUND, Effect, Text, fill, placed

COUNTS = (4, 4, 11, 2, 1, 0)
_CALLS = "CALLS = []\n\n\ndef counted():\n    CALLS.append(1)\n    return len(CALLS)\n"

#: What has effects of its own, wherever it stands.
EFFECTS = (
    Effect("step_size = 0.1"),
    Effect("lucky = random.random()", imports="import random"),
    Effect("draws.append(random.random())", "draws = []", "draws", imports="import random"),
    Effect("print(queue.get())", "queue = names()", "queue.qsize()"),
    Effect("counted()", shown="CALLS", helper=_CALLS),
    Effect("count()", "count = Count()", "count.number"),
    Effect("print(count.following)", "count = Count()", "count.number"),
    Effect("seen = {each: each for each in range(2)}"),
)
#: What may stand in a loop only.
_IN_LOOP = (
    *EFFECTS,
    Effect("print('step', step)"),
    Effect("steps.append(step)", "steps = []", "steps"),
    Effect("file.write(f'{step}\\n')", "file = open('log.txt', 'a', buffering=1)"),
    Effect(
        "log.info('step %d', step)", "log = logging.getLogger('train')", imports="import logging"
    ),
    Effect("if step == 2:\n    break"),
    Effect("if step % 3 == 1:\n    continue"),
    Effect("if step == 3:\n    raise ValueError('step 3')"),
    Effect("if (twice := 2 * step) > 5:\n    print(twice)"),
    Effect("loss = loss * 2"),
    Effect("if loss > 1:\n    print('high')"),
    Effect("if loss > 2:\n    raise ValueError('high')"),
    Effect("meter.update(float(loss))", "meter = Meter()", "meter"),
)
_TORCH = (
    Effect("model.eval()"),
    Effect("model.train()"),
    Effect("v = model.weight.data\nviews.append(v[0])", "views = []", "views"),
    Effect("model.weight.data.mul_(0.9)"),
    Effect("noise = torch.rand(1)"),
    Effect("x = x * 2"),
    Effect("loss = loss.detach()"),
    Effect("table[0] += loss.detach().sum()", "table = torch.zeros(3, device=device)", "table"),
)
_JAX = (
    Effect("x[:] = 0"),
    Effect("buffer[:] = step", "buffer = np.zeros(4, np.float32)", "buffer"),
    Effect("w, old = w * 0.5, w"),
)
HEADS = (
    "for step, x in enumerate(data):",
    "for step, x in enumerate(data):",
    "for step, x in enumerate(Bar(data)):",
    "for step in range(len(data)):\n    x = data[step]",
    "step = -1\nfor x in data:\n    step += 1",
    "step = -1\nwhile step + 1 < len(data):\n    step += 1\n    x = data[step]",
)
LOSSES = (
    "(model(x) - 1).pow(2).mean()",
    "(model(x) - 1).pow(2).mean()",
    "(model(x) - 1).pow(2).mean(dim=(0, 1), keepdim=True)",
    "(model(x) - 1).pow(2).sum()",
    "(model(x) - 1).abs().max()",
)
STEPS = {
    "torch_xla": "loss = $loss\n$first\nloss.backward()\noptimizer.step()\noptimizer.zero_grad()",
    "jax": "$first\nw, loss = step_of(w, x)",
}
_LAB = "from lab import Bar, Count, Meter, make, names"
IMPORTS = {
    "torch_xla": ["import torch", "import torch_xla", f"{_LAB}, weights"],
    "jax": ["import jax", "import jax.numpy as jnp", "import numpy as np", f"{_LAB}, step_of"],
}
MAKE = {
    "torch_xla": "device = torch_xla.device()\nmodel, optimizer, data = make(device)",
    "jax": "w, data = make()",
}
_STATE = {"torch_xla": "weights(model)", "jax": "w"}


@dataclass(frozen=True)
class Target:
    """The statement that a finding names, and what it needs.

    Attributes:
        code: ``#!`` marks the line.
        start: before the loop.
        last: in the loop, below it.
        after: below the loop.
        shown: what the program returns of it.
    """

    code: str
    start: str = ""
    after: str = ""
    shown: str = ""
    last: str = ""
    imports: str = ""


def loop(
    text: Text,
    target: Target,
    frontend: str = "torch_xla",
    *,
    barrier: Sequence[str] = ("above", "below", "above", "none"),
    places: Sequence[str] = (),
    losses: Sequence[str] = LOSSES,
    heads: Sequence[str] = HEADS,
    around: Sequence[str] = AROUND,
    make: str = "",
    step: str = "",
    rarely: int = 6,
) -> str:
    """A program that trains, with a target in its loop.

    Args:
        barrier: where it may be with regard to the target: ``none`` marks the loop as lacking one.
        make: what makes the model and the data, if not ``lab.make``.
        step: what an iteration computes, likewise.
        rarely: once in so many times, something else stands at each place.
    """
    effects = (*_IN_LOOP, *(_JAX if frontend == "jax" else _TORCH))
    where = text.one_of(*barrier) if frontend == "torch_xla" else ""
    body = fill(
        "$computed\n$upper\n$between\n$target\n$lower\n$last\n$more",
        computed=fill(
            step or STEPS[frontend],
            loss=text.one_of(*losses),
            first=text.effect(effects, 2 * rarely),
        ),
        upper="torch_xla.sync()  #! barrier" if where == "above" else "",
        between=text.effect(effects, rarely),
        target=target.code,
        lower="torch_xla.sync()  #! barrier" if where == "below" else "",
        last=target.last,
        more=text.effect(effects, rarely),
    )
    head = text.one_of(*heads)
    if where == "none":
        head = "\n".join(
            f"{line}  #! unbarred" if line.startswith(("for", "while")) else line
            for line in head.splitlines()
        )
    whole = "\n".join([head, *(f"    {line}" for line in body.splitlines())])
    if target.imports:
        text.imports.append(target.imports)
    text.shown += [each for each in (target.shown, _STATE[frontend]) if each]
    made = fill(
        "$make\n$starts\n$start\n$above\n$loop\n$after",
        make=make or MAKE[frontend],
        start=target.start,
        above=text.effect(EFFECTS, 3 * rarely),
        loop=fill(text.one_of(*around), loop=whole, shown=target.shown or "data[:0]"),
        after=target.after,
    )
    return placed(text, made, IMPORTS[frontend], places)
