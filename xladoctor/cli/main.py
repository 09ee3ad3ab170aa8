"""The command line: options in, one function called, the result rendered."""

from __future__ import annotations

import faulthandler
import os
import sys
from typing import Any, TextIO, cast

import typer

from xladoctor import __version__
from xladoctor.cli import (
    analyze,
    cache,
    capture,
    compare,
    compilations,
    env,
    fix,
    gate,
    memory,
    move,
    query,
    report,
    rules,
    run,
    stacks,
    tpu_check,
    view,
)
from xladoctor.cli.boundary import boundary, end_on_interrupt, leave
from xladoctor.cli.groups import SectionedCommand, flag, grouped
from xladoctor.errors import XladoctorError
from xladoctor.foreign import harmless
from xladoctor.report.output import emit

#: Commands that start, watch or end processes, which they do as POSIX has it.
_OF_POSIX = {"run", "gate", "capture", "stacks", "env", "tpu-check", "view"}
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A performance doctor for PyTorch/XLA, TorchTPU, JAX and torch.compile: what costs time,"
    " on which line, why, and the fix. Start with: xladoctor run train.py",
)
app.command("run", cls=SectionedCommand, context_settings={"allow_interspersed_args": False})(
    run.run
)
for _command in (
    analyze.analyze,
    report.report,
    gate.gate,
    fix.fix,
    compare.compare,
    capture.capture,
    compilations.compilations,
    cache.cache,
    memory.memory,
    memory.shardings,
    move.move,
    query.query,
    view.view,
    stacks.stacks,
    env.env,
    tpu_check.tpu_check,
):
    app.command(_command.__name__.replace("_", "-"), cls=SectionedCommand)(_command)
app.add_typer(rules.app, name="rules")
app.command("explain", cls=SectionedCommand)(rules.explain)


def _version(shown: bool) -> None:
    if shown:
        from xladoctor.diagnosis.schema_version import SCHEMA_VERSION

        emit(f"xladoctor {__version__} (report schema {SCHEMA_VERSION})\n")
        raise typer.Exit


@app.callback()
@grouped
def _common(
    *,
    version: bool = flag("Show the version.", callback=_version, is_eager=True),
) -> None:
    pass


class _Sanitized:
    """Standard error as it is, except what terminals and CI systems obey.

    What the option parser and Python itself say does not pass through :func:`emit`. Progress, which
    moves the cursor, goes to ``sys.__stderr__``.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As the stream."""
        return self._stream.write(harmless(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _open_streams() -> None:
    """Streams that the caller closed are as if nobody read them."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = cast(TextIO, _Sanitized(stderr))


def _calm_blas() -> None:
    """NumPy's BLAS, which nothing here uses, starts a thread per core when it is loaded, and these
    spin for a while. Programs that we start get ``os.environ``, which does not have this.
    """
    if _BLAS_THREADS not in os.environ:
        os.putenv(_BLAS_THREADS, "1")


def _require_posix(command: list[str]) -> None:
    if _OF_POSIX.intersection(command) and not hasattr(os, "fork"):
        raise XladoctorError(
            f"{command[0]} does not work on Windows",
            "run it on Linux; xladoctor analyze reads here what was recorded there",
        )


def main() -> None:
    """Entry point of the console script and of ``python -m xladoctor``."""
    _open_streams()
    faulthandler.enable()  # a fault in a library's machine code would end it without a word
    _calm_blas()
    status: object = 0
    try:
        end_on_interrupt()
        with boundary():
            _require_posix(sys.argv[1:2])
            app(prog_name="xladoctor")
    except SystemExit as end:
        status = end.code
    leave(status)
