"""The baseline's file, and what is compared with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gate.made import RUN, diagnosis, known
from tests.support import finding, location
from xladoctor.diagnosis.interface import RuleOutcomes, Steps
from xladoctor.gate.baseline import (
    Baseline,
    BaselineEntry,
    Script,
    entry,
    is_more,
    merged,
    read,
    stale_entries,
    update,
    write,
)
from xladoctor.gate.interface import GateError

EMPTY = Baseline(tool="xladoctor", schema_version=1)
FULL = Baseline(
    tool="xladoctor",
    schema_version=1,
    scripts={
        "train.py": Script(
            steps=40,
            findings=[
                known("b", file="z.py"),
                known("a", file="a.py", code="größe"),
                known("c", file=None),
            ],
        ),
        "evaluate.py": Script(steps=None, findings=[]),
    },
)


# The file


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "baseline.json"
    update(path, lambda _: FULL)
    again = read(path)
    assert again.scripts.keys() == FULL.scripts.keys()
    for name, script in FULL.scripts.items():
        assert again.scripts[name].steps == script.steps
        assert {finding.fingerprint: finding for finding in again.scripts[name].findings} == {
            finding.fingerprint: finding for finding in script.findings
        }


@given(st.permutations(FULL.scripts["train.py"].findings), st.permutations(list(FULL.scripts)))
def test_bytes_do_not_depend_on_the_order_in_which_things_were_found(
    findings: list[BaselineEntry], names: list[str]
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / "a.json", Path(folder) / "b.json"
        write(path, FULL)
        scripts = {name: FULL.scripts[name] for name in names}
        scripts["train.py"] = Script(steps=40, findings=findings)
        write(other, Baseline(tool="xladoctor", schema_version=1, scripts=scripts))
        assert path.read_bytes() == other.read_bytes()
        write(path, read(path))
        assert path.read_bytes() == other.read_bytes()


def test_file_has_a_value_a_line_sorted_for_people(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write(path, FULL)
    text = path.read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert '   "code": "größe",' in text.replace("     ", "   ")
    document = json.loads(text)
    assert list(document["scripts"]) == ["evaluate.py", "train.py"]
    files = [entry["file"] for entry in document["scripts"]["train.py"]["findings"]]
    assert files == [None, "a.py", "z.py"]
    assert max(line.count('": ') for line in text.splitlines()) == 1


def test_no_file_is_an_empty_baseline(tmp_path: Path) -> None:
    assert read(tmp_path / "none.json") == EMPTY


TORN = """{
 "tool": "xladoctor",
<<<<<<< HEAD
 "schema_version": 1,
=======
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (TORN.encode(), "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe", "cannot be read"),
        (b"[]", "not an xladoctor baseline"),
        (b"null", "not an xladoctor baseline"),
        (b'{"tool": "ruff", "schema_version": 1}', "not an xladoctor baseline"),
        (b'{"tool": {"name": "xladoctor"}, "schema_version": 1}', "not an xladoctor baseline"),
        (b'{"tool": "xladoctor", "schema_version": 3, "scripts": {}}', "has version 3"),
        (b'{"tool": "xladoctor", "scripts": {}}', "schema_version: None"),
        (b'{"tool": "xladoctor", "schema_version": true}', "schema_version: True"),
        (b'{"tool": "xladoctor", "schema_version": 0}', "schema_version: 0"),
        (b'{"tool": "xladoctor", "schema_version": "1"}', "schema_version: '1'"),
        (b'{"tool": "xladoctor", "schema_version": 1, "scripts": []}', "scripts: "),
        (b'{"tool": "xladoctor", "schema_version": 1, "more": 1}', "more: "),
        (
            b'{"tool": "xladoctor", "schema_version": 1, "scripts": {"a": {"steps": 1,'
            b' "findings": [{"fingerprint": "x"}]}}}',
            "scripts.a.findings.0.rule: ",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_file_that_is_no_baseline_is_refused_with_what_to_do(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    with pytest.raises(GateError) as caught:
        read(path)
    assert caught.value.what.startswith(f"{path}: ")
    assert message in caught.value.what
    assert caught.value.hint


ENTRY = '{"fingerprint": "x", "rule": "XD201", "severity": "warning", "count": 1}'


@pytest.mark.parametrize(
    ("findings", "message"),
    [
        (f"{ENTRY}, {ENTRY}", "scripts.a.findings: Value error, x appears twice"),
        (ENTRY.replace("1", "-1").replace("XD20-1", "XD201"), "scripts.a.findings.0.count: "),
        (ENTRY.replace(": 1", ': "1"'), "scripts.a.findings.0.count: "),
        (ENTRY.replace(": 1", ": true"), "scripts.a.findings.0.count: "),
        (ENTRY.replace(": 1", ': 1, "per_step": NaN'), "scripts.a.findings.0.per_step: "),
        (ENTRY.replace(": 1", ': 1, "per_step": -0.5'), "scripts.a.findings.0.per_step: "),
        (ENTRY.replace(": 1", ': 1, "count": 100'), "'count' appears twice"),
    ],
    ids=lambda value: str(value)[-60:],
)
def test_entry_that_a_merge_or_a_hand_damaged_is_refused(
    tmp_path: Path, findings: str, message: str
) -> None:
    path = tmp_path / "baseline.json"
    script = f'{{"steps": 40, "findings": [{findings}]}}'
    path.write_text(f'{{"tool": "xladoctor", "schema_version": 1, "scripts": {{"a": {script}}}}}')
    with pytest.raises(GateError) as caught:
        read(path)
    assert message in caught.value.what


def test_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GateError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(
        GateError, match=r"baseline.json: the baseline cannot be written: File exists"
    ):
        update(tmp_path / "file" / "baseline.json", lambda baseline: baseline)


# Entries


def test_entry_names_the_line_as_on_any_machine() -> None:
    run = replace(RUN, cwd="/home/ada/project/src", root="/home/ada/project")
    defect = finding(locations=[location(source="    loss  = x.item()  # read")])
    written = entry(defect, "error", run)
    assert (written.file, written.function, written.severity) == ("src/train.py", "train", "error")
    assert written.code == "loss = x.item() # read"
    assert (written.fingerprint, written.rule, written.count, written.per_step) == (
        "XD201-0",
        "XD201",
        40,
        1.0,
    )


def test_entry_of_a_finding_without_a_line() -> None:
    written = entry(finding(locations=[]), "info", RUN)
    assert (written.file, written.function, written.code) == (None, None, "")


@pytest.mark.parametrize(
    ("count", "steps", "before", "before_steps", "more"),
    [
        (40, 40, 40, 40, False),
        (41, 40, 40, 40, True),
        (39, 40, 40, 40, False),
        (80, 80, 40, 40, False),
        (100, 80, 40, 40, True),
        (86, 80, 40, 40, False),  # a tenth more is the length's
        (20, 20, 40, 40, False),
        (20, 20, 10, 40, True),
        (1, 100, 0, 40, False),
        (4, 100, 0, 40, True),
        (2, None, 1, None, True),
        (1, None, 1, None, False),
    ],
)
def test_more_is_by_count_in_runs_of_equal_length_and_else_a_step(
    count: int, steps: int | None, before: int, before_steps: int | None, more: bool
) -> None:
    defect = finding(count=count, per_step=count / steps if steps else None)
    entry_before = known(count=before, per_step=before / before_steps if before_steps else None)
    assert is_more(defect, entry_before, steps, before_steps) is more


def test_what_occurs_no_more_is_certain_only_where_its_rule_was_judged() -> None:
    script = Script(
        steps=40,
        findings=[
            known("here"),
            known("clear", rule="XD101"),
            known("fired"),
            known("off", rule="XD301"),
            known("unknown", rule="XD401"),
        ],
    )
    rules = RuleOutcomes(["XD201"], ["XD101"], ["XD401"], ["XD301"])
    entries = stale_entries(script, diagnosis(finding(fingerprint="here"), rules=rules))
    assert {entry.fingerprint: entry.certain for entry in entries} == {
        "clear": True,
        "fired": True,
        "off": False,
        "unknown": False,
    }
    assert stale_entries(None, diagnosis()) == []


@pytest.mark.parametrize(
    "changes",
    [{"steps": Steps(2, 2, None)}, {"steps": None}, {"run": {"incomplete": ["cut"]}}],
    ids=str,
)
def test_nothing_is_certainly_gone_where_not_all_was_seen(changes: dict[str, object]) -> None:
    (vanished,) = stale_entries(Script(steps=40, findings=[known()]), diagnosis(**changes))  # type: ignore[arg-type]
    assert not vanished.certain


# Updates


def test_update_replaces_what_was_judged_and_keeps_the_rest() -> None:
    before = Baseline(
        tool="xladoctor",
        schema_version=1,
        scripts={
            "train.py": Script(
                steps=9,
                findings=[
                    known("gone"),
                    known("off", rule="XD301"),
                    known("seen"),
                    known("timed", rule="XD501"),
                ],
            ),
            "other.py": Script(steps=7, findings=[known("theirs")]),
        },
    )
    diagnosed = diagnosis(
        finding(fingerprint="seen"),
        finding("XD501", fingerprint="timed"),
        rules=RuleOutcomes(["XD201", "XD501"], [], [], ["XD301"]),
    )
    new = [known("seen", count=3), known("new")]
    after = merged(before, "train.py", diagnosed, new, lambda rule: rule != "XD501")
    script = after.scripts["train.py"]
    assert script.steps == 40
    assert [finding.fingerprint for finding in script.findings] == ["seen", "new", "off", "timed"]
    assert script.findings[0].count == 3
    assert after.scripts["other.py"] == before.scripts["other.py"]
    assert before.scripts["train.py"].steps == 9


def test_update_of_a_program_that_was_not_there() -> None:
    after = merged(EMPTY, "train.py", diagnosis(steps=None), [known()])
    assert after.scripts == {"train.py": Script(steps=None, findings=[known()])}


def test_a_large_file_with_a_key_twice_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    names = ", ".join(f'"k{n}": 0' for n in (*range(400_000), 399_999))
    path.write_text(f"{{{names}}}")
    with pytest.raises(GateError, match="'k399999' appears twice"):
        read(path)
