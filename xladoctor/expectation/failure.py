"""The message of a failed expectation. Loaded only then, as it imports the whole analysis."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from xladoctor.expectation.interface import EventCounts, Kind

_WIDTH = 76  # columns: pytest puts four before each line
_CHANGED = "NUMBA_CACHE_DIR"  # set by the readers of timelines


def message(happened: Sequence[tuple[Any, EventCounts]], bounds: Mapping[Kind, int]) -> str:
    """What happened in each session, and what was expected; each event's line, cause and fix."""
    from xladoctor.report.expectation import Unmet, headline, render
    from xladoctor.report.interface import Style

    counts = {kind: sum(each.count(kind) for _, each in happened) for kind in bounds}
    kinds = [kind for kind, bound in bounds.items() if counts[kind] > bound]
    unmet = [Unmet(kind, counts[kind], bounds[kind]) for kind in kinds]
    unicode = "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()
    with _apart():
        try:
            from xladoctor.expectation.events import explain

            findings, notes = explain(happened, kinds)
            return render(unmet, findings, notes, Style(_WIDTH, False, unicode))
        except Exception as fault:  # the test must still fail for its own reason
            what = ", ".join(map(headline, unmet))
            return f"{what}\n(xladoctor failed to find out why: {fault!r})"


@contextmanager
def _apart() -> Iterator[None]:
    """Keep the libraries' warnings and settings away from the program."""
    before = os.environ.get(_CHANGED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if before is None:
            os.environ.pop(_CHANGED, None)
        else:
            os.environ[_CHANGED] = before
