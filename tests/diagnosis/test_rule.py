"""Rule files: each mistake is an error with file and line; the pack has none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support import complete, rule
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.example import Example
from xladoctor.diagnosis.interface import RuleOutcomes
from xladoctor.diagnosis.pack import load_rule, load_rules, pack
from xladoctor.diagnosis.rule import Rule, RuleError
from xladoctor.evidence.schema import TABLES
from xladoctor.report.rule_page import page

GOOD = """\
id: XD901
name: odd-thing
title: Something that is odd
category: capture
severity: warning
confidence: high
status: preview
since: 0.1.0
needs: [counter]
not_evaluated:
  counter: no counters
thresholds:
  times: 3
query: |
  SELECT value AS count FROM counter
  WHERE value > $times
message: It is odd.
why: It is.
fix: Do not.
example:
  before: a
  after: b
false_positives: Never.
judged_by: counts
"""


def write(folder: Path, text: str, name: str = "XD901-odd-thing.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def with_line(key: str, new: str) -> str:
    """The good file with the line that begins with ``key`` replaced."""
    return re.sub(rf"(?m)^{re.escape(key)}.*$", new, GOOD, count=1)


def test_rule_file_in_order(tmp_path: Path) -> None:
    loaded = load_rule(write(tmp_path, GOOD))
    assert (loaded.id, loaded.thresholds, loaded.needs) == ("XD901", {"times": 3.0}, ["counter"])
    assert loaded.references == []
    assert loaded.applies_to.frontends == ["torch_xla"]


IN_JAX = {"fix": "Do not jit.", "example": {"before": "a", "after": "jax.b"}}


def test_a_frontend_has_words_of_its_own_where_the_rule_gives_them() -> None:
    general = rule(per_frontend={"jax": IN_JAX}, applies_to={"frontend": ["torch_xla", "jax"]})
    other = general.for_frontend("jax")
    assert other is not None
    assert (other.why, other.fix) == (general.why, "Do not jit.")
    assert other.example == Example(before="a", after="jax.b")
    usual = general.for_frontend("torch_xla")
    assert usual is not None
    assert (usual.fix, usual.example) == (general.fix, general.example)


def test_a_frontend_has_a_message_and_reasons_of_its_own() -> None:
    own = {"title": "Another oddity", "message": "Odd in JAX.", "needs_rows": {"metric": "no jit"}}
    both, needed = {"frontend": ["torch_xla", "jax"]}, {"counter": "none", "metric": "no sync"}
    general = rule(needs_rows=needed, per_frontend={"jax": own}, applies_to=both)
    other = general.for_frontend("jax")
    assert other is not None
    assert (other.title, other.message) == ("Another oddity", "Odd in JAX.")
    assert other.needs_rows == {"counter": "none", "metric": "no jit"}


def test_finding_nothing_may_need_more_than_finding_something() -> None:
    query = "SELECT value::INTEGER AS count FROM counter WHERE value > 0"
    needy = rule(query=query, clear_needs_rows={"metric": "the report may be cut"})

    def judged(value: int, **more: Any) -> tuple[RuleOutcomes, list[str]]:
        tables = {"counter": [{"process": 0, "name": "a", "value": value}], **more}
        diagnosis = diagnose(complete(tables), [needy])
        return diagnosis.rules, [skipped.reason for skipped in diagnosis.not_checked]

    assert judged(1)[0].fired == ["XD901"]
    assert judged(0)[1] == ["the report may be cut"]
    whole = {"metric": [{"process": 0, "name": "CompileTime", "samples": 1}]}
    assert judged(0, **whole)[0].clear == ["XD901"]


def test_a_rule_for_other_frontends_is_left_out() -> None:
    counters = {"counter": [{"process": 0, "name": "a", "value": 1}]}
    only, both = (
        rule(),
        rule(
            id="XD902", applies_to={"frontend": ["torch_xla", "jax"]}, per_frontend={"jax": IN_JAX}
        ),
    )
    judged = diagnose(complete(counters, frontend="jax"), [only, both])
    assert [(each.rule, each.fix) for each in judged.findings] == [("XD902", "Do not jit.")]
    assert (judged.rules.not_evaluated, judged.not_checked) == ([], [])

    assert diagnose(complete(counters), [only, both]).rules.fired == ["XD901", "XD902"]


def test_page_has_the_default_words_and_those_of_each_frontend() -> None:
    both = {"frontend": ["torch_xla", "jax"]}
    text = page(rule(fix="Do not.", per_frontend={"jax": IN_JAX}, applies_to=both))
    assert "for PyTorch/XLA and JAX" in text
    assert text.index("## Fix\n\nDo not.") < text.index("## In JAX\n\n### Fix\n\nDo not jit.")
    assert "### Why" not in text  # the same in both
    assert "In JAX" not in page(rule(applies_to=both))


@pytest.mark.parametrize(
    ("key", "new", "line", "message"),
    [
        ("id:", "id: XD9", 1, "id: expected such as ACME001"),
        ("name:", "name: Odd_Thing", 2, "name: expected such as odd-thing"),
        ("title:", "title: odd", 3, "title: String should have at least 8 characters"),
        ("title:", f"title: {'x' * 73}", 3, "title: String should have at most 72 characters"),
        ("category:", "category: food", 4, "category: expected 'recompilation',"),
        ("severity:", "severity: fatal", 5, "severity: expected 'error', 'warning' or"),
        ("confidence:", "confidence: 7", 6, "confidence: expected 'high', 'medium' or"),
        ("status:", "status: done", 7, "status: expected 'preview', 'stable' or"),
        ("since:", "since: 1", 8, "since: expected a text"),
        ("since:", "per_frontend: {odd: {fix: a}}", 8, "per_frontend.odd.[key]: no such frontend"),
        ("since:", "per_frontend: {jax: {message: '{% if %}'}}", 8, "per_frontend.jax.message: "),
        (
            "false_positives:",
            "false_positives: Never.\nper_frontend: {jax: {needs_rows: {step: a}}}",
            1,
            "rule: per_frontend.jax.needs_rows has keys that needs_rows lacks: step",
        ),
        ("since:", "applies_to: {frontend: [odd]}", 8, "applies_to.frontend.0: no such frontend"),
        ("needs:", "needs: []", 9, "needs: List should have at least 1 item"),
        ("needs:", "needs: [counters]", 9, "needs: no such table: counters"),
        ("needs:", "needs: [counter, step]", 1, "rule: not_evaluated has no sentence for: step"),
        ("  counter:", "  counter: [a]", 11, "not_evaluated.counter: expected a text"),
        ("  times:", "  times: often", 13, "thresholds.times: expected a valid number"),
        ("  times:", "  rarely: 3", 1, "rule: the query has $times, not among its thresholds"),
        (
            "  times:",
            "  times: 3\n  often: 3",
            1,
            "rule: the query does not use the thresholds often",
        ),
        (
            "  WHERE",
            "  WHERE list_contains($reads, name) AND $Times > $times",
            1,
            "rule: the query has $Times, $reads, not among its thresholds",
        ),
        ("query:", "query: DROP TABLE counter\nodd: |", 14, "query: must be one SELECT"),
        ("  WHERE", "  ; SELECT $times AS count", 14, "query: must be one SELECT"),
        ("  WHERE", "  WHERE WHERE $times", 14, "query: "),
        ("message:", "message: '{% if %}'", 17, "message: "),
        ("  before:", "  beforehand: a", 20, "example.before: is missing"),
        ("  before:", "  before: a\n  during: c", 22, "example.during: no such key"),
        ("false_positives:", "falsepositives: Never.", 23, "falsepositives: no such key"),
        ("fix:", "", 1, "fix: is missing"),
        ("fix:", "fix: [a", 20, "not YAML: "),
        ("fix:", "\tfix: a", 19, "not YAML: "),
    ],
)
def test_defect_is_an_error_with_its_line(
    tmp_path: Path, key: str, new: str, line: int, message: str
) -> None:
    path = write(tmp_path, with_line(key, new))
    with pytest.raises(RuleError) as caught:
        load_rule(path)
    places = re.sub(r"(:\d+):\d+: ", r"\1: ", caught.value.what)  # columns are told as well
    assert f"{path}:{line}: {message}" in places


@pytest.mark.parametrize("text", ["", "just words", "- a\n- b\n", "5"])
def test_file_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RuleError, match=re.escape(f"{path}:1:1: expected a mapping with id")):
        load_rule(path)


def test_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "XD901-odd-thing.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RuleError, match=re.escape(f"{path}:1:1: ")):
        load_rule(path)


@pytest.mark.parametrize("name", ["XD902-odd-thing.yaml", "odd-thing.yaml", "XD901-other.yaml"])
def test_file_must_be_named_like_its_rule(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, GOOD, name)
    with pytest.raises(RuleError) as caught:
        load_rule(path)
    assert caught.value.what == f"{path}:1:1: the file must be named XD901-odd-thing.yaml"


def test_all_defects_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    first = write(tmp_path, with_line("id:", "id: 9").replace("needs: [counter]", "needs: []"))
    second = write(tmp_path, "", "XD902-other.yaml")

    with pytest.raises(RuleError) as caught:
        load_rules(tmp_path)

    assert [line.split(": ")[0] for line in caught.value.what.splitlines()] == [
        f"{first}:1:1",
        f"{first}:9:1",
        f"{second}:1:1",
    ]
    assert "docs/rule-files.md" in caught.value.hint


def test_two_rules_with_one_id(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, with_line("name:", "name: other-thing"), "XD901-other-thing.yaml")
    with pytest.raises(RuleError, match="XD901: two rules have this id"):
        load_rules(tmp_path)


def test_folder_without_rules_and_files_of_other_kinds(tmp_path: Path) -> None:
    write(tmp_path, "no rule", "README.md")
    assert load_rules(tmp_path) == []


# The pack


def pack_rule(test: Callable[[Rule], None]) -> Callable[[Rule], None]:
    return pytest.mark.parametrize("checked", load_rules(), ids=lambda r: r.id)(test)


def test_pack_is_ordered_by_id() -> None:
    ids = [rule.id for rule in load_rules()]
    assert ids == sorted(set(ids))
    assert len(ids) == len(list(pack().glob("*.yaml"))) >= 8


def test_pack_is_valid_as_if_others_had_written_it() -> None:
    assert [rule.id for rule in load_rules(pack())] == [rule.id for rule in load_rules()]


@pack_rule
def test_rule_of_the_pack_has_all_texts_for_each_frontend(checked: Rule) -> None:
    assert not checked.title.endswith(".")
    for frontend in checked.applies_to.frontends:
        own = checked.for_frontend(frontend)
        assert own is not None
        assert own.code is not None
        before, after = own.code.before, own.code.after
        for text in (own.message, own.why, own.fix, own.false_positives):
            assert len(text.strip()) > 10
        assert before.strip() != after.strip()
        assert own.references
        assert all(url.startswith("https://") for url in own.references)


@pack_rule
def test_rule_of_the_pack_says_what_it_needs(checked: Rule) -> None:
    assert set(checked.not_evaluated) == set(checked.needs)
    assert {table for need in checked.needs for table in need.split("|")} <= set(TABLES)
    assert all(len(reason) > 10 for reason in checked.not_evaluated.values())


@pack_rule
def test_example_of_the_pack_is_python(checked: Rule) -> None:
    for frontend in checked.applies_to.frontends:
        own = checked.for_frontend(frontend)
        assert own is not None
        if isinstance(own.example, Example):  # parts of programs are run as wholes
            for code in (own.example.before, own.example.after):
                compile(code, checked.id, "exec")


def test_example_is_what_tells_a_pair_of_programs_apart() -> None:
    named = rule(example="tensor_condition").code
    assert named is not None
    assert named.before == (
        "optimizer.step()\nif loss < best:\n    best = loss.detach()\ntorch_xla.sync()\n"
    )
    assert named.after == (
        "optimizer.step()\nbest = torch.minimum(best, loss.detach())\ntorch_xla.sync()\n"
    )


@pytest.mark.parametrize(
    "name", ["no_such_program", "../examples/scalar_read", "clean/two_threads"]
)
def test_pair_of_programs_has_to_be_there(name: str) -> None:
    with pytest.raises(ValidationError, match="no pair of programs"):
        rule(example=name)


def test_rule_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        rule().severity = "info"
