"""A comparison as JSON, field by field."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TextIO

from xladoctor.comparison.interface import Comparison
from xladoctor.foreign import as_json
from xladoctor.report.interface import Style


def render(comparison: Comparison, output: TextIO, style: Style) -> None:
    """Write it indented, numbers at full precision."""
    output.write(as_json(asdict(comparison), ascii_only=not style.unicode))


def schema() -> dict[str, Any]:
    """The JSON Schema of it, as published in ``docs/comparison.schema.json``."""
    from pydantic import TypeAdapter

    described = TypeAdapter(Comparison).json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "xladoctor comparison",
        **described,
    }
