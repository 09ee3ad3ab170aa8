"""What TorchTPU prints: counts of its cache, and warnings. The recorded console is of torch_tpu
0.2.0 over a CPU; warnings of several processes are as its source has them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.frontends.torch_tpu.ingest.console import Console
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.recorded_elsewhere import read_elsewhere

RECORDED = Path(__file__).parent / "recorded" / "console.txt"
STATISTICS = """\
I0000 00:00:17.0 24159 compilation_cache.cc:203] CompilationCache final stats: num_cache_reqs=126
num_cache_hits=118 {93.6%}
num_compilations=8
peak_compilation_memory_bytes=unknown

"""
HANDSHAKE = """\
W1127 14:16:29.469124 140 split_compiler.py:123] Handshake failed for rank 1 with executable \
fingerprint 17 and pg_to_num_collectives {global: 2}
W1127 14:16:29.469130 140 split_compiler.py:130] Handshake failed on rank 1 for graph module:
--- [BEGIN GRAPH MODULE: 17] ---
class GraphModule(torch.nn.Module):
--- [END GRAPH MODULE: 17] ---
"""


def rows(ingested: Ingested, table: str, *names: str) -> list[tuple[Any, ...]]:
    columns = ingested.tables[table]
    return [*zip(*(columns[name] for name in names), strict=True)] if columns else []


def read(folder: Path, text: str) -> Ingested:
    (folder / "console.log").write_text(text)
    return read_elsewhere([folder / "console.log"])


def test_a_recorded_console_has_counts_and_a_warning() -> None:
    ingested = read_elsewhere([RECORDED])

    assert rows(ingested, "counter", "name", "value") == [
        ("num_cache_reqs", 120),
        ("num_cache_hits", 102),
        ("num_compilations", 18),
    ]
    assert rows(ingested, "framework_warning", "kind", "count", "file") == [
        ("Performance/TcMalloc", 1, None)
    ]
    assert ingested.tables["process"]["frontend"] == ["torch_tpu"]
    assert any("TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT" in note for note in ingested.notes)


def test_the_warning_becomes_a_finding_with_its_cure() -> None:
    found = diagnose(load_evidence(str(RECORDED)), load_rules()).findings

    assert [finding.rule for finding in found] == ["XD708"]
    assert "LD_PRELOAD" in found[0].fix


def test_counts_stand_between_other_output(tmp_path: Path) -> None:
    ingested = read(tmp_path, f"loss 1.2\n{STATISTICS}done\n")

    assert rows(ingested, "counter", "name", "value") == [
        ("num_cache_reqs", 126),
        ("num_cache_hits", 118),
        ("num_compilations", 8),
    ]
    assert any("126 launches and 8 executables" in note for note in ingested.notes)


@pytest.mark.parametrize("lines", range(1, 5))
def test_counts_may_be_cut(lines: int, tmp_path: Path) -> None:
    ingested = read(tmp_path, "\n".join(STATISTICS.splitlines()[:lines]))

    assert len(rows(ingested, "counter", "name")) == min(lines, 3)


def test_counts_of_ranks_are_told_apart(tmp_path: Path) -> None:
    text = "".join(
        f"[rank{rank}]: {line}\n" for rank in (0, 1) for line in STATISTICS.splitlines()[:3]
    )

    ingested = read(tmp_path, text)

    assert rows(ingested, "counter", "process", "value") == [
        (process, value) for process in (0, 1) for value in (126, 118, 8)
    ]


def test_failed_handshakes_are_counted(tmp_path: Path) -> None:
    ingested = read(tmp_path, HANDSHAKE * 2)

    assert rows(ingested, "framework_warning", "kind", "count") == [("handshake", 2)]


def test_graphs_that_were_split_are_counted_by_their_parts(tmp_path: Path) -> None:
    text = "".join(
        f"I1 split_compiler.py:682] Split graph into {n} partitions\n" for n in (1, 3, 3)
    )

    ingested = read(tmp_path, text)

    assert rows(ingested, "framework_warning", "text", "count") == [
        ("Split graph into 3 partitions", 2)
    ]


def test_a_warning_of_the_program_has_its_line(tmp_path: Path) -> None:
    text = "/home/ada/train.py:7: UserWarning: <TorchTpu/Performance/> it may be slow.\n  x.mm(y)\n"

    ingested = read(tmp_path, text)

    names = ("kind", "text", "file", "line")
    assert rows(ingested, "framework_warning", *names) == [
        ("Performance", "it may be slow.", "/home/ada/train.py", 7)
    ]


def test_a_warning_of_cxx_has_no_line(tmp_path: Path) -> None:
    text = (
        "[W1127 14:16:29.469124037 dot.cc:40] Warning: <TorchTpu/Performance/> it may be slow."
        " (function operator())\n"
    )

    ingested = read(tmp_path, text)

    assert rows(ingested, "framework_warning", "text", "file") == [("it may be slow.", None)]


@pytest.mark.parametrize(
    "text",
    [
        "/a.py:7: UserWarning: <TorchTpu/ApiStage/ExperimentalApi/> precision is experimental\n",
        "I00 tier2.cc:80] Tier-2 compilation cache is disabled for world size 1.\n",
        "Split graph into several\n",
    ],
)
def test_what_says_nothing_about_speed_is_no_evidence(text: str, tmp_path: Path) -> None:
    with pytest.raises(IngestError):
        read(tmp_path, text)


def test_a_cache_in_use_is_not_said_to_be_off(tmp_path: Path) -> None:
    text = "I00 utils.cc:218] Tier-3 compilation cache root directory: /var/cache\n"

    assert not any("keeps no" in note for note in read(tmp_path, text + STATISTICS).notes)


def test_launches_left_out_of_the_log_are_noted(tmp_path: Path) -> None:
    text = "WARNING:absl:torch_tpu tracing dropped 1200 events since last drain\n"

    assert any("1,200 launches" in note for note in read(tmp_path, text + STATISTICS).notes)


PIECES = st.sampled_from(
    (
        *Console.MARKS,
        "num_cache_hits=",
        "num_compilations=8",
        "9",
        "/> ",
        "Performance/",
        "/a.py:7: W: ",
    )
)


@given(st.lists(st.lists(st.one_of(PIECES, st.text(max_size=9)), max_size=6), max_size=12))
def test_any_console_is_read(lines: list[list[str]]) -> None:
    console = Console()
    for line in lines:
        if console.mark("".join(line)) or console.inside:
            console.take("".join(line) + "\n")
    ingested = Ingested()
    console.add(0, ingested)

    assert console.has_records == bool(
        ingested.tables.get("counter") or ingested.tables["framework_warning"]
    )


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_counts_are_read_as_they_are_printed(hits: int, compiled: int) -> None:
    console = Console()
    text = STATISTICS.replace("hits=118", f"hits={hits}").replace(
        "compilations=8", f"compilations={compiled}"
    )
    for line in text.splitlines():
        console.take(line)
    ingested = Ingested()
    console.add(0, ingested)

    counted = dict(rows(ingested, "counter", "name", "value"))
    assert counted == {"num_cache_reqs": 126, "num_cache_hits": hits, "num_compilations": compiled}
