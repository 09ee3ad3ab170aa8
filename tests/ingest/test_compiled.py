"""The decoder's machine code: where it is kept, and what happens where it cannot be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.chrome.builder import training
from tests.xspace import generated
from xladoctor.ingest.chrome import json_bytes, scan
from xladoctor.ingest.chrome.read import read_chrome
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.xplane import compiled, wire
from xladoctor.ingest.xplane.nesting import nest_all
from xladoctor.ingest.xplane.read import read_space

TRACE = training(3, kernels=3).label("part", 30, 40)
FILES = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_traces" / "scalar_read"


def everything(path: Path, patience: int) -> dict[str, Any]:
    """All that is read of a file by loops that are compiled after ``patience``."""
    compiled.Loop.interpreted, compiled.PATIENCE = 0, patience
    read = read_chrome if path.suffix == ".json" else read_space
    space = read(path, Ingested())
    if space is None:
        return {}
    events = space.decode()
    depth, own = nest_all(space, events)
    columns = (events.name, events.start_ps, events.duration_ps, depth, own, *events.stats.columns)
    lines = [(line.name, line.id, line.begin, line.end, line.count) for line in space.lines]
    return {
        "names": events.names,
        "columns": [column.tolist() for column in columns],
        "occurrences": events.occurrences,
        "lines": lines,
        "damage": space.damage.tolist(),
    }


@pytest.fixture
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "PATIENCE", compiled.PATIENCE)


@pytest.mark.usefixtures("_patience")
@FILES
@given(data=generated.damaged() | st.binary(max_size=60))
def test_damaged_spaces_read_alike_interpreted_and_compiled(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data)
    assert everything(path, 10**9) == everything(path, -1)


@pytest.mark.usefixtures("_patience")
@FILES
@given(
    cuts=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), st.binary(max_size=3)), max_size=4
    ),
    patience=st.sampled_from([0, 400, 3000]),
)
def test_damaged_traces_read_alike_interpreted_and_compiled(
    cuts: list[tuple[float, int, bytes]], patience: int, tmp_path: Path
) -> None:
    path = TRACE.write(tmp_path / "trace.json")
    data = path.read_bytes()
    for place, dropped, added in cuts:
        at = int(place * len(data))
        data = data[:at] + (added or b'"') + data[at + dropped :]
    path.write_bytes(data)
    assert everything(path, 10**9) == everything(path, -1) == everything(path, patience)


@pytest.mark.usefixtures("_patience")
@pytest.mark.parametrize(
    ("size", "work", "ran"),
    [
        (100, 100, "interpreted"),
        (100, 101, "compiled"),  # from its first call on
        (101, 1, "compiled"),  # a large file is not copied
    ],
)
def test_what_is_large_is_compiled_at_once(
    size: int, work: int, ran: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled.Loop, "interpreted", 0)
    compiled.PATIENCE = 100
    buffer = np.zeros(size, np.uint8)
    buffer.setflags(write=False)
    interpreted = cast(FunctionType, lambda buffer: "interpreted")
    loop = compiled.Loop(interpreted, "", lambda buffer: work)
    loop.__dict__["machine_code"] = lambda buffer: "compiled"
    assert loop(buffer) == ran
    assert loop(buffer) == "compiled"


def test_machine_code_is_that_of_the_helpers_of_other_modules_too() -> None:
    state = Path(json_bytes.__file__).stat()
    assert compiled._stamps_of_others(scan.__name__) == [(state.st_mtime, state.st_size)]
    assert compiled._stamps_of_others(wire.__name__) == []


def test_what_is_small_needs_no_compiler() -> None:
    code = (
        "import sys; from xladoctor.doctor import load_evidence;"
        f" load_evidence({str(SAMPLE)!r}); sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


#: Runs the command as for a large timeline.
IMPATIENT = (
    "from xladoctor.ingest.xplane import compiled; compiled.PATIENCE = -1;"
    " from xladoctor.cli.main import main; main()"
)


def analyze(**environment: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))
    }
    return subprocess.run(
        [sys.executable, "-c", IMPATIENT, "analyze", str(SAMPLE), "--color", "never"],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The report of the first call, and the cache folder that it leaves."""
    cache = tmp_path_factory.mktemp("cache")
    return analyze(XDG_CACHE_HOME=str(cache)).stdout, cache


@pytest.fixture
def cache(first: tuple[str, Path], tmp_path: Path) -> Path:
    """A copy of that folder, to be changed."""
    return shutil.copytree(first[1], tmp_path / "cache")


@pytest.mark.thorough
@pytest.mark.xdist_group("machine-code")
def test_the_first_call_keeps_machine_code_for_the_next(
    first: tuple[str, Path], cache: Path
) -> None:
    kept = list((cache / "xladoctor" / "numba").rglob("*.nbc"))
    assert {path.name.split(".")[0] for path in kept} >= {"wire", "nesting", "activity"}
    written = {path: path.stat().st_mtime_ns for path in kept}
    second = analyze(XDG_CACHE_HOME=str(cache))
    assert second.stdout == first[0]
    assert "recompiled" not in second.stdout
    assert {path: path.stat().st_mtime_ns for path in kept} == written


@pytest.mark.thorough
def test_without_a_place_to_keep_it_it_works_and_says_why_it_is_slow(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")  # no folder can be made below a file, whoever tries
    report = analyze(XDG_CACHE_HOME=str(nowhere)).stdout
    assert report.count("no cache folder can be written (set XDG_CACHE_HOME to one)") == 1
    assert "XD201" in report


@pytest.mark.thorough
def test_a_cache_folder_of_numbas_own_is_used(tmp_path: Path) -> None:
    analyze(NUMBA_CACHE_DIR=str(tmp_path / "mine"), XDG_CACHE_HOME="/proc/nowhere")
    assert list((tmp_path / "mine").rglob("*.nbc"))


@pytest.mark.xdist_group("machine-code")
@pytest.mark.thorough
def test_machine_code_that_was_damaged_is_compiled_again(
    first: tuple[str, Path], cache: Path
) -> None:
    """A single bit decides whether machine code runs, does something else, or ends the process."""
    folder = cache / "xladoctor" / "numba"
    whole = {path: path.read_bytes() for path in folder.rglob("*.nbc")}
    for path, content in whole.items():
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    damaged = {path: path.read_bytes() for path in whole}

    assert analyze(XDG_CACHE_HOME=str(cache)).stdout == first[0]
    assert not [path for path, content in damaged.items() if path.read_bytes() == content]


@pytest.mark.thorough
@pytest.mark.xdist_group("machine-code")
@pytest.mark.parametrize("keep", [0, 20, 50])
def test_files_that_were_cut_off_are_written_anew(
    first: tuple[str, Path], cache: Path, keep: int
) -> None:
    folder = cache / "xladoctor" / "numba"
    for path in folder.rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:keep])
    for _ in range(2):
        assert analyze(XDG_CACHE_HOME=str(cache)).stdout == first[0]
    sizes = [path.stat().st_size for path in folder.rglob("*.nbc")]
    assert min(sizes) > 50


@pytest.mark.thorough
@pytest.mark.xdist_group("machine-code")
def test_files_may_be_damaged_while_they_are_loaded(first: tuple[str, Path], cache: Path) -> None:
    files = list((cache / "xladoctor" / "numba").rglob("*.nbc"))
    whole = {path: path.read_bytes() for path in files}
    over = threading.Event()

    def damage() -> None:
        while not over.is_set():
            for path, content in whole.items():
                path.write_bytes(content[: len(content) // 2] + bytes(len(content) // 2))
                path.write_bytes(content)

    damaging = threading.Thread(target=damage)
    damaging.start()
    try:
        with ThreadPoolExecutor(2) as threads:
            reports = list(
                threads.map(lambda _: analyze(XDG_CACHE_HOME=str(cache)).stdout, range(4))
            )
    finally:
        over.set()
        damaging.join()
    assert set(reports) == {first[0]}
