"""Reads the graphs that TorchTPU adds to the structured log in the folder of ``TORCH_TRACE``.

Each launch of an operator outside of compiled functions has a record, with the graph's text if the
executable is new; which of an operator's executables the others launched is not in the log. Each
compiled function logs its graph when it is compiled.
"""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from xladoctor.frontends.torch.ingest.structured_records import records
from xladoctor.ingest.compressed import Unpacked
from xladoctor.ingest.interface import Losses

_COMPILED, _EAGER = "torchtpu_stablehlo_graph", "torchtpu_eager_stablehlo"
_LONGEST = 1 << 28  # characters of a graph
_LAST = ("}", "#")  # how the last line of a whole module begins


@dataclass(slots=True)
class Logged:
    """The graphs of a log.

    Attributes:
        texts: each distinct text -> the operator that launches it; empty for compiled functions.
        launches: of each operator.
        cut: how many graphs lack their end.
    """

    texts: dict[str, str] = field(default_factory=dict)
    launches: Counter[str] = field(default_factory=Counter)
    cut: int = 0

    def launches_of(self, operator: str) -> int | None:
        """Launches of a graph of the operator: on average, as it may have several."""
        graphs = sum(each == operator for each in self.texts.values())
        return max(1, round(self.launches[operator] / graphs)) if operator else None


def read_logged(file: Path) -> Logged:
    """The graphs in a log. Raises OSError, EOFError."""
    logged = Logged()
    with io.TextIOWrapper(io.BufferedReader(Unpacked(file)), errors="replace") as lines:
        for record in records(lines, file, Losses(), _LONGEST):
            if record.artifact not in (_COMPILED, _EAGER):
                continue
            operator = ""
            if record.artifact == _EAGER:
                operator = str(record.fields["artifact"].get("op_name") or "?")
                logged.launches[operator] += 1
            text = record.payload.rstrip()
            if text and text.rpartition("\n")[2].startswith(_LAST):
                logged.texts.setdefault(text, operator)
            elif text:
                logged.cut += 1
    return logged
