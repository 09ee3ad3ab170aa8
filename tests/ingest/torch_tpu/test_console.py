"""What TorchTPU prints: ``console.log`` as torch_tpu 0.2.0 did on a CPU; other lines as its source
has them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.evidence.schema import TABLES
from xladoctor.frontends.torch_tpu.ingest.console import ConsoleLog
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.recorded_elsewhere import read_elsewhere

CONSOLE = (Path(__file__).parent / "console.log").read_text(encoding="utf-8")
BUILD = (
    "/env/lib/python3.11/site-packages/torch_tpu/_loader.py:183: UserWarning:"
    " <TorchTpu/Performance/UnoptimizedBuild/> [UNOPTIMIZED BUILD] TorchTPU was compiled in an"
    " unoptimized mode.\n"
)
OF_C = (
    "[W1127 14:19:59.306568923 env_vars.h:405] Warning: <TorchTpu/Performance/> slow"
    " (function operator())\n"
)
OF_PROGRAM = "/home/ada/train.py:31: UserWarning: <TorchTpu/Performance/Layout/> slow\n"
FAILED = (
    "WARNING:absl:Handshake failed for rank 3 with executable fingerprint 5 and"
    " pg_to_num_collectives {(0, 1): 2}\n"
)
WRONG = "/home/ada/train.py:31: UserWarning: <TorchTpu/Correctness/> DTensor.from_local is uneven\n"
STAGE = "[W1127 env_vars.h:405] Warning: <TorchTpu/ApiStage/ExperimentalApi/> may change\n"
STATISTICS = """{0}I0000 0 0 cache.cc:203] CompilationCache final stats: num_cache_reqs=4
{0}num_cache_hits=1 {{25.0%}}
{0}num_compilations=3
{0}peak_compilation_memory_bytes=1024
"""


def read(folder: Path, text: str) -> Ingested:
    (folder / "console.log").write_text(text, encoding="utf-8")
    return read_elsewhere([folder / "console.log"])


def rows(ingested: Ingested, table: str, *names: str) -> list[tuple[Any, ...]]:
    columns = ingested.tables.get(table)
    return [*zip(*(columns[name] for name in names), strict=True)] if columns else []


def test_statistics_are_counters(tmp_path: Path) -> None:
    ingested = read(tmp_path, CONSOLE)

    assert rows(ingested, "counter", "process", "name", "value") == [
        (0, "num_cache_reqs", 84),
        (0, "num_cache_hits", 49),
        (0, "num_compilations", 35),
    ]
    assert ingested.tables["process"]["frontend"] == ["torch_tpu"]
    assert "84 executables were looked up, 35 compiled" in "\n".join(ingested.notes)


def test_warning_about_the_allocator_is_kept_with_its_cure(tmp_path: Path) -> None:
    ((kind, count, text, file),) = rows(
        read(tmp_path, CONSOLE), "logged_warning", "kind", "count", "text", "file"
    )

    assert (kind, count, file) == ("Performance/TcMalloc", 1, None)
    assert text.startswith("tcmalloc is not loaded;")
    assert "Preload libtcmalloc" in text


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (BUILD * 2, ("Performance/UnoptimizedBuild", 2, None, None)),
        (OF_C, ("Performance", 1, None, None)),
        (OF_PROGRAM, ("Performance/Layout", 1, "/home/ada/train.py", 31)),
        (FAILED, ("handshake failed", 1, None, None)),
        (
            "W1127 handshake.py:365] We do not support non global PG handshakes: expected only\n",
            ("handshake of a part of the ranks", 1, None, None),
        ),
    ],
)
def test_warnings_are_counted_by_kind(
    tmp_path: Path, lines: str, expected: tuple[str, int, str | None, int | None]
) -> None:
    ingested = read(tmp_path, f"epoch 1\n{lines}epoch 2\n")

    assert rows(ingested, "logged_warning", "kind", "count", "file", "line") == [expected]
    assert set(ingested.tables["logged_warning"]) == set(TABLES["logged_warning"].columns)


def test_text_of_a_warning_ends_before_the_function(tmp_path: Path) -> None:
    assert rows(read(tmp_path, OF_C), "logged_warning", "text") == [("slow",)]


def test_warnings_of_wrong_results_are_notes(tmp_path: Path) -> None:
    ingested = read(tmp_path, WRONG)

    assert ingested.notes == ["TorchTPU warns of wrong results: DTensor.from_local is uneven"]
    assert not rows(ingested, "logged_warning", "kind")


def test_processes_are_told_apart_by_what_is_in_front(tmp_path: Path) -> None:
    ingested = read(tmp_path, STATISTICS.format("[rank0] ") + STATISTICS.format("[rank1] "))

    names = ("process", "name", "value")
    assert {row for row in rows(ingested, "counter", *names) if row[1] == "num_compilations"} == {
        (0, "num_compilations", 3),
        (1, "num_compilations", 3),
    }


def test_lines_of_ranks_may_alternate(tmp_path: Path) -> None:
    blocks = (STATISTICS.format(f"[rank{rank}]: ").splitlines(keepends=True) for rank in (0, 1))
    ingested = read(tmp_path, "".join(line for pair in zip(*blocks, strict=True) for line in pair))

    assert rows(ingested, "counter", "value") == [(4,), (1,), (3,), (1024,)] * 2


def test_statistics_of_processes_without_a_name_are_added_up(tmp_path: Path) -> None:
    ingested = read(tmp_path, STATISTICS.format("") * 2)

    assert ("num_compilations", 6) in rows(ingested, "counter", "name", "value")
    assert "of 2 processes: 8 executables were looked up, 6 compiled" in ingested.notes[0]


def test_dropped_launches_are_noted(tmp_path: Path) -> None:
    ingested = read(
        tmp_path, "WARNING:absl:torch_tpu tracing dropped 7000 events since last drain\n"
    )

    assert ingested.notes == ["TorchTPU has left 7,000 launches out of the log of TORCH_TRACE"]


def test_other_categories_alone_are_no_evidence(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="neither a warning about performance nor"):
        read(tmp_path, STAGE)


def test_compilations_of_pytorch_s_own_log_are_kept_beside(tmp_path: Path) -> None:
    recompiled = (
        "V1127 14:00:00.0 7 torch/_dynamo/guards.py:3] [0/1] [__recompiles] Recompiling function f"
        " in /home/ada/train.py:3\n"
        "V1127 14:00:00.0 7 torch/_dynamo/guards.py:3] [0/1] [__recompiles]     triggered by the"
        " following guard failure(s):\n"
        "V1127 14:00:00.0 7 torch/_dynamo/guards.py:3] [0/1] [__recompiles]     - 0/0: x.size()[0]"
        " == 4\n"
    )
    ingested = read(tmp_path, recompiled + STATISTICS.format(""))

    assert ingested.tables["process"]["frontend"] == ["torch_tpu"]
    assert len(rows(ingested, "compilation", "cause")) == 2
    assert ("num_compilations", 3) in rows(ingested, "counter", "name", "value")


_PIECES = (*CONSOLE.splitlines(), *STATISTICS.format("").splitlines(), BUILD, WRONG, FAILED, OF_C)


@given(st.lists(st.sampled_from(_PIECES) | st.text(max_size=80), max_size=30))
def test_any_order_of_lines_is_read(lines: list[str]) -> None:
    log = ConsoleLog()
    for line in lines:
        if ConsoleLog.mark(line):
            log.take(line)
    ingested = Ingested()
    if log.has_records:
        log.add(Gathered(), ingested.of(0))

    warned = sum("<TorchTpu/Performance/" in line for line in lines)
    failed = sum("Handshake failed for rank" in line for line in lines)
    counted = sum(count for (count,) in rows(ingested, "logged_warning", "count"))
    assert counted == warned + failed


@given(st.text())
def test_any_line_may_follow_statistics(line: str) -> None:
    log = ConsoleLog()
    assert log.take("CompilationCache final stats: num_cache_reqs=12")
    log.take(line)
    assert log.has_records
