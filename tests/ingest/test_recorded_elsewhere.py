"""Several kinds of evidence of one program, in a folder or named one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.loop_trace import loop
from tests.ingest.test_records import compiled
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.ingest.interface import IngestError

REPORT = "Metric: CompileTime\n  TotalSamples: 2\n  Accumulator: 03s000ms000.000us\n"
REPORT += "  Percentiles: 50%=01s500ms000.000us\nCounter: xla::add\n  Value: 9\n"
LOG = """Compilation Analysis: ====
Compilation Analysis: Compilation Cause
Compilation Analysis:   user torch_xla.sync
Compilation Analysis: Graph Info:
Compilation Analysis:   Graph Hash: {hash}
Compilation Analysis:   Number of Graph Inputs: 4
Compilation Analysis:   Number of Graph Outputs: 2
Compilation Analysis: Python Frame Triggered Execution:
Compilation Analysis:   train (/home/ada/train.py:40)
Compilation Analysis: --------
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trace two folders down, a report, a log, and files of other kinds."""
    trace = tmp_path / "logs" / "trace" / "vm.xplane.pb"
    trace.parent.mkdir(parents=True)
    trace.write_bytes(compiled(compiled(loop(3), 105, "aa"), 1105, "bb").space.bytes())
    (tmp_path / "metrics.txt").write_text(REPORT)
    log = "".join(LOG.format(hash=name) for name in ("aa", "bb"))
    (tmp_path / "console.log").write_text(f"epoch 1\n{log}epoch 2\n")
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "weights.bin").write_bytes(bytes(100))
    return tmp_path


def test_a_folder_is_one_program(folder: Path) -> None:
    evidence = load_evidence(str(folder))
    rows = evidence.database.rows(
        "SELECT process, step, file, line, duration_ns FROM compilation ORDER BY index"
    )
    assert [tuple(row.values()) for row in rows] == [
        (0, 0, "/home/ada/train.py", 40, 3000), (0, 1, "/home/ada/train.py", 40, 3000)
    ]  # fmt: skip
    assert evidence.database.scalar("SELECT compiled FROM reported WHERE process = 0") == 2
    assert evidence.notes == (
        f"{folder}/console.log: an analysis log; {folder}/metrics.txt: a metrics report;"
        " taken as one process with the timeline",
    )


def test_files_one_by_one_say_the_same(folder: Path) -> None:
    files = [folder / "logs", folder / "metrics.txt", folder / "console.log"]
    together = diagnose(load_evidence([str(file) for file in files]), load_rules())
    whole = diagnose(load_evidence(str(folder)), load_rules())
    assert together.run.kind == "files"
    assert [f.message for f in together.findings] == [f.message for f in whole.findings]
    assert together.rules == whole.rules


def test_texts_beside_several_timelines_are_a_process_of_their_own(folder: Path) -> None:
    trace = folder / "logs" / "trace" / "vm.xplane.pb"
    (trace.parent / "vm2.xplane.pb").write_bytes(trace.read_bytes())
    processes = load_evidence(str(folder)).database.rows(
        "SELECT process, count(*) AS n FROM compilation GROUP BY ALL ORDER BY ALL"
    )
    assert [tuple(row.values()) for row in processes] == [(0, 2), (1, 2), (2, 2)]


def test_a_second_report_is_another_process(folder: Path) -> None:
    (folder / "rank1.txt").write_text(REPORT.replace("TotalSamples: 2", "TotalSamples: 7"))
    evidence = load_evidence([str(folder / name) for name in ("metrics.txt", "rank1.txt")])
    rows = evidence.database.rows("SELECT process, compiled FROM reported ORDER BY process")
    assert [tuple(row.values()) for row in rows] == [(0, 2), (1, 7)]
    assert evidence.notes[-1].endswith("as one process, each report after the first as one more")


def test_a_named_file_of_another_kind_is_an_error(folder: Path) -> None:
    with pytest.raises(IngestError, match=r"train\.py: no metrics report"):
        load_evidence([str(folder / "metrics.txt"), str(folder / "train.py")])


def test_a_folder_with_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    with pytest.raises(IngestError, match="nothing in it that can be read") as caught:
        load_evidence(str(tmp_path))
    assert caught.value.hint is not None
    assert "xladoctor run" in caught.value.hint
