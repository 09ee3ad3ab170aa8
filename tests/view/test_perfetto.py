"""What `--perfetto` writes, read with Perfetto's own messages and held against the evidence."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chrome.builder import launch_bound, training
from tests.cli.command import ROOT
from tests.cli.forked import called
from tests.hostile.corpus import HOSTILE, run_directory
from tests.ingest.loop_trace import loop
from tests.view.decoded import Track, decoded, named
from tests.xspace import builder, devices
from xladoctor import doctor
from xladoctor.configuration.interface import Configured
from xladoctor.evidence.interface import Evidence
from xladoctor.view.interface import Slices, slices
from xladoctor.view.interface import Track as Row
from xladoctor.view.perfetto import PerfettoTrace
from xladoctor.view.show import Outcome, write_perfetto

SAMPLES = ROOT / "sample_traces"
_EVENTS = """
    SELECT l.name AS line, e.name, e.start_ns, e.duration_ns, e.depth, e.file, e.file_line, s.value
    FROM event e JOIN line l USING (process, line)
    LEFT JOIN event_stat s ON s.process = e.process AND s.event = e.event AND s.name = 'kind'
        AND e.name = 'xladoctor.read'
"""


def written(path: Path, folder: Path) -> tuple[Evidence, dict[int, Track], Outcome]:
    evidence = doctor.load_evidence(str(path))
    diagnosis = doctor.diagnose(evidence, doctor.selection(Configured(folder=folder)))
    outcome = write_perfetto(evidence, diagnosis, folder / "trace")
    return evidence, decoded(folder / "trace"), outcome


def events_of(evidence: Evidence, *, depth: bool = True) -> Counter[tuple[Any, ...]]:
    """Line, name, begin, duration and depth of each event; the capture's with their new names."""
    counted: Counter[tuple[Any, ...]] = Counter()
    for line, name, begin, lasted, deep, file, number, kind in evidence.database.table(_EVENTS)[1]:
        shown = name
        if name.startswith("xladoctor."):
            what = kind or name.removeprefix("xladoctor.")
            shown = f"{what} {evidence.shown(file)}:{number}" if file else what
        counted[line, shown, begin, lasted, deep if depth else 0] += 1
    return counted


def slices_of(tracks: dict[int, Track], *, depth: bool = True) -> Counter[tuple[Any, ...]]:
    """The same of the tracks that are not ours."""
    ours = {number for number, track in tracks.items() if track.name == "xladoctor"}
    return Counter(
        (track.name, name, begin, lasted, deep if depth else 0)
        for track in tracks.values()
        if track.parent not in ours
        for name, begin, lasted, deep in track.slices
    )


@pytest.mark.parametrize(
    "sample",
    [
        "scalar_read",
        "two_threads",
        *(
            pytest.param(sample, marks=pytest.mark.thorough)
            for sample in ("recompiling", "missing_lowering", "dynamic_shape")
        ),
    ],
)
def test_every_event_of_a_run_is_a_slice(sample: str, tmp_path: Path) -> None:
    evidence, tracks, _ = written(SAMPLES / sample, tmp_path)
    expected = events_of(evidence)
    assert sum(expected.values()) > 1000
    assert slices_of(tracks) == expected


@pytest.mark.parametrize(
    "space", [devices.tpu(), devices.gpu(), devices.jax_cpu()], ids=["tpu", "gpu", "cpu"]
)
def test_every_event_of_other_profilers_is_a_slice(space: builder.Space, tmp_path: Path) -> None:
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(space.bytes())
    evidence, tracks, _ = written(file, tmp_path)
    assert slices_of(tracks, depth=False) == events_of(evidence, depth=False)


def test_every_event_of_a_chrome_trace_is_a_slice(tmp_path: Path) -> None:
    evidence, tracks, _ = written(training().write(tmp_path / "rank0.pt.trace.json"), tmp_path)
    assert slices_of(tracks) == events_of(evidence)
    device = named(tracks, "/device:GPU:0")
    assert named(tracks, "Stream #7").parent in [n for n, t in tracks.items() if t is device]


def test_steps_calls_and_findings_have_names(tmp_path: Path) -> None:
    evidence, tracks, outcome = written(SAMPLES / "scalar_read", tmp_path)
    steps = evidence.database.table(
        "SELECT 'step ' || step, begin_ns, duration_ns, 0 FROM timeline_step ORDER BY begin_ns"
    )[1]
    assert named(tracks, "steps").slices == steps
    assert named(tracks, "step time").values == [(row[1], row[2]) for row in steps]
    names = Counter(name for name, *_ in named(tracks, "python").slices)
    assert names["item programs/scalar_read.py:35"] == 40
    reads = evidence.database.table(
        "SELECT min(begin_ns), sum(duration_ns)::BIGINT FROM host_segment"
        " WHERE region = 'read' GROUP BY call ORDER BY 1"
    )[1]
    (found,) = (track for track in tracks.values() if track.name.startswith("XD"))
    assert found.name.startswith("XD201 programs/scalar_read.py:35 ")
    assert [(begin, lasted) for _, begin, lasted, _ in found.slices] == reads
    assert {name for name, *_ in found.slices} == {"XD201 read programs/scalar_read.py:35"}
    assert outcome.notes == []


def test_loop_has_no_gaps(tmp_path: Path) -> None:
    _, tracks, _ = written(SAMPLES / "scalar_read", tmp_path)
    slices = named(tracks, "loop").slices
    assert len(slices) > 500
    assert all(before[1] + before[2] == after[1] for before, after in pairwise(slices))


def test_compilations_of_a_finding_are_where_they_happened(tmp_path: Path) -> None:
    evidence, tracks, _ = written(SAMPLES / "recompiling", tmp_path)
    (found,) = (track for track in tracks.values() if track.name.startswith("XD"))
    expected = evidence.database.table(
        "SELECT index, end_ns - duration_ns, duration_ns FROM compilation WHERE index > 2"
        " AND end_ns <= (SELECT end_ns FROM timeline) ORDER BY index"
    )[1]
    assert len(expected) > 5
    assert [(begin, lasted) for _, begin, lasted, _ in found.slices] == [
        (begin, lasted) for _, begin, lasted in expected
    ]
    assert [name.split()[2] for name, *_ in found.slices] == [str(row[0]) for row in expected]


def test_a_finding_without_instants_is_named(tmp_path: Path) -> None:
    file = launch_bound().write(tmp_path / "rank0.pt.trace.json")
    _, tracks, outcome = written(file, tmp_path)
    assert [note for note in outcome.notes if note.startswith("not in the timeline: XD")]
    named = {
        note.split()[4] for note in outcome.notes if note.startswith("not in the timeline: XD")
    }
    assert not [track for track in tracks.values() if track.name.split()[0] in named]


def test_threads_belong_to_their_process(tmp_path: Path) -> None:
    folder = tmp_path / "log" / "plugins" / "profile" / "one"
    folder.mkdir(parents=True)
    for host in ("a", "b"):
        (folder / f"{host}.xplane.pb").write_bytes(loop().space.bytes())
    _, tracks, _ = written(tmp_path / "log", tmp_path)
    processes = [track for track in tracks.values() if track.kind == "process"]
    threads = [track for track in tracks.values() if track.kind == "thread"]
    assert len({process.pid for process in processes}) == 2
    assert Counter(thread.pid for thread in threads) == {each.pid: 3 for each in processes}


def test_what_overlaps_is_on_tracks_of_its_own(tmp_path: Path) -> None:
    trace = loop()
    line = trace.space.plane("/host:CPU").line("pool")
    for at in range(5):
        line.event(f"task {at}", at * 10, 35)
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(trace.space.bytes())
    evidence, tracks, outcome = written(file, tmp_path)
    assert slices_of(tracks, depth=False) == events_of(evidence, depth=False)
    pools = [track for track in tracks.values() if track.name == "pool"]
    assert [len(track.slices) for track in pools] == [2, 1, 1, 1]
    assert {tracks[pool.parent].name for pool in pools[1:]} == {"pool"}
    assert outcome.notes == []


def rows_of(tracks: dict[int, Track]) -> list[tuple[str, int, int]]:
    return sorted(
        (name, begin, lasted)
        for track in tracks.values()
        for name, begin, lasted, _ in track.slices
    )


def as_trace(given: Slices, folder: Path) -> tuple[dict[int, Track], PerfettoTrace]:
    """Slices alone, on one track."""
    stream = io.BytesIO()
    trace = PerfettoTrace(stream)
    trace.add_row(trace.add_track(name="all"), Row("all", given))
    (folder / "one").write_bytes(stream.getvalue())
    return decoded(folder / "one"), trace


ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "ö" * 90]), st.integers(0, 50), st.integers(0, 30)),
    max_size=60,
)


@given(ROWS)
def test_whatever_overlaps_is_kept(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, int]]
) -> None:
    tracks, trace = as_trace(slices(rows), tmp_path_factory.mktemp("rows"))
    assert rows_of(tracks) == sorted(rows)
    assert (trace.slices, trace.shortened) == (len(rows), 0)


def test_too_much_overlap_is_told(tmp_path: Path) -> None:
    rows = [(f"task {at}", at, 1000) for at in range(200)]
    tracks, trace = as_trace(slices(rows), tmp_path)
    found = rows_of(tracks)
    assert [row[:2] for row in found] == sorted(row[:2] for row in rows)
    assert sum(row[2] != 1000 for row in found) == trace.shortened == 200 - 64


def test_more_than_a_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xladoctor.view.perfetto._BUFFER", 100)
    rows = [(f"task {at % 7}", at, 1) for at in range(1000)]
    assert rows_of(as_trace(slices(rows), tmp_path)[0]) == sorted(rows)


def test_file_is_packed_by_its_name(tmp_path: Path) -> None:
    plain, packed = tmp_path / "trace.pftrace", tmp_path / "trace.pftrace.gz"
    for file in (plain, packed):
        done = called("view", SAMPLES / "scalar_read", "--perfetto", file)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{file}: 14,410 slices; open it at https://ui.perfetto.dev\n"
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert sum(len(track.slices) for track in decoded(packed).values()) == 14410


def test_what_others_wrote_is_shown_as_text(tmp_path: Path) -> None:
    run = run_directory(tmp_path)
    file = tmp_path / HOSTILE.replace("/", " ")[:100]
    done = called("view", run, "--perfetto", file)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    assert {c for c in done.stdout + done.stderr if not c.isprintable()} == {"\n"}
    assert sum(len(track.slices) for track in decoded(file).values()) > 1000


def test_what_is_left_of_a_damaged_timeline_is_written(tmp_path: Path) -> None:
    file = tmp_path / "host.xplane.pb"
    content = loop(40).space.bytes()
    file.write_bytes(content[: len(content) * 3 // 4])
    evidence, tracks, _ = written(file, tmp_path)
    assert [note for note in evidence.notes if "cut off" in note]
    assert slices_of(tracks) == events_of(evidence)


def test_a_run_without_a_timeline_is_an_error(tmp_path: Path) -> None:
    report, file = tmp_path / "metrics.txt", tmp_path / "trace"
    report.write_text("Counter: aten::nonzero\n  Value: 3\n")
    file.write_text("precious")
    done = called("view", report, "--perfetto", file)
    assert done.returncode == 2
    assert f"{report}: no timeline, so there is nothing to show\n" in done.stderr
    assert "xladoctor run records one" in done.stderr
    assert file.read_text() == "precious"


def test_the_timeline_itself_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(loop().space.bytes())
    (tmp_path / "link").symlink_to(file)
    done = called("view", file, "--perfetto", tmp_path / "link")
    assert (done.returncode, file.read_bytes()) == (2, loop().space.bytes())
    assert "is the timeline itself" in done.stderr


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    done = called("view", SAMPLES / "scalar_read", "--perfetto", tmp_path / "none" / "trace")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot write {tmp_path}/none/trace: No such file or directory" in done.stderr
