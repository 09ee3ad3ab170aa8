"""The JSON Schema of ``xladoctor.toml``, from the models: for editors, and for the docs."""

from __future__ import annotations

from typing import Any

from xladoctor.configuration.interface import Configuration
from xladoctor.json_schema import described


def schema() -> dict[str, Any]:
    """The schema, as published in ``docs/configuration.schema.json``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **described(Configuration, null=False),
        "title": "xladoctor.toml",
        "description": "The same keys as [tool.xladoctor] of pyproject.toml.",
    }
