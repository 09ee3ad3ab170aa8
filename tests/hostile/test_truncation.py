"""Copies of run directories that lack something: never silent, never a pass."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.forked import called
from tests.hostile.cuts import SAMPLES, files, is_silent, judged, places
from xladoctor.evidence.schema import TABLES
from xladoctor.ingest import inventory

RUN = SAMPLES / "two_threads"


def marked() -> Iterator[object]:
    """The files of the sample that diagnoses are made of; but for a few, the tests are thorough."""
    for file in files(RUN):
        marks = [] if file.suffix in (".jsonl",) else [pytest.mark.thorough]
        yield pytest.param(str(file), marks=marks)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RUN, tmp_path / "run"))


@pytest.mark.parametrize("file", list(marked()))
def test_a_file_that_is_cut_off_is_lost_and_nothing_passes(file: str, copy: Path) -> None:
    whole = (copy / file).read_bytes()
    for end in places(whole, file.endswith(".pb"), 3):
        (copy / file).write_bytes(whole[:end])
        diagnosis = judged(copy)
        assert diagnosis is None or not is_silent(diagnosis), end


@pytest.mark.thorough
@pytest.mark.parametrize("file", list(marked()))
def test_a_file_that_is_gone_is_lost(file: str, copy: Path) -> None:
    (copy / file).unlink()
    diagnosis = judged(copy)
    assert diagnosis is None or not is_silent(diagnosis)


def test_rules_that_look_at_what_was_cut_are_not_evaluated(copy: Path) -> None:
    metrics = max(copy.glob("process-*/metrics.txt"), key=lambda path: path.stat().st_size)
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:100]))
    whole, cut = judged(RUN), judged(copy)
    assert whole is not None
    assert cut is not None
    reasons = {rule.rule: rule.reason for rule in cut.not_checked}
    newly = set(whole.rules.clear) - set(cut.rules.clear)
    assert newly
    assert all("is cut off after" in reasons[rule] for rule in newly - {"XD309"})


def test_the_gate_does_not_pass_on_it(copy: Path) -> None:
    assert called("gate", copy).returncode == 0
    log = max(copy.glob("process-*/steps.jsonl"), key=lambda path: path.stat().st_size)
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-10]))
    assert called("gate", copy).returncode == 3


def test_a_file_that_has_grown_is_whole(copy: Path) -> None:
    (log,) = (path for path in copy.glob("process-*/analysis.log") if "28477" in str(path))
    log.write_text(log.read_text() + "\n")
    diagnosis = judged(copy)
    assert diagnosis is not None
    assert not diagnosis.run.incomplete


def test_tables_of_files_are_those_of_the_schema() -> None:
    assert {name for names in inventory.TABLES.values() for name in names} <= set(TABLES)
