"""Reads what TorchTPU prints between a program's other output: warnings, statistics of its cache.

Warnings have a category in front (``torch_tpu/_internal/warnings.py``), those of C++ with the
function behind; at exit, unless ``TF_CPP_MIN_LOG_LEVEL`` hides it, come the statistics::

    /env/torch_tpu/__init__.py:37: UserWarning: <TorchTpu/Performance/TcMalloc/> tcmalloc is not …
    [W1127 14:19:59.30 env_vars.h:405] Warning: <TorchTpu/ApiStage/…/> the … (function operator())
    I0000 00:00:1795789210.8 19344 compilation_cache.cc:203] CompilationCache final stats: num_…=12
    num_cache_hits=5 {41.6%}
    num_compilations=7
    peak_compilation_memory_bytes=unknown

What ranks say about a failed agreement (``compile/split_compiler.py``,
``distributed/handshake.py``) has no category.
"""

from __future__ import annotations

import re
from collections import Counter

from xladoctor.ingest.frames import NOWHERE, CallSite, Folders
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.warning_log import WarningLog, add_warning
from xladoctor.quantities import whole_number

FRONTEND = "torch_tpu"
_STATISTICS = "CompilationCache final stats:"
_FURTHER = ("num_cache_hits", "num_compilations", "peak_compilation_memory_bytes")
_COUNT = re.compile(rf"\b(num_cache_reqs|{'|'.join(_FURTHER)})=(\d{{1,18}}|unknown)\b", re.ASCII)
_CATEGORY = "<TorchTpu/"
_WARNING = re.compile(
    r"(?:(?P<file>[^\s:][^:]{0,500}):(?P<line>\d{1,9}): \w{1,60}: )?"
    r"<TorchTpu/(?P<kind>[\w/]{0,100}?)/?>\s*(?P<text>.{1,2000})",
    re.ASCII,
)
_FUNCTION = re.compile(r" \(function [^)]{1,100}(?:\(\))?\)$")
_PERFORMANCE, _CORRECTNESS = "Performance", "Correctness"
#: Texts of those without a category, and what they are about.
_PLAIN = {
    "Handshake failed for rank": "handshake failed",
    "We do not support non global PG handshakes": "handshake of a part of the ranks",
}


class ConsoleLog(WarningLog):
    """Collects the messages of one process."""

    NAME = "TorchTPU's messages"
    decides = True
    LACKING = (
        "messages of TorchTPU, but neither a warning about performance nor the statistics that it"
        " prints at exit, which TF_CPP_MIN_LOG_LEVEL=0 shows"
    )
    MARKS = (
        _STATISTICS,
        *(f"{name}=" for name in _FURTHER),
        _CATEGORY,
        *_PLAIN,
        "torch_tpu tracing dropped ",
    )
    frontend = FRONTEND

    def __init__(self) -> None:
        super().__init__()
        self._folders = Folders.elsewhere(FRONTEND)
        self._blocks: list[dict[str, int]] = []
        self._dropped = 0

    @property
    def has_records(self) -> bool:
        """Whether there is anything to tell."""
        return bool(any(self._blocks) or self.warnings or self._dropped)

    def _ended(self, match: re.Match[str]) -> None:
        self._blocks.append({})
        if counts := _COUNT.search(match.string):
            self._counted(counts)

    def _counted(self, match: re.Match[str]) -> bool:
        if self._blocks and (value := whole_number(match[2])) is not None:
            self._blocks[-1].setdefault(match[1], value)
        return bool(self._blocks)

    def _categorized(self, match: re.Match[str]) -> None:
        kind = match["kind"]
        if kind.partition("/")[0] not in (_PERFORMANCE, _CORRECTNESS):
            return
        site = NOWHERE
        if match["file"] and not self._folders.is_machinery(match["file"]):
            site = CallSite(match["file"], int(match["line"]))
        self.warn(kind, _FUNCTION.sub("", match["text"].strip()), site)

    def _plain(self, match: re.Match[str]) -> None:
        self.warn(_PLAIN[match[1]], match[0])

    def _lost(self, match: re.Match[str]) -> None:
        self._dropped += int(match[1])

    FORMS = (
        (re.compile(_STATISTICS), _ended),
        (_COUNT, _counted),
        (_WARNING, _categorized),
        (re.compile(r"torch_tpu tracing dropped (\d{1,18}) events"), _lost),
        (re.compile(rf"({'|'.join(_PLAIN)}).*"), _plain),
    )

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill ``counter`` and ``logged_warning``."""
        counts = sum((Counter(block) for block in self._blocks), Counter[str]())
        for name, value in counts.items():
            rows.add("counter", name=name, value=value)
        asked, compiled = counts["num_cache_reqs"], counts["num_compilations"]
        if asked:
            added = f" of {len(self._blocks)} processes" if len(self._blocks) > 1 else ""
            rows.notes.append(
                f"TorchTPU's cache at exit{added}: {asked:,} executables were looked up,"
                f" {compiled:,} compiled; it does not say at which lines, or how long that took"
            )
        if self._dropped:
            rows.notes.append(
                f"TorchTPU has left {self._dropped:,} launches out of the log of TORCH_TRACE"
            )
        rows.table("logged_warning")
        for warning, count in self.warnings.items():
            if warning.kind.partition("/")[0] == _CORRECTNESS:
                rows.notes.append(f"TorchTPU warns of wrong results: {warning.text}")
            else:
                add_warning(warning, rows, count)
        return FRONTEND
