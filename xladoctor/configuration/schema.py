"""The JSON Schema of ``xladoctor.toml``, from the models: for editors, and for the docs."""

from __future__ import annotations

from typing import Any

from xladoctor.configuration.interface import Configuration


def schema() -> dict[str, Any]:
    """The schema, as published in ``docs/configuration.schema.json``."""
    described: dict[str, Any] = _cleaned(Configuration.model_json_schema())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **described,
        "title": "xladoctor.toml",
        "description": "The same keys as [tool.xladoctor] of pyproject.toml.",
    }


def _cleaned(node: Any) -> Any:
    """Without null, which TOML lacks, and without titles and defaults that say nothing."""
    if isinstance(node, list):
        return [_cleaned(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _cleaned(value) for key, value in node.items() if not _is_noise(key, value)}
    kinds = kept.get("anyOf", [])
    if {"type": "null"} in kinds:
        kept["anyOf"] = [kind for kind in kinds if kind != {"type": "null"}]
    if len(kept.get("anyOf", [])) == 1:
        kept.update(kept.pop("anyOf")[0])
    if "patternProperties" in kept:  # other keys are refused
        kept["additionalProperties"] = False
    return kept


def _is_noise(key: str, value: Any) -> bool:
    """A title that pydantic made from the name, or the default of what is absent or a table."""
    return (key == "title" and isinstance(value, str)) or (
        key == "default" and (value is None or isinstance(value, dict))
    )
