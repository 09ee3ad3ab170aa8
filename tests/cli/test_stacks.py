"""``xladoctor stacks`` from outside: what is shown, left out, and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import started
from tests.stacks.programs import hanging

CAPTURED = """
    import threading, time
    for name in ("worker", "xladoctor-writer"):
        threading.Thread(target=lambda: time.sleep(1000), name=name).start()
    print("ready", flush=True)
    time.sleep(1000)
"""
PARENT = """
    import os, time
    child = os.fork()
    if child: print("ready", flush=True)
    time.sleep(1000)
"""


def test_own_threads_are_shown_on_request(tmp_path: Path) -> None:
    with hanging(tmp_path, CAPTURED) as pid:
        done = started("stacks", str(pid))
        everything = started("stacks", str(pid), "--all")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"process {pid}  ")
    assert "\nworker (" in done.stdout
    assert "xladoctor-writer" not in done.stdout
    assert "\nxladoctor-writer (" in everything.stdout


def test_children_come_with_it_unless_refused(tmp_path: Path) -> None:
    with hanging(tmp_path, PARENT) as pid:
        tree = started("stacks", str(pid), "--format", "json")
        alone = started("stacks", str(pid), "--no-children", "--format", "json")
    parent, child = json.loads(tree.stdout)["processes"]
    assert parent["pid"] == pid
    assert parent["children"][0]["pid"] == child["pid"]
    assert child["forked"]
    assert [each["pid"] for each in json.loads(alone.stdout)["processes"]] == [pid]


def test_native(tmp_path: Path) -> None:
    with hanging(tmp_path, CAPTURED) as pid:
        (process,) = json.loads(started("stacks", str(pid), "--native", "--format", "json").stdout)[
            "processes"
        ]
    assert process["native"]
    assert any(frame["native"] for frame in process["threads"][0]["frames"])
    assert process["verdict"]["kind"] == "sleep"


@pytest.mark.parametrize("words", [["0"], ["train.py"], []])
def test_wrong_usage(words: list[str]) -> None:
    done = started("stacks", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_no_such_process() -> None:
    done = started("stacks", str(2**22 + 1))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"xladoctor: there is no process {2**22 + 1}\n  ")
