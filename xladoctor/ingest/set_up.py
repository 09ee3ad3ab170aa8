"""Which steps belong to setting a program up, in frameworks without barriers.

A program that makes its model operation by operation comes back to some lines, with other shapes
each time; then all its work may be in a single launch, or its loop comes after that. No loop is in
what it makes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xladoctor.ingest.run_records import Compile, DamagedRecord, Step, StepLine, line_decoder
from xladoctor.ingest.step_log import CallSites
from xladoctor.warmup import WARMUP

_FEW = 10  # steps in which even a loop that compiles each time is in its warm-up


def sites_of_set_up(lines: Iterable[str], sites: CallSites) -> frozenset[int | None]:
    """The call sites with which steps ended although no loop is known by them.

    Those that ended few, launched operations of the framework, not functions of the program, and
    never :data:`WARMUP` times in succession without compiling. Beside a loop with many steps, calls
    of what another line compiled are believed to be one.

    Args:
        lines: of the step log; read only where needed.
        sites: of the process.
    """
    ended = {site: steps for site, _, _, steps in sites.launched
             if steps and site not in sites.light}  # fmt: skip
    few = {site for site, steps in ended.items() if steps < _FEW}
    if not few:
        return frozenset()
    decode = line_decoder(StepLine)
    loops: set[int | None] = set()
    operations = {site for site in few if sites[site].via}  # as the framework's Python says
    clean: Counter[int | None] = Counter()
    compiled = False
    for text in lines:
        try:
            line = decode(text)
        except DamagedRecord:
            continue
        if isinstance(line, Compile):
            compiled = True
            operations.add(line.site)
            if line.defined is not None or line.function is None:
                loops.add(line.site)
        elif isinstance(line, Step):
            clean[line.site] = 0 if compiled else clean[line.site] + line.steps
            compiled = False
            if clean[line.site] >= WARMUP:
                loops.add(line.site)
    return frozenset(few - loops if few == ended.keys() else few & operations - loops)
