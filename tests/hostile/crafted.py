"""Inputs made by reading the readers: small files that would take much time or memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from tests.hostile.limits import Input

_MANY = range(12_000)
_MOST = 1_900_000  # bytes
_COUNTER = b"Counter: c\n  Value: 1\n"


def crafted() -> Iterator[Input]:
    """All of them; each is judged."""
    for name, content in {**_TEXTS, **_TRACES, **_OTHERS}.items():
        yield Input("crafted", name, partial(_file, name, content), judged=True)


def _file(name: str, content: Callable[[], bytes]) -> dict[str, bytes]:
    return {name: content()}


def _line(text: str) -> bytes:
    return f"2031-05-06 07:08:09,010 WARNING {text}\n".encode()


def _trace(events: Iterable[str]) -> bytes:
    return ('{"traceEvents": [' + ",\n".join(events) + "]}").encode()


def _event(**fields: Any) -> str:
    return json.dumps({"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1, **fields})


def _frame(number: int, **times: int) -> str:
    return _event(cat="python_function", name=f"a.py({number}): f{number}", **times)


def _same() -> bytes:
    return _trace(_frame(n) for n in _MANY)


_TEXTS: dict[str, Callable[[], bytes]] = {
    "compiling.log": lambda: _line("Compiling f with global shapes and types [" * 12_000),
    "explained.log": lambda: _line("TRACING CACHE MISS at a.py:1 because: " * 12_000),
    "guard.log": lambda: _line(f"[0/1] [__recompiles] - 0/0: {'a' * 300_000}"),
    "limit.log": lambda: _line(
        f"{'a.py:' * 60_000} torch._dynamo hit config.recompile_limit (8)\n"
        f"   function: 'f' ({'a.py:' * 60_000}1)"
    ),
    "alarm.log": lambda: _line("Compiling module [" * 24_000),
    "comment.txt": lambda: b"<html><!--" + b"short line\n" * 150_000,
    "link.txt": lambda: b"<html><pre><a href='" + b"short line\n" * 150_000,
    "page.txt": lambda: b"<html>" + b"<div>" * 350_000,
    "sections.txt": lambda: (
        b"Metric: CompileTime\n  TotalSamples: 1\n  Accumulator: 1us\n" * 20_000
    ),
    "counters.txt": lambda: b"".join(b"Counter: c%d\n  Value: 1\n" % n for n in range(60_000)),
    "workers.txt": lambda: b"".join(b"[%d] Counter: c\n[%d]  Value: 1\n" % (n, n) for n in _MANY),
    "line.txt": lambda: _COUNTER + b"x" * _MOST,
    "blanks.txt": lambda: _COUNTER + b" " * _MOST,
    "cells.ipynb.txt": lambda: b'{"cells": ' + b"[" * _MOST,
    "utf16.txt": lambda: (_COUNTER.decode() * 30_000).encode("utf-16"),
    "fallbacks.txt": lambda: b"pt-xla-profiler: FRAME (count=1):\n" * 50_000,
}
_TRACES: dict[str, Callable[[], bytes]] = {
    "same.json": _same,
    "nested.json": lambda: _trace(_frame(n, ts=n, dur=2 * (len(_MANY) - n)) for n in _MANY),
    "operators.json": lambda: _trace(
        _event(cat="cpu_op", name="aten::add", ts=n, dur=2 * (len(_MANY) - n)) for n in _MANY
    ),
    "threads.json": lambda: _trace(_event(tid=n) for n in range(30_000)),
    "processes.json": lambda: _trace(_event(pid=n) for n in range(30_000)),
    "devices.json": lambda: _trace(_event(pid=n, cat="kernel") for n in range(25_000)),
    "streams.json": lambda: _trace(_event(tid=n, cat="kernel") for n in range(25_000)),
    "names.json": lambda: _trace(
        _event(name=f"aten::op{n}", cat="cpu_op", ts=n) for n in range(22_000)
    ),
    "steps.json": lambda: _trace(
        _event(name=f"ProfilerStep#{n}", cat="user_annotation", ts=n) for n in range(18_000)
    ),
    "arguments.json": lambda: _trace([_event(args={f"a{n}": n for n in range(100_000)})]),
    "brackets.json": lambda: _trace(['{"ph": "X", "args": ' + "[" * _MOST]),
    "flows.json": lambda: _trace(_event(ph="s", id=n) for n in range(25_000)),
}
_OTHERS: dict[str, Callable[[], bytes]] = {
    "same.json.gz": lambda: gzip.compress(_same()),
    "report.txt.gz": lambda: gzip.compress(_COUNTER * 80_000),
    "planes.xplane.pb.gz": lambda: gzip.compress(b"\n\x00" * (50 << 20)),
    "planes.xplane.pb": lambda: b"\n\x00" * (_MOST // 2),
    "lines.xplane.pb": lambda: b"\n\xc8\xd0\x07" + b"\x1a\x02\x08\x01" * 31_250,
    "xladoctor.toml": lambda: b"".join(b"[gate.scripts.s%d]\nmax_step_ms = 1\n" % n for n in _MANY),
    "baseline.json": lambda: json.dumps(
        {
            "tool": "xladoctor",
            "schema_version": 1,
            "scripts": {f"s{n}": {"steps": 1, "findings": []} for n in range(45_000)},
        }
    ).encode(),
}
