"""`xladoctor view` with XProf itself: what its pages are given, and how it begins and ends."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.cli.command import ROOT
from xladoctor.view import xprof
from xladoctor.view.interface import ViewError

SAMPLE = ROOT / "sample_traces/scalar_read"
_PATIENCE_S = 60


@dataclass
class Viewer:
    """A running `xladoctor view`."""

    process: subprocess.Popen[str]
    url: str
    temporary: Path

    def get(self, page: str, **parameters: str) -> Any:
        """What XProf answers, as JSON."""
        return fetched(self.url, page, **parameters)

    def events(self, run: str) -> dict[str, Counter[str]]:
        """The trace viewer's events: plane and row -> how often each name is there."""
        (host,) = self.get("hosts", run=run, tag="trace_viewer@")
        given = self.get("data", run=run, tag="trace_viewer@", host=host["hostname"])
        names = {
            (event["pid"], event.get("tid"), event["name"]): event["args"]["name"]
            for event in given["traceEvents"]
            if event.get("ph") == "M" and "name" in event["args"]
        }
        rows: dict[str, Counter[str]] = {}
        for event in given["traceEvents"]:
            if event.get("ph") == "X":
                plane = names[event["pid"], None, "process_name"]
                plane = plane.removeprefix(f"{host['hostname']} ")
                row = names[event["pid"], event["tid"], "thread_name"]
                rows.setdefault(f"{plane} {row}", Counter())[event["name"]] += 1
        return rows


def fetched(url: str, page: str, **parameters: str) -> Any:
    address = f"{url}data/plugin/profile/{page}?{urlencode(parameters)}"
    with urllib.request.urlopen(address, timeout=_PATIENCE_S) as answer:
        content = answer.read()
    return json.loads(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)


@contextmanager
def viewing(path: Path, folder: Path, *options: str, **environment: str) -> Iterator[Viewer]:
    temporary = folder / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "xladoctor", "view", path, *options],
        text=True,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), **environment},
    ) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line.startswith("XProf at http://127.0.0.1:"), process.communicate()
            yield Viewer(process, line.split()[2], temporary)
        finally:
            process.kill()


def ended(viewer: Viewer, how: int) -> tuple[int, str]:
    """Its status, and what it says, once it has that signal."""
    viewer.process.send_signal(how)
    _, said = viewer.process.communicate(timeout=_PATIENCE_S)
    return viewer.process.returncode, said


def is_served(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE_S):
            return True
    except (urllib.error.URLError, ConnectionError):  # also one that ends in the answer
        return False


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.thorough
def test_pages_of_a_run(tmp_path: Path) -> None:
    before = digests(SAMPLE)
    with viewing(SAMPLE, tmp_path, "--no-browser") as viewer:
        assert viewer.get("runs") == ["scalar_read"]
        assert "overview_page" in viewer.get("run_tools", run="scalar_read")
        rows = viewer.events("scalar_read")
        overview = viewer.get("data", run="scalar_read", tag="overview_page", host="host_28435")
        assert ended(viewer, signal.SIGINT) == (0, "")
        assert not is_served(viewer.url)
    ours = {
        name.removeprefix("/device:CUSTOM:xladoctor "): counted
        for name, counted in rows.items()
        if "xladoctor" in name
    }
    finding = "XD201 programs/scalar_read.py:35 Value read in the step loop"
    assert list(ours) == ["steps", "loop", finding, "calls of python"]
    assert ours["steps"] == Counter(f"step {number}" for number in range(40))
    assert ours["calls of python"] == {"item programs/scalar_read.py:35": 40}
    assert ours[finding] == {"XD201 read programs/scalar_read.py:35": 40}
    assert rows["/host:CPU python"]["StepMarker"] == 40
    assert digests(SAMPLE) == before
    assert list(viewer.temporary.iterdir()) == []
    assert overview == overview_without_ours(tmp_path)


def overview_without_ours(folder: Path) -> Any:
    shutil.copytree(SAMPLE / "plugins", folder / "alone" / "plugins")
    with xprof.serving(folder / "alone", folder / "log") as server:
        return fetched(
            server.url, "data", run="scalar_read", tag="overview_page", host="host_28435"
        )


def test_chrome_trace_in_a_browser(tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    sample = ROOT / "sample_traces/launch_bound"
    with viewing(sample, tmp_path, BROWSER=str(browser)) as viewer:
        rows = viewer.events("launch_bound")
        status, said = ended(viewer, signal.SIGTERM)

    assert opened.read_text().strip() == viewer.url
    assert sum(rows["/device:GPU:0 Stream #7"].values()) == 2424
    assert rows["/host:CPU thread 4242 (python)"]["cudaLaunchKernel"] == 2408
    assert rows["/device:CUSTOM:xladoctor steps"] == Counter(f"step {n}" for n in range(8))
    assert (status, "rank0.pt.trace.json.gz: a Chrome trace" in said) == (143, True)
    assert list(viewer.temporary.iterdir()) == []


@pytest.mark.thorough
def test_server_ends_with_who_started_it(tmp_path: Path) -> None:
    with viewing(SAMPLE, tmp_path, "--no-browser") as viewer:
        viewer.process.kill()
        until = time.monotonic() + _PATIENCE_S
        while is_served(viewer.url):
            assert time.monotonic() < until
            time.sleep(0.1)


def test_end_of_the_server_is_told(tmp_path: Path) -> None:
    (tmp_path / "logdir").mkdir()
    with xprof.serving(tmp_path / "logdir", tmp_path / "log") as server:
        server.process.kill()
        with pytest.raises(ViewError, match="XProf ended with signal 9"):
            server.wait()


def test_server_that_cannot_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cheroot.py").write_text("raise ImportError('of another version')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    serving = xprof.serving(tmp_path, tmp_path / "log")
    with pytest.raises(ViewError, match="XProf ended with status 1") as told, serving:
        pass
    assert "ImportError: of another version" in told.value.hint


def test_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ViewError, match="not installed") as told:
        xprof.require()
    assert "pip install 'xladoctor[view]'" in told.value.hint
    assert "--perfetto" in told.value.hint
