"""Each format's whole output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.report.formats import CASES, HOSTILE, hostile, rendered
from tests.report.snapshots import assert_as_before
from xladoctor.cli.output import parse_outputs
from xladoctor.report.interface import Style
from xladoctor.report.output import Color, Format, deliver

SNAPSHOTS = Path(__file__).parent / "format_snapshots"
FORMATS = ("sarif", "github", "github-summary", "gitlab", "junit", "markdown", "badge")
ENDINGS = {"sarif": "sarif", "gitlab": "json", "badge": "json", "junit": "xml"}
FILES = {
    f"{case}-{name}.{ENDINGS.get(name, 'txt')}": (name, case)
    for name in FORMATS
    for case in CASES
    if name != "sarif" or case in ("text", "gated")  # the longest; its schema is tested with all
}


def shown(name: str, case: str) -> str:
    """The output; of SARIF without the rules' texts, which are the rule pack's."""
    text = rendered(name, CASES[case])
    if name != "sarif":
        return text
    log = json.loads(text)
    for run in log["runs"]:
        for rule in run["tool"]["driver"]["rules"]:
            rule.pop("help", None)
            rule.pop("fullDescription", None)
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("file", FILES)
def test_output_is_as_it_was(file: str) -> None:
    text = shown(*FILES[file])
    assert_as_before(SNAPSHOTS / file, text)


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.name for path in SNAPSHOTS.iterdir()} == set(FILES)


def test_every_format_has_a_renderer_and_is_described() -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    assert set(Format) == {*FORMATS, "terminal", "json", "html"}  # test_html.py
    assert [name for name in Format if f"| `{name}` |" not in page] == []


def test_all_formats_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["terminal", *(f"{name}={tmp_path / name}" for name in FORMATS)]
    deliver(CASES["gated"], parse_outputs(words), Color.never)
    for name in FORMATS:
        written = (tmp_path / name).read_text(encoding="utf-8")
        assert written == rendered(name, CASES["gated"])
    assert "XD101" in capsys.readouterr().out


@pytest.mark.parametrize("name", FORMATS)
def test_output_is_the_same_each_time(name: str) -> None:
    assert rendered(name, CASES["several"]) == rendered(name, CASES["several"])


@pytest.mark.parametrize("name", FORMATS)
def test_output_for_an_encoding_without_unicode_is_ascii(name: str) -> None:
    assert rendered(name, CASES["several"], Style(unicode=False)).isascii()


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25, deadline=None)
@given(text=HOSTILE)
def test_whatever_a_program_says_can_be_written_to_a_file(name: str, text: str) -> None:
    written = rendered(name, [hostile(text)])
    assert written.encode()
    assert not [c for c in written if not c.isprintable() and c != "\n"]
