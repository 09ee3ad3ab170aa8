from __future__ import annotations

import pytest

from tests.fixes.harness import change, fixed, refusal

KIND = "without_print"
HEAD = """import logging, warnings, jax, torch, torch_xla.core.xla_model as xm
from jax import debug as jdb
from logging import getLogger
logger = logging.getLogger(__name__)
"""


def forward(line: str) -> str:
    return f"{HEAD}def forward(self, x):\n    y = f(x)\n    {line}  #!\n    return y\n"


@pytest.mark.parametrize(
    "line",
    [
        'print("hidden", y.shape)',
        'print(f"mean {y.mean().item():.3f}", float(x.max()))',
        'jax.debug.print("loss {}", y)',
        'jdb.print("loss {l}", l=y)',
        'xm.master_print("loss", y)',
        'logger.info("hidden %s", y.shape)',
        'logging.warning("odd")',
        'logging.getLogger("model").warning("hidden %s", y.shape)',
        'getLogger().debug("x")',
        'warnings.warn("odd", stacklevel=2)',
        "print(\n        y,\n    )",
    ],
)
def test_the_line_goes(line: str) -> None:
    after = fixed(KIND, forward(line))
    assert after == f"{HEAD}def forward(self, x):\n    y = f(x)\n    return y\n"
    assert "no longer" in change(KIND, forward(line)).behaviour


def test_a_condition_that_is_left_empty_goes_too() -> None:
    assert fixed(KIND, forward("if self.verbose:\n        print(y)")).endswith(
        "    y = f(x)\n    return y\n"
    )


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("if ready():\n        print(y)", "    if ready():\n        pass\n"),
        ("for z in y:\n        print(z)", "    for z in y:\n        pass\n"),
        (
            "if self.a:\n        y = 2 * y\n    elif self.b:\n        print(y)",
            "    elif self.b:\n        pass\n",
        ),
    ],
)
def test_another_block_keeps_its_place(line: str, left: str) -> None:
    assert left in fixed(KIND, forward(line))


@pytest.mark.parametrize(
    "line",
    [
        "z = print(y)",
        "print(y); z = 3",
        "print(z := y)",
        "print(self.update(y))",
        "print(next(batches))",
        "print(y.pop())",
        "print(y.add_(1))",
        "print([seen.append(v) for v in y])",
        "print(open('x'))",
        "self.print(y)",
        "console.print(y)",
        "self.logger.info(y)",
        "other.info(y)",
        "writer.log(y)",
        "log.warning(y)",
        "warnings.warn_explicit(y)",
        "return print(y)",
        "await print(y)",
        "assert print(y)",
        "callback(print, y)",
        "lambda: print(y)",
        "yield",
        "y = y + 1",
        "print(y) if x else None",
        "raise E",
    ],
)
def test_refused(line: str) -> None:
    text = forward(line).replace(
        "def forward", "async def forward" if "await" in line else "def forward"
    )
    assert refusal(KIND, text)


@pytest.mark.parametrize("own", ["def print(x): seen.append(x)", "from mine import print"])
def test_a_print_of_ones_own_is_refused(own: str) -> None:
    assert refusal(KIND, f"{own}\n{forward('print(y)')}")


def test_a_logger_that_is_something_else_too_is_refused() -> None:
    assert refusal(KIND, f"{forward('logger.info(y)')}\nlogger = Recorder()")
