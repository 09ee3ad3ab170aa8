"""Hosts reduced by themselves and joined: the same as read together, once, and what is left out."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.xspace import builder
from xladoctor.configuration.interface import Configuration, Configured
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.selection import Selection
from xladoctor.doctor import examine, load_evidence, selection
from xladoctor.ingest.interface import IngestError
from xladoctor.pods.engines import ClusterError
from xladoctor.pods.host import Reduced, reduce_host
from xladoctor.pods.joined import JoinedPod, _kept, join_pod
from xladoctor.pods.members import files_of, find_pod
from xladoctor.pods.where import Where

pytestmark = pytest.mark.xdist_group("pods")  # which share what is kept
SPLIT = Where(workers=2)
TABLES = ("timeline_step", "device", "device_step", "collective", "pod_process", "pod_part")


@pytest.fixture(scope="session")
def chosen() -> Selection:
    return selection(Configured(folder=Path.cwd()))


def joined(path: Path, chosen: Selection) -> JoinedPod:
    pod = find_pod([str(path)])
    assert pod is not None
    return join_pod(pod, chosen, SPLIT)


def diagnosed(path: Path, chosen: Selection) -> Diagnosis:
    return examine(str(path), chosen, where=SPLIT).diagnosis


def copied(pod: Path, target: Path) -> list[Path]:
    """The timelines of a copy of a pod."""
    shutil.copytree(pod, target)
    return sorted(target.rglob("*.xplane.pb"))


def test_the_same_as_read_together(slow_input: Path, chosen: Selection) -> None:
    together = load_evidence(str(slow_input)).database
    apart = joined(slow_input, chosen).evidence.database
    for table in TABLES:
        query = f"SELECT * FROM {table} ORDER BY ALL"
        assert apart.rows(query) == together.rows(query) != [], table


def test_the_report_names_the_slow_host_and_the_part(slow_input: Path, chosen: Selection) -> None:
    diagnosis = diagnosed(slow_input, chosen)
    assert diagnosis.run.kind == "pod"
    assert diagnosis.pod is not None
    assert diagnosis.pod.summary.startswith("In each step, pod-w-1 waits 1")
    assert [group.processes for group in diagnosis.pod.groups] == [
        ["pod-w-0", "pod-w-2"],
        ["pod-w-1"],
    ]
    assert diagnosis.pod.groups[1].differs == ["input"]
    assert [(found.rule, found.processes) for found in diagnosis.findings] == [("XD803", ["1"])]


def test_a_second_analysis_reads_no_timeline(
    slow_input: Path, tmp_path: Path, chosen: Selection
) -> None:
    files = copied(slow_input, tmp_path / "pod")
    first = diagnosed(tmp_path / "pod", chosen)
    for file in files:  # the same to look at, with nothing in it
        about = file.stat()
        with file.open("r+b") as opened:
            opened.write(bytes(about.st_size))
        os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert diagnosed(tmp_path / "pod", chosen).pod == first.pod


@pytest.mark.thorough
def test_the_same_content_with_another_date_is_known(
    slow_input: Path, tmp_path: Path, chosen: Selection, cache: Path
) -> None:
    files = copied(slow_input, tmp_path / "pod")
    first = diagnosed(tmp_path / "pod", chosen)
    kept = sorted(cache.glob("*.parquet"))
    for file in files:
        os.utime(file, (1, 1))
    assert diagnosed(tmp_path / "pod", chosen).pod == first.pod
    assert sorted(cache.glob("*.parquet")) == kept


@pytest.mark.thorough
def test_a_copy_elsewhere_has_its_own_paths(
    slow_input: Path, tmp_path: Path, chosen: Selection
) -> None:
    diagnosed(slow_input, chosen)
    files = copied(slow_input, tmp_path / "copy")
    pod = diagnosed(tmp_path / "copy", chosen).pod
    assert pod is not None
    assert [process.path for process in pod.processes] == list(map(str, files))


def test_what_is_kept_and_damaged_is_made_again(
    slow_input: Path, tmp_path: Path, chosen: Selection, cache: Path
) -> None:
    copied(slow_input, tmp_path / "pod")
    first = diagnosed(tmp_path / "pod", chosen)
    for file in cache.glob("*.parquet"):
        file.write_bytes(b"PAR1")
    assert diagnosed(tmp_path / "pod", chosen).pod == first.pod


def test_a_pipe_in_a_run_is_not_read(tmp_path: Path) -> None:
    run = tmp_path / "host-a"
    run.mkdir()
    (run / "run.json").write_text("{}")
    os.mkfifo(run / "process-1")
    (run / "link").symlink_to("/dev/zero")
    assert files_of(run) == [run / "run.json"]


def test_processes_that_cannot_be_compared_are_named(
    slow_input: Path, tmp_path: Path, chosen: Selection
) -> None:
    files = copied(slow_input, tmp_path / "pod")
    space = builder.Space("pod-w-9")
    space.started_at(1_700_000_000_000_000_000)
    space.plane("/host:CPU").line("python").event("import", 0, 100)
    files[0].with_name("pod-w-9.xplane.pb").write_bytes(space.bytes())
    pod = diagnosed(tmp_path / "pod", chosen).pod
    assert pod is not None
    assert pod.of == 4
    assert pod.left_out == ["pod-w-9: no step after warm-up in its timeline"]


def test_a_changed_host_is_read_again(slow_input: Path, tmp_path: Path, chosen: Selection) -> None:
    files = copied(slow_input, tmp_path / "pod")
    diagnosed(tmp_path / "pod", chosen)
    files[1].write_bytes(files[0].read_bytes())
    pod = diagnosed(tmp_path / "pod", chosen).pod
    assert pod is not None
    assert [process.name for process in pod.processes] == [
        "pod-w-0:0", "pod-w-0:1", "pod-w-2"
    ]  # fmt: skip


def test_what_hosts_have_is_reported_unless_it_is_covered(slow_input: Path) -> None:
    without = Configured(folder=Path.cwd(), settings=Configuration(ignore=["XD803"]))
    findings = diagnosed(slow_input, selection(without)).findings
    assert [(found.rule, found.processes) for found in findings] == [("XD501", ["1"])]


@pytest.mark.thorough
def test_other_rules_judge_anew(slow_input: Path) -> None:
    without = Configured(folder=Path.cwd(), settings=Configuration(ignore=["XD803", "XD501"]))
    assert diagnosed(slow_input, selection(without)).findings == []


def test_a_damaged_host_is_named_and_left_out(
    slow_input: Path, tmp_path: Path, chosen: Selection
) -> None:
    files = copied(slow_input, tmp_path / "pod")
    files[0].write_bytes(b"\xff" * 1000)
    diagnosis = diagnosed(tmp_path / "pod", chosen)
    assert diagnosis.pod is not None
    (left_out,) = diagnosis.pod.left_out
    assert left_out.startswith(str(files[0]))
    assert [process.name for process in diagnosis.pod.processes] == ["pod-w-1", "pod-w-2"]
    assert f"{left_out}; left out" in diagnosis.run.incomplete


@pytest.mark.thorough
def test_a_host_that_is_cut_off_is_used_as_far_as_it_goes(
    slow_input: Path, tmp_path: Path, chosen: Selection
) -> None:
    files = copied(slow_input, tmp_path / "pod")
    files[2].write_bytes(files[2].read_bytes()[:-300])
    diagnosis = diagnosed(tmp_path / "pod", chosen)
    assert any("cut off at byte" in note for note in diagnosis.warnings)


@pytest.mark.thorough
def test_none_can_be_read(slow_input: Path, tmp_path: Path, chosen: Selection) -> None:
    for file in copied(slow_input, tmp_path / "pod"):
        file.write_bytes(b"\xff" * 1000)
    with pytest.raises(IngestError, match="none of its 3 hosts can be read"):
        diagnosed(tmp_path / "pod", chosen)


def test_links_out_of_the_folder_are_not_followed(
    slow_input: Path, tmp_path: Path, chosen: Selection
) -> None:
    files = copied(slow_input, tmp_path / "pod")
    secret = tmp_path / "secret.xplane.pb"
    files[0].rename(secret)
    files[0].symlink_to(secret)
    diagnosis = diagnosed(tmp_path / "pod", chosen)
    assert f"{files[0]}: a link or not a plain file; not read" in diagnosis.warnings
    assert diagnosis.pod is not None
    assert "pod-w-0" not in [process.name for process in diagnosis.pod.processes]


@pytest.mark.thorough
def test_without_a_cache(
    slow_input: Path, chosen: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    assert diagnosed(slow_input, chosen).pod is not None


def test_a_cluster_is_for_several_hosts(slow_input: Path, chosen: Selection) -> None:
    one = next(slow_input.rglob("*.xplane.pb"))
    with pytest.raises(IngestError, match="not of several hosts"):
        examine(str(one), chosen, where=Where(cluster="tcp://127.0.0.1:1"))


def test_many_hosts_are_split_by_themselves(tmp_path: Path) -> None:
    folder = tmp_path / "plugins/profile/s"
    folder.mkdir(parents=True)
    for number in range(9):
        (folder / f"host-{number}.xplane.pb").touch()
    pod = find_pod([str(tmp_path)])
    assert pod is not None
    assert pod.is_large
    few = find_pod([str(folder / f"host-{number}.xplane.pb") for number in range(2)])
    assert few is not None
    assert not few.is_large


def test_hosts_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 100, 1):
        (tmp_path / f"w-{number}.xplane.pb").touch()
    pod = find_pod([str(tmp_path)])
    assert pod is not None
    names = [Path(member.path).name for member in pod.members]
    assert names == [f"w-{number}.xplane.pb" for number in (1, 9, 10, 100)]


def test_hosts_reduced_by_another_version(slow_input: Path, tmp_path: Path) -> None:
    pod = find_pod([str(slow_input)])
    assert pod is not None
    with pytest.raises(ClusterError, match=r"workers have xladoctor 0\.0\.1, and here it is"):
        _kept(pod.members[0], Reduced(b"", "key", made_by="0.0.1 abc"), "", tmp_path)


def test_a_bug_costs_one_host(slow_input: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the others: it is named, with what is to be reported."""
    pod = find_pod([str(slow_input)])
    assert pod is not None
    monkeypatch.setattr("xladoctor.pods.host.derive", lambda *_, **__: 1 / 0)
    reduced = reduce_host(pod.members[0], Selection([], [], [], {}))
    assert "a bug in xladoctor" in reduced.fault
    assert "division by zero" in reduced.fault
