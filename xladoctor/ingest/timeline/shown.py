"""What a timeline shows, to be joined with the other evidence of its process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xladoctor.ingest.compilations import Timed
from xladoctor.ingest.compiled_calls import NO_CALLS, Calls
from xladoctor.ingest.frames import Line
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns

if TYPE_CHECKING:
    from xladoctor.ingest.timeline.compiling import Compiled


@dataclass(frozen=True, slots=True)
class Shown:
    """What has no tables yet, or not all of them.

    Attributes:
        log: the step log of the process; without other evidence, its steps in that form.
        described: its row of ``timeline``; empty if it could not be opened.
        device_kinds: of each device.
        of_steps: ``timeline_step``, and ``device_step`` of each device.
        traced: the lines of the operations in its modules.
        compiled: its compilations, in order of time.
        times: the same in the form of a step log, if there is no other evidence of the process.
        calls: of compiled functions.
        phases: tables of compilations whose phases are events, used without a compiler's log.
    """

    log: Gathered
    described: Mapping[str, Any] = field(default_factory=dict)
    device_kinds: Sequence[str] = ()
    of_steps: Sequence[tuple[str, Columns]] = ()
    traced: frozenset[Line] = frozenset()
    compiled: Sequence[Compiled] = ()
    times: list[Timed] | None = None
    calls: Calls = NO_CALLS
    phases: Gathered | None = None
