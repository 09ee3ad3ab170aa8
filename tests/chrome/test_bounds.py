"""What no profiler writes is bounded, and said: threads, devices, and how deep arguments nest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chrome.builder import Trace
from tests.xspace.builder import Space
from xladoctor.doctor import load_evidence

pytestmark = pytest.mark.usefixtures("loops")


def bound(patch: pytest.MonkeyPatch, name: str, modules: tuple[str, ...]) -> None:
    for module in (*modules, "timeline.read"):
        patch.setattr(f"xladoctor.ingest.{module}.{name}", 3)


@pytest.mark.parametrize("for_viewers", [True, False])
def test_threads_beyond_the_bound_are_left_out_and_lost(
    for_viewers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, "MOST_LINES", ("chrome.read", "xplane.read"))
    path = tmp_path / ("trace.json" if for_viewers else "vm.xplane.pb")
    if for_viewers:
        trace = Trace()
        for thread in range(5):
            trace.event("f", 10 * thread, 5, thread=1 + thread).event("f", 90, 5, thread=1)
        trace.write(path)
    else:
        plane = (space := Space()).plane("/host:CPU")
        for thread in range(5):
            plane.line(f"thread {thread}").event("f", 10 * thread, 5)
        path.write_bytes(space.bytes())
    evidence = load_evidence(str(path))
    assert evidence.database.scalar("SELECT count(DISTINCT line) FROM event") == 3
    lost = f"{path}: more than 3 lines, which no profiler writes; the rest is left out"
    assert lost in evidence.lost
    assert "event" in evidence.cut


def test_devices_beyond_the_bound_are_left_out_and_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, "MOST_DEVICES", ("timeline.devices",))
    trace = Trace()
    for device in range(5):
        trace.event("gemm", 10 * device, 5, "kernel", thread=7, process=device)
    evidence = load_evidence(str(trace.write(tmp_path / "trace.json")))
    assert evidence.database.scalar("SELECT count(*) FROM device") == 3
    assert any("more than 3 devices" in note for note in evidence.lost)


@pytest.mark.parametrize("deep", [60, 70, 3000])
def test_arguments_may_nest_as_deep_as_they_want(deep: int, tmp_path: Path) -> None:
    trace = Trace().event("f", 0, 5, a="DEEP").event("g", 10, 5)
    path = trace.write(tmp_path / "trace.json")
    path.write_text(path.read_text().replace('"DEEP"', "[" * deep + '"a, b"' + "]" * deep))
    evidence = load_evidence(str(path))
    names = [row["name"] for row in evidence.database.rows("SELECT name FROM event ORDER BY name")]
    assert names == ["f", "g"]
    assert not any("damaged" in note for note in evidence.notes)
