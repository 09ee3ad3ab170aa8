"""The JSON report: the diagnosis, field by field. The contract with other programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TextIO

from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.report.interface import Style


def render(diagnosis: Diagnosis, output: TextIO, style: Style) -> None:
    """Write the report, indented, numbers at full precision."""
    json.dump(asdict(diagnosis), output, indent=1, ensure_ascii=not style.unicode)
    output.write("\n")


def schema() -> dict[str, Any]:
    """The JSON Schema of the report, as published in ``docs/report.schema.json``."""
    from pydantic import TypeAdapter

    described = TypeAdapter(Diagnosis).json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "xladoctor report",
        **described,
    }
