"""Which rules are judged, with which thresholds and levels."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import rule
from xladoctor.configuration.interface import Configuration, ConfigurationError, Level
from xladoctor.configuration.selection import level_of, select

RULES = [rule(id=name, status="stable") for name in ("XD101", "XD102", "XD201", "XD301")]
THRESHOLDS = {"each": 0.5, "times": 3}


def chosen(**keys: Any) -> tuple[list[str], list[str]]:
    selection = select(RULES, Configuration.model_validate(keys), "file")
    return [rule.id for rule in selection.rules], selection.off


@pytest.mark.parametrize(
    ("keys", "off"),
    [
        ({}, []),
        ({"select": ["XD1"]}, ["XD201", "XD301"]),
        ({"select": ["XD1", "XD301"]}, ["XD201"]),
        ({"ignore": ["XD1"]}, ["XD101", "XD102"]),
        ({"select": ["XD102"], "ignore": ["XD1"]}, ["XD101", "XD201", "XD301"]),
        ({"select": ["XD1"], "ignore": ["XD102"]}, ["XD102", "XD201", "XD301"]),
        ({"select": ["XD1"], "ignore": ["XD1"]}, ["XD101", "XD102", "XD201", "XD301"]),
        ({"ignore": ["XD1:vendor/**"]}, []),
        ({"ignore": ["XD1:vendor/**", "XD101"]}, ["XD101"]),
        ({"select": []}, ["XD101", "XD102", "XD201", "XD301"]),
        ({"levels": {"XD1": "off"}}, ["XD101", "XD102"]),
        ({"levels": {"ALL": "off", "XD1": "error"}}, ["XD201", "XD301"]),
        ({"select": ["XD1"], "ignore": ["ALL"]}, ["XD201", "XD301"]),
        ({"ignore": ["ALL"]}, ["XD101", "XD102", "XD201", "XD301"]),
        ({"levels": {"XD1": "off", "XD102": "warning"}}, ["XD101"]),
        ({"levels": {"XD": "off", "XD2": "error"}}, ["XD101", "XD102", "XD301"]),
        ({"levels": {"XD101": "error"}, "ignore": ["XD101"]}, ["XD101"]),
    ],
    ids=str,
)
def test_longer_names_go_before_shorter_ones_and_ignore_before_select(
    keys: dict[str, Any], off: list[str]
) -> None:
    on, switched_off = chosen(**keys)
    assert switched_off == off
    assert sorted([*on, *off]) == [rule.id for rule in RULES]


@pytest.mark.parametrize(
    ("names", "severity"),
    [(["ALL"], "info"), (["XD9"], "info"), (["XD901"], "error"), (["ALL", "XD901"], "error")],
    ids=str,
)
def test_preview_is_information_unless_selected_by_its_id(names: list[str], severity: str) -> None:
    settings = Configuration.model_validate({"select": names})
    rules = [rule(id="XD901", status="preview"), rule(id="XD902", status="stable")]

    severities = {own.id: own.severity for own in select(rules, settings, "file").rules}
    assert severities["XD901"] == severity
    assert severities.get("XD902", "error") == "error"


@pytest.mark.parametrize(
    ("levels", "level"),
    [
        ({}, None),
        ({"XD": "warning"}, "warning"),
        ({"XD2": "warning", "XD": "off"}, "warning"),
        ({"XD201": "error", "XD2": "warning"}, "error"),
        ({"XD1": "error"}, None),
    ],
    ids=str,
)
def test_level_is_that_of_the_longest_name(levels: dict[str, Level], level: str | None) -> None:
    assert level_of("XD201", levels) == level


@pytest.mark.parametrize(
    ("select_", "on"),
    [
        ("AC", ["AC101", "AC1012"]),
        ("AC1", ["AC101", "AC1012"]),
        ("AC10", ["AC101", "AC1012"]),
        ("AC101", ["AC101"]),
        ("AC1012", ["AC1012"]),
        ("ACME", ["ACME101"]),
        ("ACME1", ["ACME101"]),
    ],
)
def test_family_has_all_letters_and_an_id_is_no_family(select_: str, on: list[str]) -> None:
    rules = [rule(id=name) for name in ("AC101", "AC1012", "ACME101")]
    selection = select(rules, Configuration(select=[select_]), "file")
    assert [each.id for each in selection.rules] == on
    with pytest.raises(ConfigurationError, match="no rule begins with A\n"):
        select(rules, Configuration(select=["A"]), "file")


def test_thresholds_replace_those_of_the_rule_and_no_others() -> None:
    given = [
        rule(id=name, thresholds=THRESHOLDS, query="SELECT 1 AS count, $each, $times")
        for name in ("XD101", "XD201")
    ]
    settings = Configuration.model_validate({"thresholds": {"XD201": {"each": 0.9}}})
    rules = select(given, settings, "file").rules
    assert [rule.thresholds for rule in rules] == [THRESHOLDS, {"each": 0.9, "times": 3}]
    assert given[1].thresholds == THRESHOLDS


def test_files_in_which_a_rule_is_ignored_are_of_it_or_its_family() -> None:
    settings = Configuration(ignore=["XD1:a/**", "XD102:b.py", "ALL:c:d.py", "XD301", "XD3:a/**"])
    assert select(RULES, settings, "file").ignored_in == {
        "XD101": ["a/**", "c:d.py"],
        "XD102": ["a/**", "b.py", "c:d.py"],
        "XD201": ["c:d.py"],
    }


@pytest.mark.parametrize(
    ("level", "severity", "error"),
    [("info", "info", False), ("warning", "warning", False), ("error", "error", True)],
)
def test_level_is_the_most_that_findings_count_for_or_makes_them_errors(
    level: Level, severity: str, error: bool
) -> None:
    selection = select(RULES, Configuration(levels={"XD1": level}), "file")
    assert [rule.severity for rule in selection.rules] == [severity, severity, "error", "error"]
    assert selection.errors == ["XD101", "XD102"] * error


def test_level_raises_no_rule() -> None:
    mild = [rule(severity="info")]
    settings = Configuration(levels={"XD9": "warning"})
    assert [rule.severity for rule in select(mild, settings, "file").rules] == ["info"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"ignore": ["XD103:a/**"]}, "file: ignore: no rule begins with XD103"),
        ({"select": ["XD9"]}, "file: select: no rule begins with XD9"),
        ({"ignore": ["XD103"]}, "file: ignore: no rule begins with XD103"),
        ({"levels": {"XD5": "off"}}, "file: levels: no rule begins with XD5"),
        ({"thresholds": {"XD1": {"a": 1}}}, "file: thresholds: no rule XD1"),
        (
            {"thresholds": {"XD101": {"a": 1}}},
            "file: thresholds.XD101: no threshold a; there is: none",
        ),
    ],
    ids=str,
)
def test_rule_or_threshold_that_there_is_not_is_an_error(
    keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        chosen(**keys)
    assert caught.value.what == message


def test_every_unknown_name_is_said() -> None:
    with pytest.raises(ConfigurationError) as caught:
        chosen(select=["XD8"], ignore=["XD9"])
    assert len(caught.value.what.splitlines()) == 2
