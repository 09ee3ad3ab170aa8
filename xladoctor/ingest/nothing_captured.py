"""Says why a run directory has nothing to diagnose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from xladoctor.frontends.vocabulary import captured, vocabulary
from xladoctor.frontends.vocabulary_file import Vocabulary
from xladoctor.ingest.interface import Notes
from xladoctor.ingest.process_record import first_fault
from xladoctor.ingest.regular import read_text
from xladoctor.recording.bootstrap._xladoctor.redaction import redact_text

_USE = re.compile(r"^(\d+) \d+ uses (\S+) (\d+) (\S+) (.*)$", re.MULTILINE)

LAYOUT = "a run directory has run.json and a folder process-<pid> for each process"
_HINT_WHERE_LOST = (
    f"{LAYOUT}; if the disk was full, or something removed these files, run it again with --output"
    " on another disk"
)


class OtherName(NamedTuple):
    """A line that uses a name of a package that the framework has replaced; from ``python.log``."""

    pid: int
    name: str
    line: int
    function: str
    file: str


def other_names(started: str) -> Iterator[OtherName]:
    """The lines in ``python.log``, each process's in the order of its files.

    Args:
        started: from :func:`read_python_log`.
    """
    for pid, name, line, function, file in _USE.findall(started):
        yield OtherName(int(pid), name, int(line), function, file)


def read_python_log(path: Path, noted: Notes) -> str | None:
    """What Python processes said as they began; None without the file."""
    try:
        return read_text(path, errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        noted.lose(f"{path}: cannot be read ({error.strerror})")
        return None


def faults_at_start(log: Path, text: str, noted: Notes) -> list[str]:
    """Faults of the capture in processes that have no folder, or have it no more."""
    faults = re.findall(r"^(\d+) \d+ fault (.*)$", redact_text(text), re.MULTILINE)
    told = [f"{log}: process {pid} could not be captured: {fault}" for pid, fault in faults]
    if fault := first_fault(log.parent, noted):
        told.append(f"{log.parent / 'faults.log'}: a process could not be captured: {fault}")
    return told


def nothing_captured(
    path: Path, folders: list[Path], started: str | None, notes: list[str], failed: str
) -> tuple[str | list[str], str]:
    """The message, and what to do, where no process in a run directory has evidence.

    Args:
        path: the run directory.
        folders: those of its processes.
        started: from :func:`read_python_log`.
        notes: on what was lost.
        failed: how the program failed, if it did: ``ended with exit status 1``.
    """
    if notes:
        return notes, _HINT_WHERE_LOST
    known = captured()
    used = [each for each in known if f" imported {each.package}\n" in (started or "")]
    used = [each for each in used if "idle" not in each.words] or used  # others import it, too
    if folders and not used:  # the log is gone
        used = [vocabulary()]
    if used:
        return (
            f"{path}: the program imported {_names(used, 'and')},"
            f" {used[0].words.get('idle', 'but no computation ran on an XLA device')}"
            f"{failed and f'; it {failed}'}",
            "\n".join((*(each.words["unused"] for each in used), *_replaced(used, started or ""))),
        )
    if started is not None:
        return (
            f"{path}: the program never imported {_names(known, 'or')}, so there is nothing to"
            " diagnose",
            f"xladoctor looks at {' and '.join(each.title for each in known)} programs; if this is"
            f" one, check that the interpreter it starts has {_names(known, 'or')}",
        )
    return (
        f"{path}: no Python process reported, so there is nothing to diagnose",
        "an interpreter started with -E, -I or -S, or without its PYTHONPATH, cannot be captured"
        ' from outside, only from inside: with xladoctor.capture("out"): …',
    )


def _replaced(used: Iterable[Vocabulary], started: str) -> Iterator[str]:
    """The lines that use a package which a framework has replaced, and what takes its place."""
    uses = list(dict.fromkeys(use[1:] for use in other_names(started)))
    for frontend in used:
        known = [use for use in uses if use[0] in frontend.replaced]
        if known:
            package = known[0][0].partition(".")[0]
            yield f"its code was written for {package}, which {frontend.title} replaces:"
        for name, line, _, file in known:
            yield f"  {file}:{line} {name}: {frontend.replaced[name]}"


def _names(frontends: Iterable[Vocabulary], joint: str) -> str:
    return f" {joint} ".join(each.package for each in frontends)
