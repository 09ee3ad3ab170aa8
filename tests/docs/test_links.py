"""Links of the pages that the repository's host shows. `make site` checks those of docs/."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md"]
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page: str) -> None:
    for target, heading in _LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        file = (ROOT / page).parent / target
        assert file.exists(), target
        assert "docs/rules" not in target, f"{target} is made for the site alone"
        if heading:
            assert heading in headings(file), f"{target}#{heading}"


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in found}
