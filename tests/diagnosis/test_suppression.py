"""Findings to ignore: comments in the source, files that the configuration names."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import Row, evidence, finding, location
from xladoctor.diagnosis.finding import Finding, Ignored
from xladoctor.diagnosis.interface import RuleOutcomes
from xladoctor.diagnosis.suppression import Suppression

FILE = "/home/ada/train.py"
HOME = {"cwd": "/home/ada", "root": "/home/ada"}
Split = tuple[list[Finding], list[Ignored]]


NOTHING = evidence({}, **HOME)


def suppress(findings: Sequence[Finding], globs: Any = (), rows: Sequence[Row] = ()) -> Split:
    run = evidence({"ignore_comment": rows}, **HOME) if rows else NOTHING
    return Suppression(run, dict(globs)).split(findings)


def asked(line: int, first: int, last: int, text: str, file: str = FILE) -> Row:
    return {
        "file": file,
        "line": line,
        "first_line": first,
        "last_line": last,
        "text": f"# xladoctor: {text}",
    }


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("# xladoctor: ignore[XD201] logged on purpose", "logged on purpose"),
        ("# xladoctor: ignore[XD201]", ""),
        ("#xladoctor:ignore[XD201]   why  ", "why"),
        ("# xladoctor: ignore[XD101, XD201] both", "both"),
        ("# xladoctor: ignore[XD2] the family", "the family"),
        ("# noqa: E501  # xladoctor: ignore[XD201] why", "why"),
    ],
)
def test_comment_on_the_line_suppresses_its_finding(comment: str, reason: str) -> None:
    source = f"    total += loss.item()  {comment}"
    assert suppress([finding(locations=[location(source=source)])]) == (
        [],
        [Ignored("XD201", "train.py", 41, reason, "XD201-0", "train", source, 40, 1.0)],
    )


@pytest.mark.parametrize(
    "source",
    [
        None,
        "",
        "total += loss.item()",
        "total += loss.item()  # xladoctor: ignore[XD202] another rule",
        "total += loss.item()  # xladoctor: ignore[] none",
        "total += loss.item()  # xladoctor: ignore[,] none",
        "total += loss.item()  # xladoctor: ignore",
        "total += loss.item()  # ignore[XD201]",
        "print('xladoctor: ignore[XD201]', loss)",
        "print('# xladoctor: ignore[XD201]', loss)",
    ],
)
def test_line_that_does_not_ask_for_it_is_reported(source: str | None) -> None:
    suppressed = finding(locations=[location(source=source)])
    assert suppress([suppressed]) == ([suppressed], [])


@pytest.mark.parametrize(("role", "suppressed"), [("caller", 1), ("made", 0), ("compiled", 0)])
def test_only_the_guilty_line_and_its_caller_can_ask(role: str, suppressed: int) -> None:
    other = location("mine.py", 9, role=role, source="x()  # xladoctor: ignore[XD201] why")
    kept, ignored = suppress([finding(locations=[location(), other])])
    assert (len(kept), len(ignored)) == (1 - suppressed, suppressed)


def test_finding_without_a_line_is_reported() -> None:
    assert suppress([finding(locations=[])])[1] == []


def test_other_findings_keep_their_order() -> None:
    asked = location(source="x  # xladoctor: ignore[XD203]")
    findings = [finding("XD201"), finding("XD203", locations=[asked]), finding("XD202")]
    assert suppress(findings)[0] == [findings[0], findings[2]]


# Comments that are not on the guilty line


@pytest.mark.parametrize(
    ("line", "rule", "reason"),
    [
        (40, "XD201", None),
        (41, "XD201", "why"),
        (43, "XD201", "why"),
        (44, "XD201", None),
        (41, "XD202", None),
    ],
)
def test_comment_counts_for_the_lines_that_it_is_about(
    line: int, rule: str, reason: str | None
) -> None:
    rows = [asked(40, 41, 43, "ignore[XD201] why")]
    kept, ignored = suppress([finding(rule, locations=[location(line=line)])], rows=rows)
    assert [each.reason for each in ignored] == ([] if reason is None else [reason])
    assert len(kept) == (reason is None)


def test_comment_of_another_file_does_not_count() -> None:
    rows = [asked(41, 41, 41, "ignore[XD201]", file="/home/ada/other.py")]
    assert suppress([finding()], rows=rows) == ([finding()], [])


def write(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A program in a repository that it ran in; what a run says of itself."""
    (tmp_path / ".git").mkdir()
    program = tmp_path / "train.py"
    program.write_text(text)
    os.utime(program, ns=(1000, 1000))
    monkeypatch.chdir(tmp_path)
    return {"cwd": str(tmp_path), "root": str(tmp_path), "began_ns": 1000}


HOST = {"process": [{"process": 0, "host": socket.gethostname()}]}


@pytest.mark.parametrize("began_ns", [1000, 999])
def test_comments_that_were_not_captured_are_read_from_a_file_as_it_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, began_ns: int
) -> None:
    origin = write(tmp_path, "# xladoctor: ignore[XD201] why\nx.item()\n", monkeypatch)
    run = evidence(HOST, **{**origin, "began_ns": began_ns})
    ignored = Suppression(run, {}).split([finding(locations=[location(line=2)])])[1]
    assert [each.reason for each in ignored] == ["why"] * (began_ns == 1000)


# Files that the configuration names


@pytest.mark.parametrize(
    ("glob", "file", "suppressed"),
    [
        ("third_party/**", "third_party/a/b.py", 1),
        ("third_party/**", "src/third_party/b.py", 1),
        ("third_party/**", "third_party.py", 0),
        ("train.py", "deep/train.py", 1),
        ("*.py", "train.py", 1),
        ("metrics_lib/*", "/env/site-packages/metrics_lib/__init__.py", 1),
        ("train.py", "retrain.py", 0),
        ("train.py", "/elsewhere/x/train.py", 1),
    ],
)
def test_configuration_suppresses_in_the_files_that_match(
    glob: str, file: str, suppressed: int
) -> None:
    found = finding(locations=[location(file=file)])
    kept, ignored = suppress([found], {"XD201": [glob]})
    assert [each.reason for each in ignored] == [f"as configured for {glob}"] * suppressed
    assert len(kept) == 1 - suppressed
    assert suppress([found], {"XD202": [glob]}) == ([found], [])


def test_comment_gives_the_reason_where_both_ask() -> None:
    found = finding(locations=[location(source="x  # xladoctor: ignore[XD201] why")])
    assert suppress([found], {"XD201": ["*"]})[1][0].reason == "why"


# Comments that are of no use any more

RAN = [{"file": FILE, "line": 41, "text": "x"}]
OUTCOMES = RuleOutcomes(["XD301"], ["XD201", "XD202"], ["XD101"], ["XD501"])


def unused(comment: Row, findings: Sequence[Finding] = (), **changes: Any) -> list[str]:
    tables = {"ignore_comment": [comment], "source_line": RAN, **changes.pop("tables", {})}
    suppression = Suppression(evidence(tables, **{**HOME, **changes}), {})
    suppression.split(findings)
    return suppression.notes(OUTCOMES.judged, ["XD101", "XD201", "XD202", "XD301", "XD501"])


def test_comment_without_a_finding_is_named() -> None:
    assert unused(asked(40, 41, 42, "ignore[XD201] why")) == [
        "unused ignore at train.py:40: XD201 did not fire"
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ignore XD201", "expected # xladoctor: ignore[RULE] reason"),
        ("Ignore[xd201] why", "expected # xladoctor: ignore[RULE] reason"),
        ("ignore[]", "expected # xladoctor: ignore[RULE] reason"),
        ("ignore[XD7, XD101, XD999] why", "no rule begins with XD7, XD999"),
    ],
)
def test_comment_that_cannot_be_followed_is_named(text: str, fault: str) -> None:
    assert unused(asked(50, 50, 50, text)) == [f"unclear ignore at train.py:50: {fault}"]


def test_names_without_a_finding_are_named_alone() -> None:
    assert unused(asked(41, 41, 41, "ignore[XD201, XD2, XD301]"), [finding("XD202")]) == [
        "unused ignore at train.py:41: XD201, XD301 did not fire"
    ]


@pytest.mark.parametrize("name", ["XD101", "XD1", "XD501", "XD", "ALL"])
def test_comment_whose_rules_were_not_all_judged_is_not_named(name: str) -> None:
    assert unused(asked(41, 41, 41, f"ignore[{name}]")) == []


@pytest.mark.parametrize(
    ("comment", "changes"),
    [
        (asked(50, 50, 50, "ignore[XD201]"), {}),
        (asked(41, 41, 41, "ignore[XD201]"), {"root": "/home/ada/other", "cwd": "/home/ada/other"}),
        (asked(41, 41, 41, "ignore[XD201]"), {"root": None, "cwd": None}),
    ],
    ids=["line that no evidence names", "file of somebody else", "repository not known"],
)
def test_comment_of_which_nothing_is_known_is_not_named(
    comment: Row, changes: dict[str, Any]
) -> None:
    assert unused(comment, **changes) == []


def test_comment_about_lines_without_end_takes_no_time() -> None:
    assert len(unused(asked(41, 0, 2**31 - 1, "ignore[XD201]"))) == 1


def test_line_that_only_led_to_a_library_ran() -> None:
    read = {
        "file": "/env/site-packages/lib.py",
        "line": 3,
        "user_file": FILE,
        "user_line": 50,
        "process": 0,
    }
    tables = {"host_sync": [read]}
    assert unused(asked(50, 50, 50, "ignore[XD201]"), tables=tables) == [
        "unused ignore at train.py:50: XD201 did not fire"
    ]
