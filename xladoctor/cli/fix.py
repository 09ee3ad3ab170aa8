"""``xladoctor fix``: patches for findings, shown, tried, or written."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from xladoctor import doctor
from xladoctor.cli.configured import ConfigOptions
from xladoctor.cli.destination import refuse_url
from xladoctor.cli.groups import argument, flag, grouped, option, repeated
from xladoctor.cli.output import ColorOption, PlainFormat, PlainOption, QuietOption
from xladoctor.cli.progress_bar import progress_bar
from xladoctor.quantities import parse_duration
from xladoctor.report.output import Color, Format, Output, say, write_each

if TYPE_CHECKING:
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.fixes.interface import Patch, Plan
    from xladoctor.fixes.proof.interface import Proof
    from xladoctor.fixes.proof.trial import Trials


@dataclass(frozen=True)
class WriteOptions:
    """What is written, and where."""

    write: bool = flag("Make the patches that --verify has verified, now or earlier.")
    unverified: bool = flag("With --write: also patches that were not tried.")
    root: Path | None = option(
        "The project: no file outside it is changed.",
        exists=True,
        file_okay=False,
        show_default="the run's repository",
    )


@dataclass(frozen=True)
class VerifyOptions:
    """How patches are tried."""

    verify: bool = flag(
        "Try the patches: run the program with and without them, in copies of the project,"
        " and compare results and time."
    )
    pairs: int = option("How often to run with and without patches.", default=3, min=1, metavar="N")
    rtol: float = option(
        "Relative tolerance for numbers in the program's results.", default=1e-3, min=0, metavar="X"
    )
    budget: str | None = option("Time limit for all runs together, such as 20m.", metavar="TIME")
    stop_after: int = option(
        "End each run after N steps.", default=0, min=0, metavar="N", show_default=False
    )
    include: list[Path] = repeated(
        "Also copy this file or folder, which git ignores. May be repeated.", metavar="PATH"
    )

    def trials(self, diagnosis: Diagnosis, progress: Progress) -> Trials:
        """The same, for a program that was run."""
        from xladoctor.fixes.proof.trial import Trials

        return Trials(
            diagnosis.run.command,
            Path(diagnosis.run.cwd or "."),
            self.pairs,
            self.rtol,
            parse_duration(self.budget) if self.budget else 0.0,
            self.stop_after,
            self.include,
            progress.tell,
            progress.show,
            diagnosis.time.loop_s or diagnosis.time.total_s,
            None if self.stop_after else diagnosis.time.total_s,
        )


class Progress:
    """Says on standard error what is being done: on a terminal in one line."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._drawn = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._shown = ""

    def tell(self, text: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self.clear()
            say(text)

    def show(self, text: str) -> None:
        """What takes the place of what was shown before; elsewhere a line for each run."""
        if self._quiet or text == self._shown:
            return
        if self._drawn:
            self._draw(f"xladoctor: {text}")
        elif text.partition(",")[0] != self._shown.partition(",")[0]:
            say(text)
        self._shown = text

    def clear(self) -> None:
        """Leave nothing behind on a terminal."""
        if self._drawn and self._shown:
            self._draw("")

    @staticmethod
    def _draw(text: str) -> None:
        terminal = sys.__stderr__ or sys.stderr  # sys.stderr may refuse to move the cursor
        terminal.write(f"\r\x1b[2K{text}")
        terminal.flush()


@grouped
def fix(
    *,
    path: str = argument("A run: its directory, last, last~1 or a script's name.", metavar="RUN"),
    writing: WriteOptions,
    verifying: VerifyOptions,
    config: ConfigOptions,
    output: PlainOption = PlainFormat.terminal,
    quiet: QuietOption = False,
    color: ColorOption = Color.auto,
) -> None:
    """Show patches for a run's findings; try them, or write them.

    Exit status: 0 there are patches (with --write: some were written), 1 there are none, or none
    that holds, 2 the input cannot be used.
    """
    from xladoctor.report import fixes

    refuse_url(path, "patches are tried and kept in a run directory of this machine")
    with progress_bar() as bar:
        diagnosis, plan = doctor.plan_fixes(path, config.selection(), writing.root, bar)
    form = Output(Format(output.value), is_patch=output is PlainFormat.terminal)

    def shown(proofs: list[Proof] | None) -> None:
        write_each(
            [form], color, lambda name, text, style: fixes.render(name, plan, proofs, text, style)
        )

    proofs = _proofs(plan, diagnosis, verifying, Progress(quiet), shown)
    shown(proofs)
    kept = plan.patches
    if proofs is not None:
        kept = [proof.patch for proof in proofs if proof.is_kept]
    elif writing.write and not writing.unverified:
        kept = plan.held
    if writing.write:
        _write(kept, plan)
    if not kept:
        raise typer.Exit(1)


def _proofs(
    plan: Plan,
    diagnosis: Diagnosis,
    options: VerifyOptions,
    progress: Progress,
    shown: Callable[[list[Proof]], None],
) -> list[Proof] | None:
    """What came of trying the patches; None if that was not asked for. If it is interrupted, what
    came of them so far is shown and kept.
    """
    if not options.verify:
        return None
    from xladoctor.fixes.proof.record import write_proofs
    from xladoctor.fixes.proof.trial import Course
    from xladoctor.recording.interface import RunDirectory

    run = RunDirectory(Path(diagnosis.run.path))
    for number in (signal.SIGTERM, signal.SIGHUP):  # copies are deleted, as with Ctrl-C
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    course = Course(plan, options.trials(diagnosis, progress))
    try:
        course.run()
    except BaseException:
        if course.has_begun:
            progress.clear()
            if any(proof.outcome != "not tried" for proof in course.proofs):
                write_proofs(run, course.proofs)
            shown(course.proofs)
        raise
    finally:
        progress.clear()
    write_proofs(run, course.proofs)
    return course.proofs


def _write(kept: Sequence[Patch], plan: Plan) -> None:
    from xladoctor.fixes.plan import written

    for line in written(kept):
        say(line)
    if left := len(plan.patches) - len(kept):
        them = "1 patch is" if left == 1 else f"{left} patches are"
        say(f"{them} not written: not verified, or verification failed")
        say("to try and write: --verify --write; to write without trying: --write --unverified")
