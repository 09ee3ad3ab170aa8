"""What a change can affect: no test file whose result it decides is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.affected import affected_by

pytestmark = pytest.mark.xdist_group("sources")  # each file is parsed once for all of these


def test_importers_of_importers_are_affected() -> None:
    affected = affected_by([Path("xladoctor/quantities.py")])
    assert Path("tests/test_quantities.py") in affected
    assert Path("tests/report/test_samples.py") in affected
    assert Path("tests/xspace/test_equipment.py") not in affected


def test_a_rule_affects_what_loads_the_pack() -> None:
    affected = affected_by([Path("rules/XD101-changing-input-shape.yaml")])
    assert Path("tests/rules/test_rules.py") in affected
    assert Path("tests/test_quantities.py") not in affected


def test_data_of_tests_affects_their_folder() -> None:
    affected = affected_by([Path("tests/rules/XD101/added.yaml")])
    assert {path.parts[1] for path in affected} == {"rules"}


def test_settings_affect_all() -> None:
    assert len(affected_by([Path("pyproject.toml")])) == sum(
        1 for _ in Path(__file__).parent.rglob("test_*.py")
    )


def test_a_test_file_that_is_gone_is_not_run() -> None:
    assert affected_by([Path("tests/test_gone.py")]) == []


def test_samples_affect_what_reads_them() -> None:
    affected = affected_by([Path("sample_traces/scalar_read/run.json")])
    assert Path("tests/report/test_samples.py") in affected
    assert Path("tests/test_quantities.py") not in affected
