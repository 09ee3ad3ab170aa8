"""The baseline: known findings, in a file that is reviewed like code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.frequency import Frequency, growth
from xladoctor.diagnosis.identity import Sighting, same, sightings
from xladoctor.diagnosis.interface import Diagnosis, RunFacts
from xladoctor.diagnosis.rule import Severity
from xladoctor.diagnosis.sharding_changes import ProgramShardings
from xladoctor.gate.interface import GateError, StaleEntry
from xladoctor.gate.seen import unseen
from xladoctor.gate.shardings import recorded
from xladoctor.regular_files import read_text
from xladoctor.repository import portable
from xladoctor.whole_files import alone_in, write_text

VERSION = 2  # 1 without shardings
_MODEL = ConfigDict(extra="forbid", frozen=True, strict=True)
_AGAIN = (
    "take either side of a merge conflict, or else remove the file, then: xladoctor gate"
    " --update-baseline"
)


class BaselineEntry(BaseModel):
    """A known finding.

    Attributes:
        file, function, code: its location; ``file`` is the same on every machine.
        count: occurrences in the script's ``steps``.
    """

    model_config = _MODEL
    fingerprint: str
    rule: str
    severity: Severity
    file: str | None = None
    function: str | None = None
    code: str = ""
    count: int = Field(ge=0)
    per_step: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @property
    def sighting(self) -> Sighting:
        """The entry in the form that identity is decided by."""
        return Sighting(
            self.fingerprint,
            self.rule,
            None,
            self.file,
            self.function,
            self.code,
            self.count,
            self.per_step,
        )


class Script(BaseModel):
    """The known findings of one program, and the shardings of what it compiles."""

    model_config = _MODEL
    steps: int | None = Field(ge=0)
    findings: list[BaselineEntry]
    shardings: dict[str, ProgramShardings] | None = None

    @field_validator("findings")
    @classmethod
    def _once_each(cls, value: list[BaselineEntry]) -> list[BaselineEntry]:
        if (twice := _twice(entry.fingerprint for entry in value)) is not None:
            raise ValueError(f"{twice} appears twice")
        return value


class Baseline(BaseModel):
    """The file: programs by their paths in the repository."""

    model_config = _MODEL
    tool: Literal["xladoctor"]
    schema_version: int
    scripts: dict[str, Script] = Field(default_factory=dict)


def read(path: Path) -> Baseline:
    """Read the baseline; empty if there is no file.

    Raises:
        GateError: the file cannot be read, is not a baseline, or has a newer version.
    """
    try:
        text = read_text(path)
    except FileNotFoundError:
        return Baseline(tool="xladoctor", schema_version=1)
    except (OSError, UnicodeDecodeError) as error:
        raise GateError(f"{path}: the baseline cannot be read: {error}", _AGAIN) from error
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise GateError(f"{path}: the baseline is not JSON: {error}", _AGAIN) from error
    if not isinstance(document, dict) or document.get("tool") != "xladoctor":
        raise GateError(f"{path}: not an xladoctor baseline", _AGAIN)
    version = document.get("schema_version")
    if type(version) is not int or version < 1:
        raise GateError(f"{path}: not a baseline: schema_version: {version!r}", _AGAIN)
    if version > VERSION:
        raise GateError(
            f"{path}: the baseline has version {version}; this xladoctor reads version {VERSION}",
            "install the xladoctor that wrote it",
        )
    try:
        return Baseline.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise GateError(f"{path}: not a baseline: {where}: {first['msg']}", _AGAIN) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without repeated keys: after a merge the second would hide the first."""
    if (twice := _twice(name for name, _ in pairs)) is not None:
        raise ValueError(f"{twice!r} appears twice")
    return dict(pairs)


def _twice(names: Iterable[str]) -> str | None:
    """The first of the names that occurs again."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def update(path: Path, change: Callable[[Baseline], Baseline]) -> Baseline:
    """Replace the baseline with what ``change`` makes of it, and return that.

    It is read anew, and nobody else updates it meanwhile: of two updates at once none is lost.

    Raises:
        GateError: as :func:`read`, or it cannot be written.
    """
    try:
        with alone_in(path.parent):
            baseline = change(read(path))
            write(path, baseline)
    except OSError as error:
        raise GateError(f"{path}: the baseline cannot be written: {error.strerror}") from error
    return baseline


def write(path: Path, baseline: Baseline) -> None:
    """Write it sorted, one value per line, so that merges stay readable. Raises OSError."""
    document = baseline.model_dump(mode="json")
    document["scripts"] = dict(sorted(document["scripts"].items()))
    divided = any(each.shardings is not None for each in baseline.scripts.values())
    document["schema_version"] = VERSION if divided else 1
    for script in document["scripts"].values():
        if script["shardings"] is None:
            del script["shardings"]
        script["findings"].sort(
            key=lambda known: (
                known["file"] or "",
                known["rule"],
                known["code"],
                known["fingerprint"],
            )
        )
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def entry(finding: Finding, severity: Severity, run: RunFacts) -> BaselineEntry:
    """A finding as the baseline stores it."""
    place = finding.locations[0] if finding.locations else None
    return BaselineEntry(
        fingerprint=finding.fingerprint,
        rule=finding.rule,
        severity=severity,
        file=portable(place.file, run.cwd, run.root) if place else None,
        function=place.function if place else None,
        code=" ".join((place.source or "").split()) if place else "",
        count=finding.count,
        per_step=finding.per_step,
    )


def known(script: Script | None, diagnosis: Diagnosis) -> dict[str, BaselineEntry]:
    """The entry of each finding that has one, ignored or not, by the finding's fingerprint."""
    entries = {entry.fingerprint: entry for entry in (script.findings if script else ())}
    pairs = same([entry.sighting for entry in entries.values()], sightings(diagnosis))
    return {now: entries[then] for now, then in pairs.items()}


def stale_entries(script: Script | None, diagnosis: Diagnosis) -> list[StaleEntry]:
    """Entries that no longer occur, even as ignored findings; certain if their rule was judged."""
    present = {entry.fingerprint for entry in known(script, diagnosis).values()}
    judged = set() if unseen(diagnosis) else {*diagnosis.rules.fired, *diagnosis.rules.clear}
    return [
        StaleEntry(entry.fingerprint, entry.rule, entry.file, entry.code, entry.rule in judged)
        for entry in (script.findings if script else ())
        if entry.fingerprint not in present
    ]


def is_more(
    finding: Finding, known: BaselineEntry, steps: int | None, known_steps: int | None
) -> bool:
    """Whether a finding occurs more often than before."""
    before = Frequency(finding.recurs, known.count, known.per_step, known_steps)
    return growth(before, Frequency(finding.recurs, finding.count, finding.per_step, steps)) > 0


def merged(
    baseline: Baseline,
    name: str,
    diagnosis: Diagnosis,
    entries: Sequence[BaselineEntry],
    judges: Callable[[str], bool] = lambda rule: True,
) -> Baseline:
    """The baseline with one program's entries replaced; entries that could not be judged stay.

    Args:
        baseline: the baseline so far.
        judges: whether the gate judges a rule, given its id.
    """
    before = baseline.scripts.get(name)
    unknown = {entry.fingerprint for entry in stale_entries(before, diagnosis) if not entry.certain}
    unknown -= {entry.fingerprint for entry in entries}
    kept = [
        entry
        for entry in (before.findings if before else ())
        if entry.fingerprint in unknown or not judges(entry.rule)
    ]
    script = Script(
        steps=diagnosis.steps.count if diagnosis.steps else None,
        findings=[*entries, *kept],
        shardings=before.shardings
        if before and diagnosis.shardings is None
        else recorded(diagnosis),
    )
    return baseline.model_copy(update={"scripts": {**baseline.scripts, name: script}})
