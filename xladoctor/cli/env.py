"""``xladoctor env``: whether this installation is sound."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from xladoctor.cli.groups import grouped, option
from xladoctor.cli.output import ColorOption, PlainFormat, PlainOption
from xladoctor.environment.interface import TIMEOUT_S
from xladoctor.report.output import Color, show


@grouped
def env(
    *,
    timeout: float = option(
        "Time limit for each check that uses the framework.",
        default=TIMEOUT_S,
        min=1.0,
        metavar="SECONDS",
    ),
    output_format: PlainOption = PlainFormat.terminal,
    color: ColorOption = Color.auto,
) -> None:
    """Check that frameworks and xladoctor's needs work here.

    Tries torch_xla, TorchTPU, JAX and torch.compile, and xladoctor's own requirements: says what is
    broken and what to do about it. Exit status: 0 nothing failed (there may be
    warnings), 1 something failed.
    """
    from xladoctor.environment.examine import examine
    from xladoctor.report import environment as report

    with _progress() as tell:
        examination = examine(timeout, tell)
    render = report.render_json if output_format is PlainFormat.json else report.render
    show(partial(render, examination), color)
    raise SystemExit(0 if examination.ok else 1)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being checked; leave nothing behind."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield lambda _: None
        return
    from rich.console import Console

    with Console(file=sys.__stderr__).status("xladoctor: checking …") as status:
        yield lambda what: status.update(f"xladoctor: checking {what} …")
