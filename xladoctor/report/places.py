"""Where a platform shows a finding: a line of the repository, by its path from the root.

Installed packages count as outside of it, even if their environment is in the repository: nobody
commits them, so no platform could show their lines.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import replace

from xladoctor.diagnosis.finding import Location
from xladoctor.diagnosis.interface import Diagnosis, RunFacts
from xladoctor.repository import installed, is_of_windows, short, whole


def path_in_repository(file: str, run: RunFacts) -> str | None:
    """The path from the root of the repository; None for a file outside of it.

    Args:
        file: absolute, or relative to the program's working directory.
        run: has that directory and the root. Without them (a pasted report), relative paths are
            taken as they are.
    """
    if not file or file.startswith("<") or is_of_windows(file) or installed(file):  # <string>
        return None
    path = whole(file, run.cwd)
    root = run.root or run.cwd
    if root:
        path = posixpath.relpath(path, root)
    outside = path.startswith("/") or path == "." or path.split("/")[0] == ".."
    return None if outside else path


def path_shown(file: str, run: RunFacts) -> str:
    """The same for people: of an installed file, its package's path; else the file as it is."""
    return path_in_repository(file, run) or short(file)


def primary(locations: Sequence[Location], diagnosis: Diagnosis) -> Location | None:
    """The first line inside the repository, with its path from the root; else the main script."""
    for location in locations:
        path = path_in_repository(location.file, diagnosis.run)
        if path:
            return replace(location, file=path, line=max(location.line, 1))
    script = _script(diagnosis)
    return Location(script, 1, None, "guilty") if script else None


def _script(diagnosis: Diagnosis) -> str | None:
    """The main script, if the run shows that it is in the repository.

    Its name alone does not: a script outside is named by its last part.
    """
    run = diagnosis.run
    files = {*run.command, *(location.file for location in _locations(diagnosis))}
    inside = {path_in_repository(file, run) for file in files}
    return run.script if run.script in inside else None


def _locations(diagnosis: Diagnosis) -> Iterable[Location]:
    for finding in diagnosis.findings:
        yield from finding.locations
    for count in diagnosis.counts:
        yield from (consumer.location for consumer in count.consumers if consumer.location)
