"""Files of a run directory of which a part is zeros or blank, at their old size: never silent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.hostile.cuts import SAMPLES, files, outcome
from xladoctor.recording.manifest import inventory

RUN = SAMPLES / "recompiling"
_PLACES = 8


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sample, whose ``run.json`` has the checksums that a new run has."""
    run = Path(shutil.copytree(RUN, tmp_path / "run"))
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, **inventory(run)}))
    return run


def holes(data: bytes) -> list[bytes]:
    """The data with a sixteenth of it zeroed, and with a line blanked, each at several places."""
    long = len(data) // 16 + 1
    starts = [nth * (len(data) - long) // (_PLACES - 1) for nth in range(_PLACES)]
    zeroed = [data[:at] + bytes(long) + data[at + long :] for at in starts]
    lines = data.splitlines(keepends=True)
    blanked = [
        b"".join([*lines[:at], b" " * (len(lines[at].rstrip(b"\n"))) + b"\n", *lines[at + 1 :]])[
            : len(data)
        ]
        for at in {nth * (len(lines) - 1) // (_PLACES - 1) for nth in range(_PLACES)}
    ]
    return [each for each in zeroed + blanked if each != data]


def test_a_whole_copy_lost_nothing(copy: Path) -> None:
    assert outcome(copy, judge=False) == "SILENT"


@pytest.mark.parametrize("file", [str(file) for file in files(RUN) if file.name != "run.json"])
def test_a_hole_is_lost_or_an_error(file: str, copy: Path) -> None:
    whole = (copy / file).read_bytes()
    for number, damaged in enumerate(holes(whole)):
        assert len(damaged) == len(whole)
        (copy / file).write_bytes(damaged)
        assert outcome(copy, judge=False) in ("lost and said", "error"), number
