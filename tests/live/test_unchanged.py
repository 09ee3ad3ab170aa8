"""A captured program computes what it computes without us: the same graphs, the same numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import LIVE, PROGRAMS, ROOT, Captures, environment, settings_of

pytestmark = LIVE

#: Threads, whose order is chance.
_UNORDERED = {"two_threads"}

Bare = Callable[[Path, Path], dict[str, Any]]


@pytest.fixture(scope="session")
def bare() -> Iterator[Bare]:
    """``bare(program, folder)``: how a bare run ended; its output and log lie in the folder."""
    command = [sys.executable, str(Path(__file__).with_name("bare.py"))]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        requests, answers = server.stdin, server.stdout

        def run(program: Path, folder: Path) -> dict[str, Any]:
            asked = {"program": str(program), "env": settings_of(program),
                     "output": str(folder / "output"), "log": str(folder / "log")}  # fmt: skip
            requests.write(json.dumps(asked) + "\n")
            requests.flush()
            answer: dict[str, Any] = json.loads(answers.readline())
            return answer

        yield run
        requests.close()


def graphs(log: Path) -> Counter[str]:
    """Hashes of the graphs that an analysis log names."""
    text = log.read_text() if log.exists() else ""
    return Counter(re.findall(r"Compilation Analysis: .*Graph Hash: ([0-9a-f]+)", text))


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(p, id=f"{p.parent.name}/{p.stem}", marks=pytest.mark.xdist_group(p.stem))
        for p in PROGRAMS
    ],
)
def test_graphs_and_numbers_are_the_same(
    program: Path, captured: Captures, bare: Bare, tmp_path: Path
) -> None:
    run = captured(program)
    alone = bare(program, tmp_path)

    assert alone["status"] == run.finished.status == 0
    printed = (tmp_path / "output").read_text().splitlines()
    if program.stem in _UNORDERED:
        assert sorted(run.finished.stdout.splitlines()) == sorted(printed)
        return
    assert run.finished.stdout.splitlines() == printed
    assert graphs(run.process / "analysis.log") == graphs(tmp_path / "log")
    report = (run.process / "metrics.txt").read_text()
    counted = re.search(r"Counter: UncachedCompile\n  Value: (\d+)", report)
    assert int(counted[1] if counted else 0) == alone["compiled"]
