"""The lookups of a run in the framework's cache on disk, with the parts of their keys."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xladoctor.cache_keys.computation import Computation
from xladoctor.errors import XladoctorError

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence

_GZIP = 31  # for zlib
_MOST_TEXT = 512_000_000  # bytes of a text; no graph that was compiled is larger
_LOOKUPS = r"""
SELECT l.* REPLACE (
           coalesce(nullif(l.name, ''), regexp_extract(c.cause, '^jit\((.*)\)$', 1), 'graph')
               AS name,
           CASE WHEN l.outcome <> 'hit' THEN coalesce(l.compile_ns, c.duration_ns) END
               AS compile_ns
       ), p.rank
FROM cache_lookup AS l LEFT JOIN process AS p USING (process)
LEFT JOIN compilation AS c ON c.process = l.process AND c.index = l.compilation
ORDER BY l.process, l.number
"""
_PARTS = """
SELECT process, lookup, part, digest, max(text) OVER (PARTITION BY process, part, digest) AS text
FROM cache_key_part ORDER BY process, lookup
"""


class CacheRecordError(XladoctorError):
    """A run without a record of what it looked up."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a key; ``text`` is what was hashed, None where it cannot be read."""

    digest: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Text:
    """Where the text of a graph is."""

    file: Path
    at: int
    bytes: int

    def read(self) -> Computation | None:
        """The text; None if it is gone or damaged."""
        try:
            with self.file.open("rb") as texts:
                texts.seek(self.at)
                content = texts.read(self.bytes)
            unpacker = zlib.decompressobj(_GZIP)
            plain = unpacker.decompress(content, _MOST_TEXT)
        except (OSError, zlib.error):
            return None
        return Computation(plain.decode(errors="replace")) if unpacker.eof else None


@dataclass(frozen=True, slots=True)
class Lookup:
    """A graph that was looked up.

    Attributes:
        name: the function.
        outcome: ``hit``, ``kept`` or ``not kept``.
        reason, detail, folder: as in table ``cache_lookup``.
        compile_s: seconds that compiling took, which a hit saves; None of a hit.
        read_s: seconds of reading the cache.
        place: file and line of the call; None if unknown.
        computation: digest of the graph.
        parts: the other parts of its key, by name.
    """

    name: str
    key: str
    outcome: str
    reason: str | None
    detail: str | None
    folder: str | None
    compile_s: float | None
    read_s: float
    place: tuple[str, int] | None
    computation: str
    parts: Mapping[str, Part] = field(repr=False)
    text: Text | None = None

    @property
    def compiled(self) -> bool:
        """Whether the cache did not have it."""
        return self.outcome != "hit"


@dataclass(frozen=True, slots=True)
class Start:
    """What a process looked up, in order.

    Attributes:
        frontend: as :mod:`xladoctor.frontends` names it.
        shown: a path as reports show it.
        began_ns: when the capture began; None if unknown.
        run: the run, where several are named.
    """

    label: str
    frontend: str
    lookups: tuple[Lookup, ...]
    shown: Callable[[str], str]
    began_ns: int | None = None
    run: str = ""

    @property
    def compile_s(self) -> float:
        """Seconds of compiling what was not found."""
        return sum(each.compile_s or 0.0 for each in self.lookups)


def starts(evidence: Evidence) -> list[Start]:
    """What each process of a run looked up, those without a rank last.

    Raises:
        CacheRecordError: the run has no record of it.
    """
    database = evidence.database
    if not database.has_rows("cache_lookup"):
        raise CacheRecordError(
            f"{evidence.path}: no record of a cache of compiled graphs on disk",
            "`xladoctor run` records one, of frameworks that have it, if it is not turned off",
        )
    parts: dict[int, list[dict[str, Any]]] = {}
    for row in database.rows(_PARTS):
        parts.setdefault(row["process"], []).append(row)
    found: dict[int, list[Lookup]] = {}
    ranks: dict[int, int | None] = {}
    for row, known in _with_parts(database.rows(_LOOKUPS), parts):
        found.setdefault(row["process"], []).append(_lookup(row, known, evidence))
        ranks[row["process"]] = row["rank"]
    order = sorted(found, key=lambda each: (ranks[each] is None, ranks[each] or 0, each))
    shown = partial(_shown, evidence)
    return [
        Start(_label(each, ranks), evidence.frontend, tuple(found[each]), shown, evidence.began_ns)
        for each in order
    ]


def _shown(evidence: Evidence, file: str) -> str:
    return evidence.shown(file) or file


def _label(process: int, ranks: Mapping[int, int | None]) -> str:
    rank = ranks[process]
    return f"process {process}" if rank is None else f"rank {rank}"


def _with_parts(
    rows: list[dict[str, Any]], parts: Mapping[int, list[dict[str, Any]]]
) -> Iterator[tuple[dict[str, Any], dict[str, Part]]]:
    """Each lookup with the parts that its key had: those of the last row for each."""
    ahead = {process: iter(of) for process, of in parts.items()}
    pending = {process: next(of, None) for process, of in ahead.items()}
    known: dict[int, dict[str, Part]] = {process: {} for process in ahead}
    for row in rows:
        process = row["process"]
        while (part := pending.get(process)) is not None and part["lookup"] <= row["number"]:
            known[process][part["part"]] = Part(part["digest"], part["text"])
            pending[process] = next(ahead[process], None)
        yield row, dict(known.get(process, {}))


def _lookup(row: dict[str, Any], parts: dict[str, Part], evidence: Evidence) -> Lookup:
    text = None
    if row["text_file"] is not None and row["text_at"] is not None:
        folder = evidence.on_disk(evidence.path)
        text = Text(folder / row["text_file"], row["text_at"], row["text_bytes"])
    return Lookup(
        name=row["name"],
        key=row["key"],
        outcome=row["outcome"],
        reason=row["reason"],
        detail=row["detail"],
        folder=row["folder"],
        compile_s=None if row["compile_ns"] is None else row["compile_ns"] / 1e9,
        read_s=row["read_ns"] / 1e9,
        place=None if row["file"] is None else (_shown(evidence, row["file"]), row["line"]),
        computation=row["computation"],
        parts=parts,
        text=text,
    )
