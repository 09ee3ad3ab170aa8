"""The baseline: findings that were there before, in a file that is reviewed like code."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from xladoctor.diagnosis.frequency import Often, growth
from xladoctor.diagnosis.interface import Diagnosis, Finding, RunFacts, Severity
from xladoctor.diagnosis.pairing import paired
from xladoctor.gate.interface import GateError, Gone
from xladoctor.gate.seen import unseen
from xladoctor.repository import portable

VERSION = 1
_MODEL = ConfigDict(extra="forbid", frozen=True, strict=True)
_AGAIN = "remove the file (or take one side of a merge), then: xladoctor gate --update-baseline"


class Known(BaseModel):
    """A finding that was there.

    Attributes:
        file, function, code: where it was, for people: it is known by its fingerprint.
        count: how often it was, in so many steps as the script's ``steps``.
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


class Script(BaseModel):
    """What was there in one program."""

    model_config = _MODEL
    steps: int | None = Field(ge=0)
    findings: list[Known]

    @field_validator("findings")
    @classmethod
    def _once_each(cls, value: list[Known]) -> list[Known]:
        names = [one.fingerprint for one in value]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"{twice} is there twice")
        return value


class Baseline(BaseModel):
    """The file: a program each, by its path in the repository."""

    model_config = _MODEL
    tool: Literal["xladoctor"]
    schema_version: int
    scripts: dict[str, Script] = Field(default_factory=dict)


def read(path: Path) -> Baseline:
    """The baseline; an empty one where there is no file.

    Raises:
        GateError: it cannot be read, is not a baseline, or is of a newer version.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Baseline(tool="xladoctor", schema_version=VERSION)
    except (OSError, UnicodeDecodeError) as error:
        raise GateError(f"{path}: the baseline cannot be read: {error}", _AGAIN) from error
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise GateError(f"{path}: the baseline is not JSON: {error}",
                        f"a merge may have torn it; {_AGAIN}") from error  # fmt: skip
    if not isinstance(document, dict) or document.get("tool") != "xladoctor":
        raise GateError(f"{path}: not a baseline of xladoctor", _AGAIN)
    version = document.get("schema_version")
    if type(version) is not int or version < 1:
        raise GateError(f"{path}: not a baseline: schema_version: {version!r}", _AGAIN)
    if version > VERSION:
        raise GateError(f"{path}: the baseline is of version {version}, this xladoctor reads"
                        f" version {VERSION}", "install the xladoctor that wrote it")  # fmt: skip
    try:
        return Baseline.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise GateError(f"{path}: not a baseline: {where}: {first['msg']}", _AGAIN) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are there once: after a merge the second would hide the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"{next(name for name in names if names.count(name) > 1)!r} is there twice"
        )
    return found


def write(path: Path, baseline: Baseline) -> None:
    """Write it sorted, a value a line, so that merges of branches stay readable."""
    document = baseline.model_dump(mode="json")
    document["scripts"] = dict(sorted(document["scripts"].items()))
    for script in document["scripts"].values():
        script["findings"].sort(key=lambda one: (one["file"] or "", one["rule"], one["code"],
                                                 one["fingerprint"]))  # fmt: skip
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise GateError(f"{path}: the baseline cannot be written: {error.strerror}") from error


def entry(finding: Finding, severity: Severity, run: RunFacts) -> Known:
    """A finding as the baseline keeps it."""
    file, function = _place(finding, run) or (None, None)
    source = finding.locations[0].source if finding.locations else None
    return Known(
        fingerprint=finding.fingerprint, rule=finding.rule, severity=severity,
        file=file, function=function, code=" ".join((source or "").split()),
        count=finding.count, per_step=finding.per_step,
    )  # fmt: skip


def known(script: Script | None, diagnosis: Diagnosis) -> dict[str, Known]:
    """The entry of each finding that has one, by the finding's fingerprint.

    That is the one of its fingerprint; else, where of a rule exactly one finding in a function is
    without entry, and one entry without finding, that one: the line was edited.
    """
    entries = {one.fingerprint: one for one in (script.findings if script else ())}
    found = {one.fingerprint: entries[one.fingerprint] for one in diagnosis.findings
             if one.fingerprint in entries}  # fmt: skip
    seen = found.keys() | {one.fingerprint for one in diagnosis.ignored}
    edited = paired(
        (one for one in entries.values() if one.fingerprint not in seen),
        (one for one in diagnosis.findings if one.fingerprint not in found),
        lambda entry: (entry.rule, entry.file, entry.function) if entry.file else None,
        lambda new: (new.rule, *place) if (place := _place(new, diagnosis.run)) else None,
    )
    return found | {new.fingerprint: entry for entry, new in edited}


def _place(finding: Finding, run: RunFacts) -> tuple[str, str | None] | None:
    """File, as seen from the repository, and function."""
    at = finding.locations[0] if finding.locations else None
    return (portable(at.file, run.cwd, run.root), at.function) if at else None


def gone(script: Script | None, diagnosis: Diagnosis) -> list[Gone]:
    """Entries that do not occur, not even suppressed; certain where their rule was judged."""
    present = {one.fingerprint for one in known(script, diagnosis).values()}
    present |= {suppressed.fingerprint for suppressed in diagnosis.ignored}
    judged = set() if unseen(diagnosis) else {*diagnosis.rules.fired, *diagnosis.rules.clear}
    return [
        Gone(one.fingerprint, one.rule, one.file, one.code, one.rule in judged)
        for one in (script.findings if script else ()) if one.fingerprint not in present
    ]  # fmt: skip


def is_more(finding: Finding, known: Known, steps: int | None, known_steps: int | None) -> bool:
    """Whether a finding occurs more often than it did."""
    before = Often(known.rule, known.count, known.per_step, known_steps)
    return growth(before, Often(finding.rule, finding.count, finding.per_step, steps)) > 0


def merged(
    baseline: Baseline, name: str, diagnosis: Diagnosis, found: Sequence[Known],
    judges: Callable[[str], bool] = lambda rule: True,
) -> Baseline:  # fmt: skip
    """The baseline with one program's entries replaced; those that could not be judged stay.

    Args:
        found: the new entries.
        judges: whether the gate goes by a rule, given its id.
    """
    before = baseline.scripts.get(name)
    unknown = {one.fingerprint for one in gone(before, diagnosis) if not one.certain}
    kept = [one for one in (before.findings if before else ())
            if one.fingerprint in unknown or not judges(one.rule)]  # fmt: skip
    script = Script(steps=diagnosis.steps.count if diagnosis.steps else None,
                    findings=[*found, *kept])  # fmt: skip
    return baseline.model_copy(update={"scripts": {**baseline.scripts, name: script}})
