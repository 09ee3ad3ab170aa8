"""Verdicts on recorded processes of torch 2.9 and torch_xla 2.9, with and without native frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xladoctor.stacks.interface import Child, Frame, Kind, Stacks, SystemCall, Thread
from xladoctor.stacks.verdict import of_process, of_thread

RECORDED = Path(__file__).parent / "recorded"
#: By name: of the last process what it does, the user's line, and whether that is sure.
EXPECTED: dict[str, tuple[Kind, str, str, int, bool]] = {
    "compile": (
        Kind.compiling,
        "compiles or builds a graph in a barrier",
        "compile.py",
        7,
        False,
    ),
    "compile_native": (Kind.compiling, "compiles a graph", "compile.py", 7, True),
    "item_native": (Kind.transfer, "waits for a value from the device", "item.py", 10, True),
    "wait": (Kind.device, "waits for the device", "wait.py", 10, True),
    "wait_native": (Kind.device, "waits for the device", "wait.py", 10, True),
    "device_loader": (Kind.data, "waits for the next batch", "device_loader.py", 8, True),
    "device_loader_native": (Kind.data, "waits for the next batch", "device_loader.py", 8, True),
    "rendezvous": (Kind.collective, "waits in a collective", "rendezvous.py", 7, True),
    "rendezvous_native": (Kind.collective, "waits in a collective", "rendezvous.py", 7, True),
}


def recorded(name: str) -> list[Stacks]:
    """The processes of a file that ``xladoctor stacks --format json`` printed."""
    recorded = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return [_stacks(record) for record in recorded["processes"]]


def _stacks(record: dict[str, Any]) -> Stacks:
    threads = tuple(_thread(each) for each in record["threads"])
    children = tuple(Child(**each) for each in record["children"])
    rest = {**record, "threads": threads, "children": children, "notes": tuple(record["notes"])}
    return Stacks(**rest)


def _thread(record: dict[str, Any]) -> Thread:
    frames = tuple(Frame(**frame) for frame in record["frames"])
    call = SystemCall(**record["call"]) if record["call"] else None
    return Thread(**{**record, "frames": frames, "call": call})


@pytest.mark.parametrize("name", EXPECTED)
def test_verdict_and_line(name: str) -> None:
    kind, text, file, line, sure = EXPECTED[name]
    verdict = of_process(recorded(name)[-1])
    assert (verdict.kind, verdict.text, verdict.sure) == (kind, text, sure)
    assert verdict.frame is not None
    assert (Path(verdict.frame.file).name, verdict.frame.line) == (file, line)


def test_every_recording_is_looked_at() -> None:
    others = {"item", "loader", "loader_native", "collective", "collective_native"}
    assert {path.stem for path in RECORDED.glob("*.json")} == {*EXPECTED, *others}


def test_read_of_a_value_is_not_guessed_without_its_source() -> None:
    (stacks,) = recorded("item")
    verdict = of_process(stacks)
    assert (verdict.kind, verdict.text) == (Kind.unknown, "waits in native code")
    assert "--native" in verdict.hints[0]


@pytest.mark.parametrize("name", ["loader", "loader_native"])
def test_data_loader_and_its_workers(name: str) -> None:
    main, *workers = recorded(name)
    verdict = of_process(main)
    assert (verdict.kind, verdict.text) == (Kind.data, "waits for the next batch")
    assert verdict.hints == ("its child processes hold it up",)
    assert len(workers) == 2
    for worker in workers:
        verdict = of_process(worker)
        assert (verdict.kind, verdict.text) == (Kind.sleep, "sleeps")
        assert verdict.frame is not None
        assert (Path(verdict.frame.file).name, verdict.frame.line) == ("loader.py", 6)


def test_loader_thread_that_holds_up_the_batch() -> None:
    (stacks,) = recorded("device_loader")
    assert of_process(stacks).hints == (
        "thread Thread-1 (_loader_worker) sleeps at device_loader.py:5",
    )


@pytest.mark.parametrize("name", ["collective", "collective_native"])
def test_launch_and_replicas_that_hang_in_a_collective(name: str) -> None:
    launch, *_, replicas = recorded(name)
    verdict = of_process(launch)
    assert verdict.text == "waits for the processes of torch_xla.launch"
    assert verdict.hints == ("its child processes hold it up",)
    verdict = of_process(replicas)
    assert verdict.text == "waits for the threads of torch_xla.launch"
    threads = [of_thread(thread, replicas) for thread in replicas.threads]
    at = [(each.kind, each.frame.line) for each in threads if each.frame is not None]
    if name == "collective_native":
        assert at == [(Kind.device, 8), (Kind.device, 8)]
        assert "one of them has not joined" in verdict.hints[-1]
    else:
        assert at == [(Kind.transfer, 8), (Kind.transfer, 8)]
