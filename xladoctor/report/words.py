"""Texts about a run and a finding, the same in every format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath, PureWindowsPath

from xladoctor.diagnosis.finding import NEXT_TO_NOTHING, Finding, Ignored, NotChecked
from xladoctor.diagnosis.interface import CountName, Diagnosis, RunFacts, Steps, TimeSpent
from xladoctor.diagnosis.reach import signal_name
from xladoctor.diagnosis.verdict import LIMITS, NOTHING
from xladoctor.facts.parts import PARTS, PartName
from xladoctor.foreign import quoted
from xladoctor.quantities import counted, duration, first_few, percent
from xladoctor.recording.interface import RUNS
from xladoctor.repository import short, spot

#: The role of a location in its finding, in words; empty for the guilty line.
ROLES = {
    "caller": "called from",
    "made": "made at",
    "used": "first used at",
    "compiled": "compiled at",
    "due": "the barrier to keep:",
    "loop": "a barrier belongs in the loop at",
    "closure": "a barrier belongs in the function at",
    "left": "left unread at",
    "launched": "launched at",
    "collated": "batches are put together at",
    "operation": "operation at",
}
#: The gate's judgement of a finding, in words.
STATES = {
    "new": "new",
    "worse": "worse",
    "known": "known",
    "acknowledged": "acknowledged",
    "tolerated": "let pass",
    "not_judged": "not judged",
}
#: What came of a patch that was tried, as the end of a sentence about it.
_OUTCOMES = {"verified": "is verified", "fails": "breaks the program", "not tried": "was not tried"}
#: What is counted, and the unit behind its value.
COUNTS: dict[CountName, tuple[str, str]] = {
    "compilations_after_warmup": ("compilations after warm-up", ""),
    "host_syncs_per_step": ("host reads", " a step"),
    "fallbacks_per_step": ("operators on the CPU", " a step"),
    "barriers_per_step": ("barriers", " a step"),
    "step_ms": ("median step", " ms"),
    "cache_misses": ("graphs not found in the cache on disk", ""),
    "peak_memory": ("peak memory of a graph", ""),
    "live_growth_per_step": ("growth of live memory", " a step"),
    "hbm_share": ("peak of a TPU's memory", ""),
    "padding_share": ("padding on a TPU", ""),
    "graphs_too_large": ("graphs too large for a TPU", ""),
    "resharded_bytes_per_step": ("received by a device for resharding", " a step"),
    "replicated_share": ("large arguments that each device has whole", ""),
    "sharding_changes": ("changes of shardings since the baseline", ""),
}
_FIRST_PART = re.compile(r"[,;:]| \(")  # ends the first part of a reason: what is missing
_REASONS = 2
_UNEXPLAINED = "time that no finding explains:"
_BASIS = {
    "measured": "",
    "estimate": "about ",
    "bound": "at most ",
    "least": "at least ",
    "none": "",
}
#: Time until the first step had ended, by what it was spent on; empty for lines of the program.
_SPENT_ON = {
    "import": "import of {}",
    "backend": "start of the backend",
    "tracing": "tracing",
    "compile": "compiling",
    "cache": "reading compiled graphs from the cache",
    "other": "",
}
#: Seconds from which it is shown: as a large share of the run, and in any run.
_LONG_START_S, _ANY_START_S = 5.0, 30.0
_MUCH_OF_RUN, _UNSEEN = 0.2, 0.05
_ONCE = "a one-off cost: a longer run loses no more"
_LESS = 0.8  # if better fixes leave less than this share of a saving, the report says so


def part_name(part: PartName, diagnosis: Diagnosis) -> str:
    """What a part of the time is called: nothing comes after a loop where no steps are known."""
    return "exit" if part == "after" and diagnosis.steps is None else PARTS[part].label


def amount(name: CountName, value: float | None) -> str:
    """A count's value with its unit: ``0.425 a step``, ``12.1 ms``, ``310 MB``."""
    if value is None:
        return "not known"
    return f"{number(name, value)}{COUNTS[name][1]}"


def number(name: CountName, value: float) -> str:
    """The same without a step's or a time's unit: ``1,024``, ``0.425``, ``310 MB``."""
    if name in ("peak_memory", "live_growth_per_step", "resharded_bytes_per_step"):
        for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
            if value >= size:
                return f"{value / size:.4g} {unit}"
        return f"{value:.0f} B"
    if name in ("hbm_share", "padding_share", "replicated_share"):
        return percent(value)
    if name == "step_ms":  # is measured, to no more digits than these
        value = float(f"{value:.4g}")
    return f"{value:,.10g}"


def name_of(run: RunFacts) -> str:
    """The main script, or the file that was read: nothing that differs from machine to machine."""
    if run.script and not run.script.startswith("/"):
        return run.script
    return PureWindowsPath(run.script or run.path).name


def program(run: RunFacts) -> list[str]:
    """What ran, on what, and how it ended."""
    interpreted = Path(run.command[0]).name.startswith("python") if run.command else False
    words = run.command[1:] if interpreted else run.command
    if words and run.script and words[0].endswith(f"/{run.script}"):
        words = [run.script, *words[1:]]
    words = [word.removeprefix(f"{run.root or run.cwd}/") for word in words]
    command = quoted(*words)
    facts = [command or run.path]
    if run.device:
        several = run.processes == 1 and run.devices > 1
        facts.append(run.device + (f" × {run.devices}" if several else ""))
    if run.processes > 1:
        facts.append(f"{run.processes} processes")
    if version := framework(run):
        facts.append(version)
    if run.signal:
        facts.append(f"ended by {signal_name(run.signal)}")
    elif run.status:
        facts.append(f"exit status {run.status}")
    elif run.running:
        facts.append("still running")
    return facts


def framework(run: RunFacts) -> str | None:
    """The framework that was captured and its version, where both are known."""
    version = run.versions.get(run.frontend) if run.frontend else None
    return f"{run.frontend} {version}" if version else None


def unexplained(time: TimeSpent) -> list[str]:
    """The unexplained time: a heading, and a line for each part."""
    if not time.unexplained:
        return []
    rows = [_UNEXPLAINED]
    for part in time.unexplained:
        at = ", ".join(
            f"{short(line.file)}:{line.line} {duration(line.seconds)}" for line in part.lines
        )
        rows.append(f"  {PARTS[part.part].label} {duration(part.seconds)}{': ' if at else ''}{at}")
    return rows


def unexplained_in_short(time: TimeSpent) -> str:
    """The same in a sentence: each part with its hottest line, if that is known."""
    parts = []
    for part in time.unexplained:
        at = "".join(f" ({spot(line.file, line.line)})" for line in part.lines[:1])
        parts.append(f"{PARTS[part.part].label} {duration(part.seconds)}{at}")
    return f"{_UNEXPLAINED} {', '.join(parts)}"


def start_up(time: TimeSpent) -> list[str]:
    """What happened until the first step had ended, if that took long: a heading, and a line for
    each.
    """
    began = time.start_up
    share = began.seconds / time.whole_s if began and time.whole_s else 0.0
    if began is None or began.seconds < (_LONG_START_S if share >= _MUCH_OF_RUN else _ANY_START_S):
        return []
    end = "until the end of the first step" if began.stepped else "the run, without any step"
    rows = [f"{end}, {duration(began.seconds)}:"]
    for spent in began.spent:
        at = f"{short(spent.file)}:{spent.line}" if spent.file else "a line that is not known"
        what = _SPENT_ON[spent.what].format(spent.package)
        said = f"{what} ({at})" if what else at
        if spent.read_bytes:
            said += f", {amount('peak_memory', spent.read_bytes)} read,"
        rows.append(f"  {said} {duration(spent.seconds)}")
    if began.seconds - began.seen_s >= _UNSEEN * began.seconds:
        rows.append(f"  not recorded {duration(began.seconds - began.seen_s)}")
    return rows


def steps_of(steps: Steps) -> list[str]:
    """How many steps, and how long they took."""
    text = counted(steps.count, "step")
    if steps.warmup:
        text += f", {steps.warmup} of them warm-up"
    if steps.ends:
        ends = [
            f"{each.count:,} end at {spot(each.file, each.line)}"
            f" (median {duration(each.median_ms / 1e3)})"
            for each in steps.ends
        ]
        return [f"{text}: {', '.join(ends)}"]
    median = steps.median_ms
    return [text] if median is None else [text, f"median step {duration(median / 1e3)}"]


def outcomes(diagnosis: Diagnosis) -> str:
    """How many rules had which outcome."""
    rules = diagnosis.rules
    text = (
        f"{counted(len(rules.fired), 'rule')} fired, {len(rules.clear)} clear,"
        f" {len(rules.not_evaluated)} not evaluated"
    )
    if ignored := len(diagnosis.ignored):
        text += f", {counted(ignored, 'finding')} ignored"
    return f"{text}, {len(rules.off)} switched off" if rules.off else text


def clean(diagnosis: Diagnosis) -> str | None:
    """What limits the program, if the verdict is, without reserve, that there is nothing to fix."""
    if diagnosis.findings or diagnosis.verdict.bound_by == "unknown":
        return None
    limit, end, rest = diagnosis.verdict.text.rpartition(f"; {NOTHING}.")
    return limit if end and not rest else None


def judged_of(diagnosis: Diagnosis) -> str:
    """How many rules could be judged: ``54 of 62 rules could be judged and are clear``."""
    clear, skipped = len(diagnosis.rules.clear), len(diagnosis.rules.not_evaluated)
    return f"{clear} of {clear + skipped} rules could be judged and are clear"


def ignored_ones(ignored: Iterable[Ignored], shown: Callable[[str], str] = str) -> list[str]:
    """The findings that are ignored, and why.

    Args:
        shown: how a file is shown.
    """
    return [
        f"{item.rule} ignored at {shown(item.file)}:{item.line}: {item.reason or 'no reason given'}"
        for item in ignored
    ]


def unjudged(skipped: Iterable[NotChecked]) -> list[str]:
    """The rules that could not be judged, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for rule in skipped:
        reasons.setdefault(rule.reason, []).append(rule.rule)
    return [f"{', '.join(ids)} not evaluated: {reason}" for reason, ids in reasons.items()]


def unjudged_in_short(skipped: Sequence[NotChecked]) -> list[str]:
    """The same in a sentence: what most of them lack; in full only the rules that failed."""
    failed = [rule for rule in skipped if rule.failed]
    lacks = Counter(_FIRST_PART.split(rule.reason)[0] for rule in skipped if not rule.failed)
    said = unjudged(failed)
    if lacks:
        most = [f"{reason} ({count})" for reason, count in lacks.most_common(_REASONS)]
        others = lacks.total() - sum(count for _, count in lacks.most_common(_REASONS))
        if others:
            most.append(f"{others} more")
        said.append(f"not evaluated: {'; '.join(most)}")
    return said


def gain_of(finding: Finding) -> str:
    """What fixing it saves, or else what it costs, in a word or two; empty if unknown."""
    saving, cost = finding.saving, finding.cost
    if saving.is_next_to_nothing:
        return "next to nothing"
    if saving.seconds is not None:
        return f"{_BASIS[saving.basis]}{duration(saving.seconds)}"
    return f"costs {_BASIS[cost.basis]}{duration(cost.seconds)}" if cost.seconds else ""


def cost_of(finding: Finding, diagnosis: Diagnosis) -> str:
    """The cost, how certain it is, how often it happens, and where; empty if nothing is known."""
    parts = []
    cost, saving = finding.cost, finding.saving
    if cost.seconds is not None:
        base = diagnosis.time.base
        share = f" ({percent(cost.share)} of the {base})" if cost.share is not None else ""
        parts.append(f"costs {_BASIS[cost.basis]}{duration(cost.seconds)}{share}")
    elif finding.about == "loop":
        parts.append("cost not known from this evidence")
    if cost.basis == "bound" and saving.basis == "estimate":  # "at most", and then less
        parts.append(f"a fix saves {gain_of(finding)}")
    elif saving.basis == "bound" and saving.next_1000_s == 0.0:
        parts.append(_ONCE)
    elif saving.basis == "bound" and saving.per_step_ms is not None:
        parts.append(f"a fix saves at most {duration(saving.per_step_ms / 1e3)} a step")
    if finding.count > 1:
        parts.append(times(finding.count, finding.per_step))
    if where := _processes_of(finding, diagnosis):
        parts.append(where)
    return "; ".join(parts)


def _processes_of(finding: Finding, diagnosis: Diagnosis) -> str:
    """Which processes have it, if that is worth saying."""
    if diagnosis.pod is None:
        several = len(finding.processes) > 1
        return f"processes {', '.join(finding.processes)}" if several else ""
    names = {process.process: process.name for process in diagnosis.pod.processes}
    named = [names.get(process, process) for process in finding.processes]
    if len(named) == len(names):
        return "both processes" if len(names) == 2 else f"all {len(names)} processes"
    return f"on {first_few(named)}"


def times(count: int, per_step: float | None) -> str:
    """How often, in all and a step: ``384 times, 3 a step``."""
    if per_step is None:
        return f"{count} times"
    rate = f"{per_step:,.0f}" if per_step >= 10 else f"{per_step:.2g}"
    return f"{count} times, {rate} a step"


def place_of(finding: Finding) -> str | None:
    """Where it is, if it has no lines: nothing for what is about the run as a whole."""
    unknown = "no line in this evidence" if finding.about != "run" else None
    return finding.place or unknown


def saving_of(finding: Finding, diagnosis: Diagnosis) -> str | None:
    """The fix's saving by the replay, per step and in the run; None if there is none."""
    saving, loop_s = finding.saving, diagnosis.time.loop_s
    if saving.basis != "estimate" or saving.seconds is None:
        return None
    then = f"limited by {LIMITS[saving.limited_by]}" if saving.limited_by else ""
    if saving.is_next_to_nothing:  # a longer run has more steps
        return f"saves next to nothing on its own: a step stays {then}" if then else None
    if then and diagnosis.verdict.limited_by not in (None, saving.limited_by):
        then += ", with this fix alone"
    parts = []
    if saving.now_ms is not None and saving.after_ms is not None:
        now, after = duration(saving.now_ms / 1e3), duration(saving.after_ms / 1e3)
        parts.append(
            f"average step {now} → {after}" if now != after else f"average step still {now}"
        )
    if saving.outside_loop:
        parts.append(f"{duration(saving.seconds)} outside the loop saved")
    elif loop_s:
        parts.append(f"the loop {duration(loop_s)} → {duration(max(0.0, loop_s - saving.seconds))}")
    text = f"{', '.join(parts)} (estimate)"
    if saving.remaining_s is not None and saving.remaining_s < _LESS * saving.seconds:
        little = saving.remaining_s < NEXT_TO_NOTHING * (loop_s or 0.0)
        left = "none" if little else duration(saving.remaining_s)
        text += f", {left} of it after the fixes above"
    if saving.next_1000_s is not None:
        more = saving.next_1000_s
        text += f"; saves another {duration(more)} per 1,000 steps" if more else f"; {_ONCE}"
    if saving.projected_s is not None:
        text += f"; {duration(saving.projected_s)} in {diagnosis.total_steps} steps"
    return f"{text}; then {then}" if then else text


def known_as(path: str) -> str:
    """The name by which commands find evidence: of a kept run, which is shorter than its path."""
    own = PurePath(path)
    return quoted(own.name if own.parent == PurePath(RUNS) else path)


def tried(finding: Finding) -> str:
    """What came of a patch for a finding, as a sentence; empty if none was tried."""
    trial = finding.tried
    if trial is None:
        return ""
    text = f"a patch ({trial.title}) {_OUTCOMES.get(trial.outcome, trial.outcome)}"
    if trial.before_s and trial.after_s and trial.times_as_fast:
        least = f", at least {trial.least:.3g}" if trial.least else ""
        text += (
            f": the loop took {duration(trial.before_s)} without it and"
            f" {duration(trial.after_s)} with it ({trial.times_as_fast:.3g} times as fast{least})"
        )
    return sentence(text)


def sentence(text: str) -> str:
    """A phrase as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."
