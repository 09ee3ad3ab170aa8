"""Several kinds of evidence of one program, in a folder or named one by one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.ingest.hlo_modules import module
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
        (0, 0, "/home/ada/train.py", 40, 3000),
        (0, 1, "/home/ada/train.py", 40, 3000),
    ]
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
    with pytest.raises(IngestError, match=r"train\.py: no run of it in xladoctor-runs/"):
        load_evidence([str(folder / "metrics.txt"), str(folder / "train.py")])


def test_a_folder_with_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    with pytest.raises(IngestError, match="nothing in it that can be read") as caught:
        load_evidence(str(tmp_path))
    assert caught.value.hint is not None
    assert "xladoctor run" in caught.value.hint


def test_packed_files_are_read_as_they_are(folder: Path) -> None:
    plain = load_evidence(str(folder)).database
    for file in ("logs/trace/vm.xplane.pb", "metrics.txt", "console.log"):
        packed = folder / f"{file}.gz"
        packed.write_bytes(gzip.compress((folder / file).read_bytes()))
        (folder / file).unlink()
    both = load_evidence(str(folder)).database
    for table in ("compilation", "timeline_step", "metric", "counter"):
        query = f"SELECT * FROM {table} ORDER BY ALL"
        assert both.rows(query) == plain.rows(query)
        assert plain.rows(query)


def test_a_timeline_beside_its_packed_copy_counts_once(folder: Path) -> None:
    trace = folder / "logs/trace/vm.xplane.pb"
    trace.with_name("vm.xplane.pb.gz").write_bytes(gzip.compress(trace.read_bytes()))
    assert load_evidence(str(folder)).database.scalar("SELECT count(*) FROM timeline") == 1


def test_a_timeline_is_recognized_by_what_it_holds(folder: Path) -> None:
    other = (folder / "logs/trace/vm.xplane.pb").rename(folder / "download (3)")
    assert load_evidence(str(other)).database.scalar("SELECT count(*) FROM compilation") == 2


@pytest.mark.parametrize("name", ["logs/trace/vm.xplane.pb", "metrics.txt"])
def test_what_lies_before_the_damage_of_a_packed_file_is_read(folder: Path, name: str) -> None:
    packed = folder / "file.gz"
    packed.write_bytes(gzip.compress((folder / name).read_bytes(), 0)[:-9])
    evidence = load_evidence(str(packed))
    assert any(f"{packed}: cannot be unpacked beyond byte" in note for note in evidence.notes)
    table = "compilation" if name.endswith("pb") else "metric"
    assert evidence.database.scalar(f"SELECT count(*) FROM {table}")


def test_a_trace_for_viewers_without_events_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "vm.trace.json.gz").write_bytes(gzip.compress(b'{"traceEvents": []}'))
    for path in (tmp_path, tmp_path / "vm.trace.json.gz"):
        with pytest.raises(IngestError, match=r"vm\.trace\.json\.gz: .* without events") as error:
            load_evidence(str(path))
        assert ".xplane.pb" in str(error.value.hint)


def test_a_trace_for_viewers_beside_the_timeline_is_left_alone(folder: Path) -> None:
    notes = load_evidence(str(folder)).notes
    (folder / "logs" / "trace" / "vm.trace.json").write_text('{"traceEvents": []}')
    assert load_evidence(str(folder)).notes == notes


def test_evidence_that_counts_differently_is_said_to(folder: Path) -> None:
    log = "".join(LOG.format(hash=name) for name in ("aa", "bb", "cc", "dd"))
    (folder / "console.log").write_text(log)
    (note,) = (note for note in load_evidence(str(folder)).notes if "compilations:" in note)
    assert "4 in the analysis log, 2 in the metrics report" in note


def dumped(folder: Path, lengths: tuple[int, ...]) -> None:
    """What XLA writes for graphs of one input, whose length differs."""
    for number, length in enumerate(lengths):
        name = f"module_{number:04}.SyncTensorsGraph.{7 + number}"
        graph = module()
        graph.hlo_module.computations[-1].instructions[0].shape.dimensions[1] = length
        proto = graph.SerializeToString()
        (folder / f"{name}.before_optimizations.hlo.pb").write_bytes(proto)
        (folder / f"{name}.cpu_after_optimizations.hlo.pb").write_bytes(proto)
        (folder / f"{name}.debug_options").write_text("xla_dump_to: 1\n")


def test_modules_that_xla_dumped_tell_why_they_were_compiled_again(tmp_path: Path) -> None:
    dumped(tmp_path, tuple(range(20, 40)))
    (finding,) = diagnose(load_evidence(str(tmp_path)), load_rules()).findings
    assert "changed shape, last from f32[16,38] to f32[16,39]" in finding.message
    assert finding.cost.seconds is None


def test_dumped_modules_may_be_packed(tmp_path: Path) -> None:
    dumped(tmp_path, tuple(range(20, 40)))
    plain = load_evidence(str(tmp_path))
    for file in tmp_path.glob("*.before_optimizations.hlo.pb"):
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    packed = load_evidence(str(tmp_path))
    assert packed.notes == plain.notes
    for table in ("compilation", "hlo_module", "hlo_instruction"):
        query = f"SELECT * FROM {table} ORDER BY ALL"
        assert packed.database.rows(query) == plain.database.rows(query) != []


def test_dumped_modules_that_are_damaged_are_counted_and_said_to_be(tmp_path: Path) -> None:
    dumped(tmp_path, (20, 21, 22))
    first, second, _ = sorted(tmp_path.glob("*.before_optimizations.hlo.pb"))
    packed = gzip.compress(first.read_bytes())
    first.rename(f"{first}.gz").write_bytes(packed[:-9])
    second.write_bytes(second.read_bytes()[:-1])
    evidence = load_evidence(str(tmp_path))
    assert evidence.database.scalar("SELECT count(*) FROM compilation") == 3
    assert evidence.notes[0].endswith("; 2 cannot be read, and are only counted")


def test_dumped_modules_that_are_text_are_counted_and_said_to_be(tmp_path: Path) -> None:
    for number in range(3):
        name = f"module_{number:04}.SyncTensorsGraph.7.before_optimizations.txt"
        (tmp_path / name).write_text("HloModule SyncTensorsGraph.7\n")
    evidence = load_evidence(str(tmp_path))
    assert evidence.database.scalar("SELECT count(*) FROM compilation") == 3
    assert "3 are not HLO in protocol buffers" in evidence.notes[0]


def test_dumped_modules_beside_a_timeline_are_not_counted_twice(folder: Path) -> None:
    dumped(folder, (3, 4))
    evidence = load_evidence(str(folder))
    assert evidence.database.scalar("SELECT count(*) FROM compilation") == 2
    assert any("2 modules that XLA dumped; not used" in note for note in evidence.notes)
