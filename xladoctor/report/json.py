"""The JSON report: the diagnosis, field by field. The contract with other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, TextIO

from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.traits import Traits
from xladoctor.foreign import as_json
from xladoctor.gate.interface import GateOutcome
from xladoctor.report.interface import Report, Style


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write the report, indented, numbers at full precision; several are an array."""
    all_contents = [contents(report) for report in reports]
    written = all_contents if len(all_contents) > 1 else all_contents[0]
    output.write(as_json(written, ascii_only=not style.unicode))


def contents(report: Report) -> dict[str, Any]:
    """The diagnosis, field by field, and the gate's decision as ``gate``."""
    outcome = report.outcome
    fields = asdict(replace(report.diagnosis, pack={}, pictures=None, traits=Traits()))
    del fields["pack"], fields["pictures"], fields["traits"]
    return fields if outcome is None else {**fields, "gate": asdict(outcome)}


def schema() -> dict[str, Any]:
    """The JSON Schema of the report, as published in ``docs/report.schema.json``."""
    from pydantic import TypeAdapter

    described = TypeAdapter(Diagnosis).json_schema(mode="serialization")
    gate = TypeAdapter(GateOutcome).json_schema(mode="serialization")
    described["$defs"].update({**gate.pop("$defs"), "GateOutcome": gate})
    described["properties"]["gate"] = {"$ref": "#/$defs/GateOutcome"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "xladoctor report",
        **described,
    }
