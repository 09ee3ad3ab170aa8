"""Reads what TorchTPU prints between a program's other output: warnings, and at the program's end
counts of its compilation cache.

As of torch_tpu 0.2.0. The counts come from ``compilation_cache.cc``, only if TF_CPP_MIN_LOG_LEVEL
is 0 or unset::

    I0000 00:00:17 24159 compilation_cache.cc:203] CompilationCache final stats: num_cache_reqs=126
    num_cache_hits=118 {93.6%}
    num_compilations=8
    peak_compilation_memory_bytes=unknown

Warnings of Python and of C++ have their category in front, ``torch_tpu/_internal/warnings.py``::

    /env/torch_tpu/__init__.py:37: UserWarning: <TorchTpu/Performance/TcMalloc/> tcmalloc is not …
    [W1127 14:16:29.46 env_vars.h:405] Warning: <TorchTpu/ApiStage/InternalApi/> … (function f)

Those of compiled functions of several processes have none: ``_internal/distributed/handshake.py``,
``_internal/compile/split_compiler.py``.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.ingest.compiler_log import CompilerLog, add_process, name_frontend
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders
from xladoctor.ingest.interface import Ingested

FRONTEND = "torch_tpu"
_STATISTICS = "CompilationCache final stats:"
_COUNT = re.compile(r"\b(num_cache_reqs|num_cache_hits|num_compilations)=(\d{1,18})\b", re.ASCII)
_MOST_LINES = 4  # of the statistics
_CATEGORY = "<TorchTpu/"
_WARNING = re.compile(r"<TorchTpu/((?:\w{1,60}/){0,5})> ?(.*)")
_WHERE = re.compile(r"(\S.*):(\d{1,9}): \w+: $")
_FUNCTION = re.compile(r" \(function [^()]{1,200}(?:\(\))?\)$")
_SOURCE = re.compile(r"^(?:[\[(]?\w+[-_ ]?\d*[\])]?:\s*)*(?=[/~.])")  # a rank before the path
_LONGEST = 1000  # characters of a warning
_OF_SPEED = "Performance"
#: Warnings without a category, by the name of their kind.
_OTHERS = {
    "handshake": "Handshake failed for rank ",
    "process_group": "We do not support non global PG handshakes",
    "split": "Split graph into ",
}
_PARTS = re.compile(r"Split graph into (\d{1,9}) partitions")
_TIER = re.compile(r"Tier-[23] compilation cache|tier-3 cache is disabled")
_ROOT = re.compile(r"Tier-3 compilation cache root directory: *(.*)")
_DROPPED = re.compile(r"torch_tpu tracing dropped (\d{1,18}) events")


class _Warning(NamedTuple):
    kind: str
    text: str
    site: CallSite


class Console(CompilerLog):
    """Collects the counts and warnings of one process.

    Of several counts the largest are used: processes whose lines look alike print the same.
    """

    NAME = "what TorchTPU prints"
    LACKING = (
        "what TorchTPU prints, but neither the counts of its compilation cache at the end nor a"
        " warning about performance"
    )
    MARKS = (
        _STATISTICS,
        _CATEGORY,
        *_OTHERS.values(),
        "Tier-2 compilation cache",
        "Tier-3 compilation cache",
        "torch_tpu tracing dropped",
    )

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._warnings: Counter[_Warning] = Counter()
        self._further = 0  # lines of statistics that may follow
        self._off = False  # the cache for later runs
        self._dropped = 0
        self._folders = Folders(framework=vocabulary(FRONTEND).packages)

    @property
    def inside(self) -> bool:
        """Whether counts may follow."""
        return self._further > 0

    @property
    def has_records(self) -> bool:
        """Whether there are counts, or warnings about performance."""
        return bool(self._counts or self._warnings)

    def take(self, line: str) -> bool:
        """Take a line; False if it is not one of these."""
        line = line.rstrip("\r\n")
        if _STATISTICS in line:
            self._further = _MOST_LINES
        if self._further:
            self._further -= 1
            return self._count(line)
        if _CATEGORY in line:
            return self._warn(line)
        return self._warn_of_graphs(line) or self._note(line)

    def _count(self, line: str) -> bool:
        found = _COUNT.findall(line)
        for name, value in found:
            self._counts[name] = max(self._counts.get(name, 0), int(value))
        if not found and "peak_compilation_memory_bytes" not in line:
            self._further = 0
            return False
        return True

    def _warn(self, line: str) -> bool:
        match = _WARNING.search(line)
        if match is None:
            return False
        kind = match[1].rstrip("/")
        if kind.partition("/")[0] == _OF_SPEED:
            text = _FUNCTION.sub("", match[2].strip()[:_LONGEST])
            self._warnings[_Warning(kind, text, self._site(line[: match.start()]))] += 1
        return True

    def _warn_of_graphs(self, line: str) -> bool:
        """Take a warning about compiled functions of several processes, which has no category."""
        kind = next((kind for kind, begin in _OTHERS.items() if begin in line), None)
        if kind is None:
            return False
        text = line[line.index(_OTHERS[kind]) :]
        if kind == "handshake":
            text = _OTHERS[kind]  # what follows differs each time
        elif kind == "split":
            match = _PARTS.match(text)
            if match is None or int(match[1]) <= 1:
                return match is not None
            text = match[0]
        self._warnings[_Warning(kind, text.strip()[:_LONGEST], NOWHERE)] += 1
        return True

    def _note(self, line: str) -> bool:
        """Take a line about what is switched off or left out."""
        root, dropped = _ROOT.search(line), _DROPPED.search(line)
        if root and not root[1].strip():
            self._off = True
        if dropped:
            self._dropped += int(dropped[1])
        return bool(root or dropped or _TIER.search(line))

    def _site(self, before: str) -> CallSite:
        """The line of the program that a warning is placed at."""
        match = _WHERE.match(_SOURCE.sub("", before))
        if match is None or self._folders.is_machinery(match[1]):
            return NOWHERE
        return CallSite(match[1], int(match[2]))

    def add(self, process: int, ingested: Ingested) -> None:
        """Fill ``counter`` and ``framework_warning`` of a process."""
        if process not in ingested.tables.get("process", {}).get("process", ()):
            add_process(process, FRONTEND, ingested)
        name_frontend(process, FRONTEND, ingested)
        for name, value in self._counts.items():
            ingested.add("counter", process=process, name=name, value=value)
        ingested.table("framework_warning")
        for warning, count in self._warnings.items():
            ingested.add(
                "framework_warning",
                process=process,
                kind=warning.kind,
                text=warning.text,
                count=count,
                **warning.site.columns(),
            )
        ingested.notes += self._notes()

    def _notes(self) -> list[str]:
        notes = []
        requests = self._counts.get("num_cache_reqs")
        compiled = self._counts.get("num_compilations")
        if requests is not None and compiled is not None:
            notes.append(
                f"TorchTPU counts {requests:,} launches and {compiled:,} executables compiled for"
                " them, but prints neither their lines nor their times"
            )
        if self._off:
            notes.append(
                "TorchTPU keeps no executables for later runs, as no folder for them is set:"
                " TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT"
            )
        if self._dropped:
            notes.append(
                f"TorchTPU left {self._dropped:,} launches out of its log in the folder of"
                " TORCH_TRACE"
            )
        return notes
