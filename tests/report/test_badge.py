"""The badge: one word or number, and its colour."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.report.diagnoses import SICK
from tests.report.formats import rendered, sick_of
from tests.report.outcomes import FAILED, MISSING, PASSED
from tests.support import finding
from xladoctor.report.interface import Report


@pytest.mark.parametrize(
    ("reports", "message", "color"),
    [
        ([PASSED], "passed", "brightgreen"),
        ([MISSING], "2 not judged", "yellow"),
        ([FAILED], "1 new finding, 1 worse finding, 3 budgets over, 2 not judged", "red"),
        ([PASSED, MISSING, PASSED], "2 not judged", "yellow"),
        ([], "nothing judged", "yellow"),
        ([sick_of(finding())], "1 finding to fix", "yellow"),
        ([sick_of(finding(severity="info"))], "nothing to fix", "brightgreen"),
    ],
)
def test_badge_is_of_the_program_that_is_worst_off(
    reports: Sequence[Report], message: str, color: str
) -> None:
    assert json.loads(rendered("badge", reports)) == {
        "schemaVersion": 1,
        "label": "xladoctor",
        "message": message,
        "color": color,
    }


def test_findings_of_information_do_not_count() -> None:
    number = sum(found.severity != "info" for found in SICK.findings)
    assert json.loads(rendered("badge", [Report(SICK)]))["message"] == f"{number} findings to fix"
