"""Finds evidence: by path, or runs by name: ``last``, ``last~1``, ``train.py``, ``train~2``.

A folder of runs is never one program: its runs are listed, so that the user can choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from textwrap import shorten

from xladoctor.evidence.pod_runs import is_run, members, pod_of, read_object
from xladoctor.foreign import quoted
from xladoctor.ingest.interface import IngestError
from xladoctor.recording.interface import RUNS, RunDirectory
from xladoctor.regular_files import files_below, modified_s
from xladoctor.storage.address import is_url

_LAST = "last"
_NAMED = re.compile(r"(?P<name>.+?)(?:~(?P<back>\d{1,6}))?")
_MOST_LISTED = 20
_LATEST_S = 2**62 // 10**9  # the year 2116, which no manifest exceeds
_EXPECTED = (
    "expected a run (a run directory of `xladoctor run`, last, last~1, or a script's name), an"
    " XProf log directory, an .xplane.pb file, a text with a metrics report or an analysis log, or"
    " a directory with several of these"
)


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run directory or the folder of a pod, as manifest and last diagnosis describe it.

    Attributes:
        script: the program; for a remote capture, "capture".
        folder: its working directory.
        began_s: its start, in seconds since 1970.
        steps: its number of steps; None if it was not analyzed.
        verdict: the verdict of its last diagnosis.
    """

    path: Path
    script: str
    folder: str
    began_s: float
    steps: int | None
    verdict: str

    def is_of(self, name: str) -> bool:
        """Whether a name refers to it: the script with or without folder and suffix, or its own."""
        script = Path(self.folder, self.script)
        if name.endswith(".py") and "/" in name:
            return script.resolve() == Path(name).resolve()
        return name in (script.name, script.stem, self.path.name)


def locate(word: str) -> str:
    """The path for a word, which is a path or the name of a run; a folder of one run is that run.

    Raises:
        IngestError: there is no such file and no such run.
    """
    exists = _exists(word)
    if Path(word).name == RUNS and len(runs := runs_below(Path(word))) == 1:
        return str(runs[0].path)
    if exists and (Path(word).is_dir() or not word.endswith(".py")):
        return word
    named = _NAMED.fullmatch(word)
    if named is None:
        raise IngestError(f"{word}: no such file or directory", _EXPECTED)
    name, back = named["name"], int(named["back"] or 0)
    kept = runs_below(Path(RUNS))
    runs = [run for run in kept if name == _LAST or run.is_of(name)]
    if back < len(runs):
        return str(runs[back].path)
    if runs:
        only = "is only 1 run" if len(runs) == 1 else f"are only {len(runs)} runs"
        raise IngestError(f"{word}: there {only} of that name in {RUNS}/")
    if exists or name == _LAST:
        of_it, script = (" of it", quoted(word)) if exists else ("", "your_script.py")
        raise IngestError(
            f"{word}: no run{of_it} in {RUNS}/", f"to make one: xladoctor run {script}"
        )
    raise IngestError(f"{word}: no such file or directory", _EXPECTED)


def is_there(word: str) -> bool:
    """Whether a word is an existing path, the name of a run, or a URL."""
    if is_url(word):
        return True
    try:
        return bool(locate(word))
    except IngestError:
        return False


def refuse_several(places: Sequence[Path]) -> None:
    """Refuse folders of several runs where evidence of one program is needed.

    Raises:
        IngestError: lists the runs, and says how to choose.
    """
    for place in places:
        if hosts := members(place):
            raise IngestError(
                f"{quoted(str(place))}: runs of {len(hosts)} hosts; name one of them",
                "\n".join(quoted(str(host)) for host in hosts[:_MOST_LISTED]),
            )
    runs = _newest_first(run for place in places if place.is_dir() for run in _below(place))
    if not runs:
        return
    named = quoted(*map(str, places))
    if len(places) > 1 and len(runs) == 1:
        raise IngestError(
            f"{named}: a run cannot be combined with other evidence",
            f"xladoctor analyze {quoted(str(runs[0].path))}",
        )
    several = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    lines = [line for run in runs[:_MOST_LISTED] for line in _described(run)]
    if len(runs) > _MOST_LISTED:
        lines.append(f"and {len(runs) - _MOST_LISTED} older")
    example = quoted(str(runs[0].path))
    lines.append(f"to read one of them: xladoctor analyze {example}")
    if all(run.path.is_relative_to(RUNS) for run in runs):
        lines.append("the newest is called last, the one before it last~1")
    raise IngestError(
        f"{quoted(*map(str, places))}: {several}; a report is about one", "\n".join(lines)
    )


def runs_below(folder: Path) -> list[KeptRun]:
    """All runs in a folder, however deep, the newest first."""
    return _newest_first(_below(folder))


def _newest_first(runs: Iterable[KeptRun]) -> list[KeptRun]:
    unique = {run.path: run for run in runs}.values()
    return sorted(unique, key=lambda run: (run.began_s, run.path.name), reverse=True)


def _below(folder: Path) -> Iterable[KeptRun]:
    holders = set[Path]()
    for file in files_below(folder):
        if file.name == "run.json":
            holders.add(file.parent)
        elif file.name == "process.json" and file.parent.name.startswith("process-"):
            holders.add(file.parents[1])
    places = {pod_of(place) or place for place in holders}
    return [run for place in places if (run := _kept(place))]


def _kept(place: Path) -> KeptRun | None:
    """The description of a run or a pod of itself; None for a folder that is neither."""
    hosts = members(place)
    if not hosts and not is_run(place):
        return None
    run = RunDirectory(hosts[0] if hosts else place)
    manifest, diagnosis = read_object(run.manifest), read_object(run.diagnosis)
    if not manifest.keys() & {"tool", "command"} and not any(run.path.glob("process-*")):
        return None
    steps, verdict = diagnosis.get("steps"), diagnosis.get("verdict")
    count = steps.get("count") if isinstance(steps, dict) else None
    began, script = manifest.get("began_ns"), manifest.get("script")
    return KeptRun(
        place,
        script if isinstance(script, str) else str(manifest.get("kind") or "program"),
        str(manifest.get("cwd") or ""),
        max(0, min(began // 10**9 if isinstance(began, int) else modified_s(place), _LATEST_S)),
        count if isinstance(count, int) else None,
        str(verdict.get("text")) if isinstance(verdict, dict) else "not analyzed yet",
    )


def _described(run: KeptRun) -> list[str]:
    began = f"{datetime.fromtimestamp(run.began_s):%Y-%m-%d %H:%M}"
    steps = [] if run.steps is None else [f"{run.steps:,} steps"]
    return [
        str(run.path),
        "    " + ", ".join([run.script, began, *steps]),
        "    " + shorten(run.verdict, 74, placeholder=" …"),
    ]


def _exists(word: str) -> bool:
    try:
        return Path(word).exists()
    except OSError as error:
        raise IngestError(f"{word}: cannot be read: {error.strerror}") from error
