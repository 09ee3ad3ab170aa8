"""The log of compilations in parts: the first and the newest are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from xladoctor.recording.bootstrap._xladoctor import compilation_log
from xladoctor.recording.bootstrap._xladoctor.compilation_log import CompilationLog

PART = 100


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation_log, "_PART", PART)


def append(path: Path, size: int) -> None:
    with path.open("ab") as file:
        file.write(b"x" * size)


def test_log_counts_all_and_keeps_the_first_part_and_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "analysis.log"
    log = CompilationLog(str(path))
    assert log.size() == 0
    for turn in range(1, 5):
        append(path, PART + 1)
        log.rotate()
        assert log.size() == turn * (PART + 1)
    append(path, 7)
    log.rotate()
    assert log.size() == 4 * (PART + 1) + 7
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "analysis-0.log",
        "analysis-303.log",
        "analysis.log",
    ]


def test_no_log_has_no_size() -> None:
    log = CompilationLog()
    log.rotate()
    assert log.size() == 0
