"""Nothing about a rule is known outside its file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xladoctor.diagnosis.pack import load_rules

PACKAGE = Path(__file__).parents[2] / "xladoctor"
RULES = load_rules()
FILES = sorted(
    str(path.relative_to(PACKAGE))
    for kind in ("py", "sql", "yaml")
    for path in PACKAGE.rglob(f"*.{kind}")
)
#: An id, a family, or the letters that ids begin with, as a word or in quotes.
KNOWN = re.compile(
    "|".join({rf"\b{re.match('[A-Z]+', rule.id)[0]}(\d|\b)" for rule in RULES})  # type: ignore[index]
    + "|"
    + "|".join(rf"\b{re.escape(rule.name)}\b" for rule in RULES)
)


@pytest.mark.parametrize("file", FILES)
def test_file_knows_no_rule(file: str) -> None:
    lines = (PACKAGE / file).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if KNOWN.search(line)] == []


def test_what_is_looked_for_is_what_rules_are_called() -> None:
    assert all(KNOWN.search(f'"{rule.id}"') and KNOWN.search(rule.name) for rule in RULES)
    assert KNOWN.search('startswith("XD7")')
    assert not KNOWN.search("XDG_CACHE_HOME")
