"""How stacks look: within the width, with and without colour."""

from __future__ import annotations

import io
import re

import pytest

from tests.stacks.test_recorded import recorded
from xladoctor.report.interface import Style
from xladoctor.report.stacks import record, render

CONTROL = re.compile(r"\x1b\[[0-9;]*m")
LOADER = """\
process PID  /home/ada/venv/bin/python device_loader.py
  waits for the next batch at /home/ada/device_loader.py:8
  thread Thread-1 (_loader_worker) sleeps at device_loader.py:5

MainThread (PID) waits for the next batch
    Condition.wait                         threading.py:327
    Queue.get                              torch_xla/utils/keyd_queue.py:80
    ParallelLoader.next_item               torch_xla/…/parallel_loader.py:141
    PerDeviceLoader.next                   torch_xla/…/parallel_loader.py:50
    PerDeviceLoader.__next__               torch_xla/…/parallel_loader.py:34
  → <module>                               /home/ada/device_loader.py:8

Thread-1 (_loader_worker) (PID) sleeps
  → batches                                /home/ada/device_loader.py:5
    ParallelLoader._loader_worker          torch_xla/…/parallel_loader.py:165
    Thread.run                             threading.py:982
    Thread._bootstrap_inner                threading.py:1045
    Thread._bootstrap                      threading.py:1002

1 other thread waits for work (--all)
"""


def shown(name: str, style: Style, everything: bool = False) -> str:
    output = io.StringIO()
    for stacks in recorded(name):
        render(stacks, output, style, everything)
    return output.getvalue()


def test_whole_text() -> None:
    text = shown("device_loader", Style(80))
    assert re.sub(r"(?<=process )\d+|(?<=\()\d+(?=\))", "PID", text) == LOADER


@pytest.mark.parametrize("name", ["compile_native", "item_native", "loader", "collective_native"])
@pytest.mark.parametrize("width", [50, 80, 120])
def test_within_the_width(name: str, width: int) -> None:
    assert max(map(len, shown(name, Style(width)).splitlines())) <= width


def test_colour_changes_nothing_else() -> None:
    colored = shown("collective_native", Style(80, color=True))
    assert CONTROL.search(colored)
    assert CONTROL.sub("", colored) == shown("collective_native", Style(80))


def test_ascii() -> None:
    text = shown("collective_native", Style(80, unicode=False))
    assert text.isascii()
    assert "  > train" in text


def test_arguments_of_templates_are_left_out() -> None:
    text = shown("compile_native", Style(120))
    assert "xla::HloPassPipeline::RunPassesInternal " in text
    assert "RunPassesInternal<" not in text


def test_all_threads() -> None:
    text = shown("device_loader", Style(80), everything=True)
    assert "Thread-2 (_worker)" in text
    assert "(--all)" not in text


def test_json_has_verdicts() -> None:
    (stacks,) = recorded("item_native")
    written = record(stacks)
    assert written["verdict"]["kind"] == "transfer"
    (thread,) = written["threads"]
    assert thread["verdict"]["frame"]["line"] == 10
    assert thread["frames"][0]["native"] is True
