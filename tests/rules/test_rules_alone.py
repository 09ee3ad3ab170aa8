"""Nothing about a rule is known outside its file."""

from __future__ import annotations

import re
from pathlib import Path

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


def test_files_know_no_rule() -> None:
    knowing = {
        file: lines
        for file in FILES
        if (lines := KNOWN.findall((PACKAGE / file).read_text(encoding="utf-8")))
    }
    assert knowing == {}


def test_what_is_looked_for_is_what_rules_are_called() -> None:
    assert all(KNOWN.search(f'"{rule.id}"') and KNOWN.search(rule.name) for rule in RULES)
    assert KNOWN.search('startswith("XD7")')
    assert not KNOWN.search("XDG_CACHE_HOME")
