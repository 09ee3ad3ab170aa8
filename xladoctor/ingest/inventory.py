"""What a run directory had when the run ended, held against what is there.

``run.json`` lists each file with its size and checksum, so that a copy that was cut off, even at
the end of a line, is not taken for a short run, nor one with a hole for a quiet one. Where it has
no list, as its launcher was killed, the sizes in the records of the processes count. Files that
grew since (a worker went on) are complete.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

from xladoctor import facts
from xladoctor.ingest.interface import Notes
from xladoctor.ingest.regular import lies_in, read_text
from xladoctor.regular_files import checksum, record_checksum

_PATTERNS = (
    "steps.jsonl",
    "metrics.txt",
    "analysis*.log",
    "modules*.xplane.pb",
    "*.xplane.pb",
    "*.trace.json.gz",
    "call_sites.json",
    "host_samples.json",
    "processor.jsonl",
    "faults.log",
    "process.json",
)
_CHANGED = "has changed since the run (its checksum differs)"
#: Without it the process is left out.
_OF_PROCESS = ("process.json", "steps.jsonl", "metrics.txt", "modules*.xplane.pb")
#: Tables that have rows of a file, by the pattern of its name; no table has rows of other files.
TABLES: dict[str, tuple[str, ...]] = {
    pattern: tuple(
        name
        for name, table in facts.TABLES.items()
        if not set(table.files).isdisjoint(_OF_PROCESS if pattern == "process.json" else (pattern,))
    )
    for pattern in _PATTERNS
}


@lru_cache(1024)
def tables_of(file: str) -> tuple[str, ...]:
    """The tables that have rows of a file."""
    name = Path(file).name
    return next((tables for pattern, tables in TABLES.items() if fnmatch(name, pattern)), ())


def check(path: Path, files: Mapping[str, int], crc32: Mapping[str, int], noted: Notes) -> None:
    """Lose what was in files of a run directory that are shorter than they were, changed, or gone.

    Args:
        files: sizes in bytes by path.
        crc32: checksums by path, as far as they are known.
    """
    record = json.loads(read_text(path / "run.json"))
    if record.get("own_crc32", own := record_checksum(record)) != own:
        noted.lose(f"{path / 'run.json'}: {_CHANGED}; what it says may be wrong")
    for file, size in files.items():
        try:
            now = (path / file).lstat().st_size if lies_in(path / file, path) else None
        except (OSError, ValueError):
            now = None
        if now is None:
            noted.lose(f"{path / file}: is gone; its content is lost", *tables_of(file))
            continue
        if now < size:
            noted.lose(
                f"{path / file}: is cut off after {now:,} of {size:,} bytes; the rest is lost",
                *tables_of(file),
            )
        elif now == size and file in crc32 and _is_changed(path, file, crc32[file]):
            noted.lose(f"{path / file}: {_CHANGED}; some of it may be lost", *tables_of(file))


def _is_changed(path: Path, name: str, crc32: int) -> bool:
    """Whether a file of a known size has another content; one name per file, and no links."""
    file = path / name
    if name != str(Path(name)) or not lies_in(file, path):
        return False
    try:
        return checksum(file) != crc32
    except OSError:
        return False  # whoever reads it says so
