"""``xladoctor rules`` from outside: list, new, check, test."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.cli.command import ROOT
from tests.cli.forked import called
from tests.known_good.corpus import RECORDED
from xladoctor.diagnosis.pack import load_rules

FILE = "ACME001-odd-thing.yaml"
BAD = ROOT / "sample_traces" / "scalar_read"
GOOD = ROOT / "sample_traces" / "missing_lowering"


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    """A rule as `new` writes it."""
    done = called("rules", "new", "ACME001", "odd-thing", "--dir", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"wrote {tmp_path / FILE}\n", "")
    return tmp_path / FILE


def change(rule: Path, *pairs: tuple[str, str]) -> None:
    text = rule.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    rule.write_text(text, encoding="utf-8")


def position(rule: Path, text: str) -> str:
    """Where a text first is: path, line and column."""
    before, _, _ = rule.read_text(encoding="utf-8").partition(text)
    line = before.count("\n") + 1
    return f"{rule}:{line}:{len(before) - before.rfind(chr(10))}"


# List


@pytest.mark.parametrize("command", [["rules"], ["rules", "list"]], ids=" ".join)
def test_rules_are_listed_in_80_columns(command: list[str]) -> None:
    done = called(*command)
    rows = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert all(len(line) <= 80 for line in rows)
    assert [line.split()[:2] for line in rows] == [
        [rule.id, rule.severity if rule.status == "stable" else rule.status]
        for rule in load_rules()
    ]


# New


@pytest.mark.thorough
def test_a_new_rule_has_no_faults_and_passes_its_cases(rule: Path) -> None:
    done = called("rules", "check", rule)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "xladoctor: 1 rule, 0 faults\n"

    done = called("rules", "test", rule)
    assert done.returncode == 0
    *cases, healthy = done.stdout.splitlines()
    assert [line[:13] for line in cases] == ["ok    ACME001"] * 2
    assert healthy == f"ok    ACME001  {len(RECORDED)} of {len(RECORDED)} healthy programs"
    assert done.stderr == "xladoctor: 3 passed, 0 failed\n"


def test_a_new_rule_is_valid_by_the_schema_that_it_names(rule: Path) -> None:
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", rule.read_text())
    assert named
    schema = json.loads((rule.parent / named[1]).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(rule.read_text()), schema)
    assert json.loads(called("rules", "check", "--schema").stdout) == schema


def test_new_does_not_overwrite(rule: Path) -> None:
    rule.write_text("mine")
    done = called("rules", "new", "ACME001", "odd-thing", "--dir", rule.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert "already exists" in done.stderr
    assert rule.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ACME1", "odd-thing"), "id: "),
        (("ACME001", "Odd thing"), "name: "),
        (("ACME001", "a: {b"), "name: "),
        (("XD201", "odd-thing"), "XD201: this rule already exists"),
    ],
)
def test_new_refuses_what_no_rule_can_be_called(
    words: tuple[str, str], told: str, tmp_path: Path
) -> None:
    done = called("rules", "new", *words, "--dir", tmp_path / "rules")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"xladoctor: {told}")
    assert not (tmp_path / "rules").exists()


# Check


def test_a_case_tries_what_the_rule_states(rule: Path) -> None:
    change(rule, ("    tables:", "    tries: [When it is wrong, seldom]\n    tables:"))
    done = called("rules", "check", rule)
    assert done.returncode == 1
    fault = "tries: no sentence of false_positives has “seldom”"
    assert done.stdout == f"{position(rule, 'seldom')}: {fault}\n"


def test_a_case_in_a_file_of_its_own_does_so_too(rule: Path) -> None:
    own = rule.parent / "ACME001" / "rare.yaml"
    own.parent.mkdir()
    own.write_text("case: Nothing happens at all.\ntries: [seldom]\nexpect: []\n")
    done = called("rules", "check", rule)
    assert (done.returncode, done.stdout.split(": ")[0]) == (1, f"{own}:2:9")


def test_all_faults_are_told_at_once_with_their_positions(rule: Path) -> None:
    change(
        rule,
        ("severity: warning", "severity: loud"),
        ("needs: [host_sync]", "needs: [sync]"),
        ("why: ", "fix: "),
        ("kind: item", "kynd: item"),
    )
    done = called("rules", "check", rule)
    assert done.returncode == 1
    places = [line.split(": ")[:2] for line in done.stdout.splitlines()]
    assert places == [
        [f"{rule}:2:1", "why"],  # missing: where the rule begins
        [position(rule, "severity"), "severity"],
        [position(rule, "needs"), "needs"],
        [position(rule, "fix: What"), "fix"],
        [position(rule, "tables:\n"), "cases.0.tables"],
    ]
    assert done.stderr == "xladoctor: 1 rule, 5 faults\n"


def test_query_and_message_are_held_against_the_evidence(rule: Path) -> None:
    change(rule, ("max(count_a_step)", "max(count_a_stp)"))
    done = called("rules", "check", rule)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{position(rule, 'count_a_stp')}: query: Binder Error: ")
    assert '"count_a_step"' in done.stdout

    change(
        rule,
        ("max(count_a_stp) AS per_step", "1 AS often"),
        ("{{ count }}", "{{ counts }}"),
        ("cause.kinds", "cause.sorts"),
        ("line, any_value", "'1' AS line, 'x' AS also_file, any_value"),
    )
    told = called("rules", "check", rule).stdout.splitlines()
    assert [line.split(": ", 1)[1] for line in told] == [
        "query: column line is VARCHAR: expected a number",
        "query: returns also_file without also_role",
        "query: returns unknown columns: often (docs/rule-files.md has those that may be)",
        "message: the query returns no counts",
        "message: cause has no sorts",
    ]
    assert told[4].startswith(f"{position(rule, 'sorts')}: ")


def test_what_is_written_twice_or_wrong_is_told_at_its_place(rule: Path) -> None:
    change(
        rule,
        (
            "any_value(function) AS function,",
            "any_value(function) AS function, 1 AS line,\n"
            "         CASE WHEN line = 3 THEN 'mad' ELSE 'made' END AS related_role,\n"
            "         'guess' AS cost_basis, NULL AS by_counts,",
        ),
        ("cause.kinds |", "cause['sorts'] |"),
        ("reads from the device", "{% include 'x' %} reads"),
    )
    mad, guess = position(rule, "'mad'"), position(rule, "'guess'")
    done = called("rules", "check", rule)
    assert done.stdout.splitlines() == [
        f"{position(rule, '1 AS line')}: query: column line is there twice",
        f"{mad}: query: related_role is mad: expected made, used, compiled, due, loop, closure,"
        " collated, launched or left",
        f"{guess}: query: cost_basis is guess: expected measured, estimate, bound, least or none",
        f"{position(rule, '{% include')}: message: there is nothing to include, import or extend",
        f"{position(rule, 'sorts')}: message: cause has no sorts",
    ]


def test_a_filter_that_does_not_exist_is_a_fault(rule: Path) -> None:
    change(rule, ("join(", "joined("))
    done = called("rules", "check", rule)
    assert done.returncode == 1
    assert done.stdout == (
        f"{position(rule, 'The loop reads')}: message: No filter named 'joined'.\n"
    )


def test_a_query_reads_no_file(rule: Path) -> None:
    change(rule, ("FROM read_in_loop", "FROM read_csv('/etc/passwd') AS r(process)"))
    assert "not read_csv()" in called("rules", "check", rule).stdout


@pytest.mark.parametrize("text", ["", "a: [", "- 1", "id: 2024-13-45\n", "\x00", "a: &a [*a]\n"])
def test_a_file_that_is_no_rule_is_a_fault(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    for command in ("check", "test"):
        done = called("rules", command, tmp_path)
        assert done.returncode == 1
        assert re.search(rf"{re.escape(str(tmp_path / FILE))}:\d+:\d+: ", done.stdout)
        assert "Traceback" not in done.stderr


def test_two_rules_with_one_id(rule: Path) -> None:
    other = rule.with_name("ACME001-other-thing.yaml")
    other.write_text(rule.read_text().replace("odd-thing", "other-thing"))
    done = called("rules", "check", rule.parent)
    assert done.stdout == f"{position(other, 'id:')}: id: {rule} has it too\n"


@pytest.mark.parametrize("command", ["check", "test"])
def test_no_such_path_is_status_2(command: str, tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        done = called("rules", command, path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"xladoctor: {path}: no ")


def test_the_pack_has_no_faults() -> None:
    done = called("rules", "check", ROOT / "rules")
    assert (done.returncode, done.stdout) == (0, "")


# Test


def test_a_case_that_fails_shows_what_was_expected_and_found(rule: Path) -> None:
    change(rule, ("severity: info, count: 40", "severity: error, count: 40"))
    done = called("rules", "test", rule)
    assert done.returncode == 1
    first, *lines = done.stdout.splitlines()
    assert first == "FAIL  ACME001  The loss is read at each of 40 steps."
    assert [line.strip() for line in lines[:3]] == [
        "- rule: ACME001",
        "-   severity: error",
        "+   severity: info",
    ]
    assert "1 passed, 1 failed (- expected, + found)" in done.stderr


def test_a_rule_needs_cases_of_both_kinds(rule: Path) -> None:
    text = rule.read_text()
    rule.write_text(text.partition("cases:")[0])
    done = called("rules", "test", rule)
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [
        "      no case that must trigger it",
        "      no case that must not trigger it",
    ]


def test_cases_may_be_files_beside_the_rule_or_elsewhere(rule: Path, tmp_path: Path) -> None:
    text, _, cases = rule.read_text().partition("cases:")
    rule.write_text(text)
    healthy = tmp_path / "healthy"
    healthy.mkdir()
    (healthy / "other").symlink_to(GOOD)
    for folder in (rule.parent / "ACME001", tmp_path / "elsewhere" / "ACME001"):
        folder.mkdir(parents=True)
        for number, case in enumerate(yaml.safe_load(cases)):
            (folder / f"case{number}.yaml").write_text(yaml.safe_dump(case))
        options = ["--cases", str(folder.parent)] if folder.parent != rule.parent else []
        done = called("rules", "test", rule, "--known-good", healthy, *options)
        assert done.returncode == 0
        assert done.stdout.startswith("ok    ACME001  case0.yaml: The loss is read at each")
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("line: 38}]", "line: far}]", "its tables cannot be filled: "),
        ("rows: 40", "rows: 1000000", "rows: 1000000 is not a number from 0 to 100,000"),
        ("{from: 0}", "{form: 0}", "form"),
        ("expect:", "graphs: [{hash: a, inputs: [f32]}]\n    expect:", "'f32' is not an input"),
    ],
)
def test_a_case_that_cannot_be_made_says_why(rule: Path, old: str, new: str, told: str) -> None:
    change(rule, (old, new))
    done = called("rules", "test", rule)
    assert done.returncode == 1
    assert told in done.stdout
    assert "Traceback" not in done.stderr


def test_findings_in_healthy_programs_are_faults(rule: Path, tmp_path: Path) -> None:
    folder = tmp_path / "healthy"
    folder.mkdir()
    (folder / "reading").symlink_to(BAD)
    (folder / "other").symlink_to(GOOD)
    (folder / "notes.txt").write_text("nothing")
    done = called("rules", "test", rule, "--known-good", folder)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[2].startswith("FAIL  all rules  healthy notes.txt")
    assert lines[-1] == "ok    ACME001  1 of 3 healthy programs"
    at = lines.index("FAIL  ACME001  healthy reading")
    assert re.match(r" +found warning at programs/scalar_read.py:35: The loop reads", lines[at + 1])
    assert done.stderr == "xladoctor: 3 passed, 2 failed (- expected, + found)\n"


def test_a_folder_of_healthy_programs_that_is_empty_is_status_2(rule: Path, tmp_path: Path) -> None:
    (tmp_path / "healthy").mkdir()
    for folder in (tmp_path / "healthy", tmp_path / "none"):
        done = called("rules", "test", rule, "--known-good", folder)
        assert (done.returncode, done.stdout) == (2, "")
