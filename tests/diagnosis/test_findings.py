"""From rows to findings: merged by line, with cost, message and fingerprint."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support import Row, Tables, evidence, rule
from xladoctor.diagnosis.finding import Cost, Finding, Location
from xladoctor.diagnosis.findings import from_rows
from xladoctor.diagnosis.interface import Steps, TimeSpent
from xladoctor.diagnosis.rule import RuleError
from xladoctor.diagnosis.same_call import joined
from xladoctor.diagnosis.savings import Savings
from xladoctor.diagnosis.whatif import WhatIf

TRAIN, LIBRARY = "/home/ada/train.py", "/home/ada/venv/lib/site-packages/lib/core.py"
LOOP = TimeSpent(20.0, 10.0, None, 0.0)
NO_LOOP = TimeSpent(None, None, None, None)
STEPS = Steps(40, 3, 5.0)
SOURCES = [
    {"file": TRAIN, "line": 41, "text": "    total += loss.item()"},
    {"file": TRAIN, "line": 43, "text": "    total  +=  loss.item()  "},
    {"file": TRAIN, "line": 44, "text": "    other += loss.item()"},
]


def row(**columns: Any) -> Row:
    return {"process": 0, "file": TRAIN, "line": 41, "function": "train", "count": 40, **columns}


def findings(
    *rows: Row, time: TimeSpent = LOOP, tables: Tables | None = None, **fields: Any
) -> list[Finding]:
    given = evidence({"source_line": SOURCES} if tables is None else tables, cwd="/home/ada")
    return from_rows(
        rule(**fields), list(rows), given, time, Savings(WhatIf(given.database), time, STEPS)
    )


def only(*rows: Row, **options: Any) -> Finding:
    (finding,) = findings(*rows, **options)
    return finding


# Merging


def test_rows_of_several_processes_at_one_line_are_one_finding_with_the_slowest_s_cost() -> None:
    finding = only(
        row(process=10, cost_ns=10**9, count=3),
        row(process=9, cost_ns=2 * 10**9, count=2, per_step=0.123456),
    )
    assert finding.processes == ["10", "9"]
    assert (finding.count, finding.per_step) == (3, 0.1235)  # of the process with the highest
    assert finding.cost == Cost(2.0, 0.1, "measured")


@pytest.mark.parametrize(
    ("change", "findings_made"),
    [
        ({"line": 43}, 2),
        ({"file": LIBRARY}, 2),
        ({"function": "other"}, 1),
        ({"subject": "aten::nonzero"}, 2),
        ({"cause": {"kinds": ["item"]}}, 1),
    ],
    ids=str,
)
def test_rows_are_told_apart_by_line_and_by_what_happens_there(
    change: Row, findings_made: int
) -> None:
    assert len(findings(row(), row(**change))) == findings_made


def test_no_rows_no_findings() -> None:
    assert findings() == []


# Cost


def test_cost_is_at_most_the_whole_time() -> None:
    assert only(row(cost_ns=99 * 10**9)).cost == Cost(20.0, 1.0, "measured")
    assert only(row(cost_ns=10**9, cost_basis="bound")).cost == Cost(1.0, 0.05, "bound")


def test_severity_is_of_this_run_or_of_a_long_one() -> None:
    lost = row(cost_ns=2 * 10**9, stalls=False)
    assert only(lost).severity == "error"  # 20% of the loop, and so of a long run
    assert only({**lost, "settled": True}).severity == "warning"  # 10% of this run
    assert only({**lost, "settled": True, "cost_ns": 4 * 10**9}).severity == "error"


def test_cost_without_a_loop_has_no_share() -> None:
    assert only(row(cost_ns=10**9), time=NO_LOOP).cost == Cost(1.0, None, "measured")


def test_cost_that_is_not_known() -> None:
    finding = only(row(cost_ns=None))
    assert finding.cost == Cost(None, None, "none")
    assert finding.saving.basis == "none"
    assert finding.per_step is None


@pytest.mark.parametrize(
    ("columns", "severity"),
    [
        ({"cost_ns": 2 * 10**9}, "error"),
        ({"cost_ns": 10**8}, "info"),
        ({"stalls": True}, "warning"),
        ({"unbounded": True}, "error"),
        ({"unbounded": True, "healthy": True}, "info"),
        ({"stalls": None, "healthy": None}, "info"),
    ],
    ids=str,
)
def test_severity_follows_from_the_row(columns: Row, severity: str) -> None:
    assert only(row(**columns)).severity == severity


# Locations


def test_locations_are_the_guilty_line_its_caller_and_what_explains_it() -> None:
    finding = only(
        row(
            file=LIBRARY,
            line=7,
            function="core",
            user_file=TRAIN,
            user_line=41,
            user_function="<module>",
            related_file=TRAIN,
            related_line=43,
            related_function="",
            related_role="made",
        )
    )
    assert finding.locations == [
        Location("venv/lib/site-packages/lib/core.py", 7, "core", "guilty", None),
        Location("train.py", 41, "<module>", "caller", "    total += loss.item()"),
        Location("train.py", 43, None, "made", "    total  +=  loss.item()  "),
    ]


def test_the_same_line_is_named_once() -> None:
    same = {"related_file": TRAIN, "related_line": 41, "related_role": "made"}
    assert [place.role for place in only(row(**same)).locations] == ["guilty"]


@pytest.mark.parametrize("place", [{"file": None, "line": None}, {"line": None}], ids=str)
def test_finding_without_a_line_has_no_location(place: Row) -> None:
    assert only(row(**place)).locations == []


def test_source_is_read_from_the_file_where_it_has_not_changed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = {"process": [{"process": 0, "host": socket.gethostname()}]}
    path = tmp_path / "train.py"
    path.write_text("import torch\nloss.item()\n")
    changed = path.stat().st_mtime_ns
    for began, source in ((changed + 1, "loss.item()"), (changed - 1, None), (None, None)):
        given = evidence(here, began_ns=began, cwd=str(tmp_path))
        rows = [row(file=str(path), line=2)]
        (finding,) = from_rows(
            rule(), rows, given, LOOP, Savings(WhatIf(given.database), LOOP, None)
        )
        assert finding.locations[0].source == source


# Words


def test_message_is_one_line_with_the_row_s_values() -> None:
    message = """
        {{ count }} times at {{ file }}:{{ line }}
        {%- if cause.op %} ({{ cause.op }}){% endif %},
        unknown: {{ cause.nothing }}
    """
    finding = only(row(cause={"op": "aten::nonzero"}), message=message)
    assert finding.message == "40 times at train.py:41 (aten::nonzero), unknown: None"


def test_cause_holds_what_is_known_with_shown_paths() -> None:
    lines = [{"file": TRAIN, "line": 9}]
    assert only(row(cause={"lines": lines, "kind": None})).cause == {
        "lines": [{"file": "train.py", "line": 9}]
    }


def test_consequences() -> None:
    assert only(row(consequences=["it grows"])).consequences == ["it grows"]
    assert only(row(consequences=None)).consequences == []


@pytest.mark.parametrize(
    "message",
    [
        "{{ nowhere }}",
        "{{ count / 0 }}",
        "{{ count.__class__ }}",
        "{% for i in range(10**9) %}x{% endfor %}",
    ],
)
def test_message_that_fails_is_an_error_of_the_rule(message: str) -> None:
    with pytest.raises(RuleError, match="XD901: its message failed: "):
        findings(row(), message=message)


def test_unknown_column_is_an_error_of_the_rule() -> None:
    with pytest.raises(RuleError) as caught:
        findings(row(costs=1, colour="red"))
    assert caught.value.what == "XD901: its query returns unknown columns: colour, costs"


@pytest.mark.parametrize("odd", [{"file": TRAIN}, {"file": TRAIN, "count": None}], ids=str)
def test_missing_count_is_an_error_of_the_rule(odd: Row) -> None:
    with pytest.raises(RuleError, match=r"XD901: .*count"):
        findings(odd)


# Identity


def fingerprint(*changes: Row, **options: Any) -> str:
    return only(
        row(**{k: v for change in changes for k, v in change.items()}), **options
    ).fingerprint


def test_fingerprint_stays_when_the_line_moves() -> None:
    assert fingerprint() == fingerprint({"line": 43})
    assert fingerprint() == fingerprint({"count": 7, "cost_ns": 5, "process": 3})


@pytest.mark.parametrize(
    "change",
    [{"line": 44}, {"function": "other"}, {"file": LIBRARY}, {"subject": "aten::nonzero"}],
    ids=str,
)
def test_fingerprint_changes_with_what_it_names(change: Row) -> None:
    assert fingerprint() != fingerprint(change)


def test_fingerprint_is_of_its_rule() -> None:
    assert fingerprint() != fingerprint(id="XD902")


def test_fingerprints_of_the_same_code_twice_in_a_function_are_numbered() -> None:
    first, second, other = (f.fingerprint for f in findings(row(), row(line=43), row(line=44)))
    assert second == f"{first}-2"
    assert other not in (first, second)


def test_fingerprint_without_source_is_of_the_line_s_number() -> None:
    without: Tables = {}
    assert fingerprint(tables=without) != fingerprint({"line": 43}, tables=without)


def test_costs_that_are_not_known_are_not_added_up_to_nothing() -> None:
    without = row(cost_ns=None)
    assert joined(without, [without])["cost_ns"] is None
    assert joined(without, [row(cost_ns=5)])["cost_ns"] == 5
