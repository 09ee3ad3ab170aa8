"""Reads modules that XLA itself dumped to a directory (``--xla_dump_to=DIR``): each compilation
leaves several files, named after its number and its module.

With ``--xla_dump_hlo_as_proto`` they are ``HloProto``, perhaps compressed. Otherwise they are text
for people, of which only the file name's number is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath

from google.protobuf.message import DecodeError

from xladoctor.ingest.compressed import Unpacked
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo.module import Module, decode
from xladoctor.ingest.interface import ProcessRows
from xladoctor.regular_files import MESSAGE

#: ``module_0007.SyncTensorsGraph.19.before_optimizations.hlo.pb``
_NAME = re.compile(
    r"module_(\d{1,9})\.(.+)\.before_optimizations\.(txt|hlo\.pb(?:\.gz)?)", re.ASCII
)


def is_dumped(file: PurePath) -> bool:
    """Whether a file is a module from before XLA's optimizations."""
    return _NAME.fullmatch(file.name) is not None


def add_dumped(files: Sequence[Path], rows: ProcessRows) -> None:
    """Fill ``compilation`` and the tables of modules from dumped modules, in order.

    A module that is text, or unreadable, gives only a row of ``compilation`` and a note.
    """
    unread: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for index, (number, kind, file) in enumerate(sorted(map(_described, files))):
        module = _decoded(file, index)
        graph = f"module {number}"
        rows.add(
            "compilation",
            index=index,
            graph_hash=graph,
            ordinal=seen[kind],
            inputs=module.inputs if module else None,
            outputs=module.outputs if module else None,
        )
        seen[kind] += 1
        if module:
            module.add(graph, rows)
        else:
            unread[file.suffix] += 1
    note = f"{files[0].parent}: {len(files)} modules that XLA dumped, one of each compilation"
    if texts := unread.pop(".txt", 0):
        note += (
            f"; {texts} are not HLO in protocol buffers, and only counted"
            " (--xla_dump_hlo_as_proto writes those)"
        )
    if unread:
        note += f"; {unread.total()} cannot be read, and are only counted"
    rows.notes.append(note)


def _decoded(file: Path, program: int) -> Module | None:
    if file.suffix == ".txt":
        return None
    try:
        with Unpacked(file, MESSAGE) as source:
            proto = source.readall()
        return None if source.damage else decode(proto, program, Folders())
    except (OSError, DecodeError):
        return None


def _described(file: Path) -> tuple[int, str, Path]:
    """The module's number, its name without numbers (the function, or what hands graphs over), and
    the file.
    """
    match = _NAME.fullmatch(file.name)
    return (int(match[1]), match[2].rstrip(".0123456789"), file) if match else (0, "", file)
