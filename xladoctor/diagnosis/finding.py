"""A finding as reports show it: its lines, cost, saving and cure, and what was not judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from xladoctor.diagnosis.rule import About, Severity

CostBasis = Literal["measured", "estimate", "bound", "least", "none"]
SavingBasis = Literal["estimate", "bound", "none"]


@dataclass(frozen=True, slots=True)
class Location:
    """A line: the guilty one, or one that explains it.

    Attributes:
        file: path, relative to the program's working directory if it is below it.
        role: guilty, caller (the user's line that led into a library), made (where the tensor that
            changed was made), used (where it is first used), compiled (where the graph was cut
            and compiled), due (the barrier that a step should keep), loop (at the end of whose body
            a barrier belongs), closure (the function at the end of which a barrier belongs),
            collated (where batches are put together), launched (the call that runs it), left
            (work that no read requested), or operation (what the guilty loop or condition decides).
        source: text of the line as it ran, if known.
        span: columns of the expression that the finding is about, from 0, the end exclusive.
    """

    file: str
    line: int
    function: str | None
    role: Literal[
        "guilty",
        "caller",
        "made",
        "used",
        "compiled",
        "due",
        "loop",
        "closure",
        "collated",
        "launched",
        "left",
        "operation",
    ]
    source: str | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall time that the finding is part of, in seconds and as a share of the whole.

    Attributes:
        basis: measured, estimate, bound (at most so much), least (at least so much: a part is not
            measured), or none if it is unknown.
    """

    seconds: float | None
    share: float | None
    basis: CostBasis


Do = Literal[
    "remove",
    "shorten",
    "make_asynchronous",
    "overlap",
    "merge_executions",
    "compile_once",
    "constant_cost",
]
What = Literal["read", "upload", "input", "save", "barrier", "cut", "compile", "tracing", "other"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a fix does.

    Attributes:
        do: ``remove`` (its time, its waits and the executions that it launches are gone),
            ``shorten`` (each call and what it launches take ``part`` less),
            ``make_asynchronous`` (it no longer waits), ``overlap`` (a thread of its own does it
            ahead of the loop), ``merge_executions`` (the barrier's graph runs as part of the next
            one), ``compile_once`` (the named compilations are gone), or ``constant_cost`` (each
            call, or all named compilations together, take ``to_ns``).
        what: calls (read, upload, input, save, barrier), a cut (graphs that an operator on the CPU
            cuts), compile, or Python's time: tracing and other.
        file, line: of the calls; None for all calls of this kind.
        part: share of the calls, or of the Python time, that the claim covers.
        to_ns: nanoseconds that remain.
        compilations: numbers of the compilations in their process.
    """

    do: Do
    what: What
    file: str | None = None
    line: int | None = None
    part: float = 1.0
    to_ns: float = 0.0
    compilations: list[int] = field(default_factory=list)


#: Share of the run, and of a step, that is negligible: two runs of a program differ by more.
NEXT_TO_NOTHING = 0.005


@dataclass(frozen=True, slots=True)
class Saving:
    """Wall time that a fix saves: seconds of the run, milliseconds a step, share of the whole.

    Attributes:
        basis: estimate (a replay of the timeline without what the fix removes), bound (at most
            what the finding costs), or none.
        now_ms: average step after warm-up, before the fix.
        after_ms: average step after warm-up, once this is fixed.
        limited_by: what most of a step is then spent on, as in ``verdict.limited_by``.
        remaining_s: what the fix saves once all findings before it are fixed; these add up.
        projected_s: what it saves in a run of ``Diagnosis.total_steps``.
        next_1000_s: what another thousand steps would lose without the fix; 0 if it is over.
        process: number of the process whose timeline was replayed.
        assumes: what the fix is assumed to do.
        outside_loop: whether the time is before or after the loop, which does not get shorter.
    """

    seconds: float | None
    per_step_ms: float | None
    share: float | None
    basis: SavingBasis
    now_ms: float | None = None
    after_ms: float | None = None
    limited_by: str | None = None
    remaining_s: float | None = None
    projected_s: float | None = None
    next_1000_s: float | None = None
    process: int | None = None
    assumes: list[Claim] = field(default_factory=list)
    outside_loop: bool = False

    @property
    def is_next_to_nothing(self) -> bool:
        """Whether neither the run nor a step after warm-up is known to get shorter noticeably."""
        of_step = 1.0 - self.after_ms / self.now_ms if self.now_ms and self.after_ms else 0.0
        return (
            self.basis == "estimate"
            and self.share is not None
            and max(self.share, of_step) < NEXT_TO_NOTHING
        )


NO_SAVING = Saving(None, None, None, "none")


@dataclass(frozen=True, slots=True)
class Tried:
    """A patch for a finding that was tried (``xladoctor fix --verify``).

    Attributes:
        title: what the patch does.
        outcome: verified, helps less than predicted, does not help, …
        before_s, after_s: seconds of the loop without and with it.
        times_as_fast: how many times as fast the loop is with it; at least ``least`` (95 %).
    """

    title: str
    outcome: str
    before_s: float | None
    after_s: float | None
    times_as_fast: float | None
    least: float | None


@dataclass(frozen=True, slots=True)
class Replacement:
    """Text in place of a part of a file: lines from 1, columns from 0, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    new_text: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A patch as reports show it.

    Attributes:
        title: what it does, as an imperative.
        file: as in the finding's locations.
        diff: as a unified diff, without secrets.
        behaviour: how the program behaves differently afterwards; empty if it computes the same.
        relies_on: what it takes for granted.
    """

    title: str
    file: str
    replacements: list[Replacement]
    diff: str
    behaviour: str = ""
    relies_on: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect: where it is, why it costs time, how much, and what to do.

    Attributes:
        severity_by_counts: the severity without regard to time: the same in each run of a program,
            on any machine. The gate uses it.
        subject: the operator or setting that it is about, which distinguishes findings of a rule
            on the same line; empty if there is only one.
        recurs: whether it keeps happening during a run, so that rates can be compared.
        compilations: numbers, in their process, of the compilations that it is about.
        place: if there are no locations: the program's label, or the function and the steps.
        about: what it judges. Findings about the run (settings, the capture) have no line, and not
            always a cost. Findings about the results mean that these are wrong, and come first.
        tried: a patch for it that was tried, if one was.
        suggestion: a patch for it, where patches were asked for and one can be made.
        fingerprint: computed from the rule, the file, the function and the line's code, so that it
            stays the same if the line moves.
    """

    rule: str
    name: str
    severity: Severity
    severity_by_counts: Severity
    title: str
    locations: list[Location]
    count: int
    per_step: float | None
    processes: list[str]
    cost: Cost
    saving: Saving
    cause: dict[str, Any]
    consequences: list[str]
    message: str
    why: str
    fix: str
    example: str
    fingerprint: str
    subject: str = ""
    recurs: bool = True
    compilations: list[int] = field(default_factory=list)
    place: str | None = None
    about: About = "loop"
    tried: Tried | None = None
    suggestion: Suggestion | None = None


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule that could not be evaluated, and why.

    Attributes:
        failed: whether the rule itself failed; otherwise the evidence lacks what it needs.
    """

    rule: str
    reason: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that a comment or the configuration ignores; fields of the finding and its line."""

    rule: str
    file: str
    line: int
    reason: str
    fingerprint: str = ""
    function: str | None = None
    source: str | None = None
    count: int = 0
    per_step: float | None = None
