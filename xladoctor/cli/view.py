"""``xladoctor view``: the timeline of a run in XProf, or as a Perfetto trace."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from xladoctor import doctor
from xladoctor.cli.configured import ConfigOptions
from xladoctor.cli.groups import argument, grouped, option
from xladoctor.cli.output import SessionOption, temporary_folder
from xladoctor.cli.progress_bar import progress_bar
from xladoctor.report.output import emit, say

if TYPE_CHECKING:
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.evidence.interface import Evidence
    from xladoctor.view.show import Outcome


@grouped
def view(
    *,
    path: str = argument(
        "A run, log directory, .xplane.pb file or Chrome trace, as for analyze.", metavar="RUN"
    ),
    session: SessionOption = None,
    perfetto: Path | None = option(
        "Only write a trace for ui.perfetto.dev to this file; compressed if its name ends in .gz.",
        metavar="FILE",
    ),
    browser: bool = option("Open XProf in the browser.", default=True),
    config: ConfigOptions,
) -> None:
    """Show a run's timeline, with its findings, in XProf.

    XProf runs on this machine until Ctrl-C, on a copy of the timeline. It needs pip install
    'xladoctor[view]'; --perfetto needs no package. Exit status: 0 shown or written, 2 there is no
    timeline, or the viewer cannot be started.
    """
    from xladoctor.view import xprof

    if perfetto is not None:
        from xladoctor.view.show import write_perfetto

        outcome = _shown(path, session, config, partial(write_perfetto, path=perfetto))
        emit(f"{perfetto}: {outcome.slices:,} slices; open it at https://ui.perfetto.dev\n")
        return
    xprof.require()
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _end)  # so that the copy is removed
    with temporary_folder() as folder:
        from xladoctor.view.show import write_logdir

        logdir = Path(folder) / "logdir"
        _shown(path, session, config, partial(write_logdir, logdir=logdir))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            _serve(logdir, Path(folder) / "xprof.log", browser)


def _serve(logdir: Path, log: Path, browser: bool) -> None:
    import webbrowser

    from xladoctor.view import xprof

    with xprof.serving(logdir, log) as server:
        emit(f"XProf at {server.url} (Ctrl-C ends it)\n")
        if browser:
            webbrowser.open(server.url)
        server.wait()


def _shown(
    path: str,
    session: str | None,
    config: ConfigOptions,
    write: Callable[[Evidence, Diagnosis], Outcome],
) -> Outcome:
    """Read, judge and write; what was read is forgotten."""
    chosen = config.selection()
    with progress_bar() as bar:
        examination = doctor.examine_joined(path, chosen, session=session, progress=bar)
        evidence = examination.evidence
    outcome = write(evidence, examination.diagnosis)
    for note in (*examination.diagnosis.warnings, *outcome.notes):
        say(f"note: {note}")
    return outcome


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
