"""JSON Schemas of files that people write, from the models: for editors, and for the docs."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def described(model: type[BaseModel], *, null: bool) -> dict[str, Any]:
    """The schema of a model, without meaningless parts.

    Args:
        null: whether the files can contain null; TOML cannot.
    """
    cleaned: dict[str, Any] = _cleaned(model.model_json_schema(), null)
    return cleaned


def _cleaned(node: Any, null: bool) -> Any:
    if isinstance(node, list):
        return [_cleaned(item, null) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _cleaned(value, null) for key, value in node.items() if not _is_noise(key, value)}
    kinds = kept.get("anyOf", [])
    if not null and kinds:
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
