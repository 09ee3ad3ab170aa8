"""Inputs made by reading the readers: small files that would take much time or memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import partial

from tests.hostile.limits import Input

_MANY = 12_000
_TOP = '{"traceEvents": ['


def crafted() -> Iterator[Input]:
    """All of them; each is judged."""
    for name, content in (*_texts(), *_traces(), *_packed()):
        yield Input("crafted", name, partial(dict, {name: content}), judged=True)


def _texts() -> Iterator[tuple[str, bytes]]:
    opened = "Compiling module [" * 2
    yield "compiling.log", _line("Compiling f with global shapes and types [" * _MANY)
    yield "explained.log", _line("TRACING CACHE MISS at a.py:1 because: " * _MANY)
    yield "guard.log", _line(f"[0/1] [__recompiles] - 0/0: {'a' * 300_000}")
    yield (
        "limit.log",
        _line(
            f"{'a.py:' * 60_000} torch._dynamo hit config.recompile_limit (8)\n"
            f"   function: 'f' ({'a.py:' * 60_000}1)"
        ),
    )
    yield "alarm.log", _line(opened * _MANY)
    yield "comment.txt", b"<html><!--" + b"short line\n" * 150_000
    yield "link.txt", b"<html><pre><a href='" + b"short line\n" * 150_000
    yield "sections.txt", b"Metric: CompileTime\n  TotalSamples: 1\n  Accumulator: 1us\n" * 20_000
    yield "counters.txt", b"".join(b"Counter: c%d\n  Value: 1\n" % n for n in range(60_000))
    yield (
        "workers.txt",
        b"".join(b"[%d] Counter: c\n[%d]   Value: 1\n" % (n, n) for n in range(50_000)),
    )
    yield "line.txt", b"Counter: c\n  Value: 1\n" + b"x" * 1_900_000
    yield "blanks.txt", b"Counter: c\n  Value: 1\n" + b" " * 1_900_000
    yield "page.txt", b"<html>" + b"<div>" * 350_000
    yield "cells.ipynb.txt", b'{"cells": ' + b"[" * 1_900_000
    yield "utf16.txt", "Counter: c\n  Value: 1\n".encode("utf-16") * 30_000
    yield "fallbacks.txt", b"pt-xla-profiler: FRAME (count=1):\n" * 50_000


def _line(text: str) -> bytes:
    return f"2031-05-06 07:08:09,010 WARNING {text}\n".encode()


def _trace(events: Iterator[str]) -> bytes:
    return (_TOP + ",\n".join(events) + "]}").encode()


def _traces() -> Iterator[tuple[str, bytes]]:
    def event(number: int, **fields: object) -> str:
        usual = {"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
        return json.dumps({**usual, **fields})

    frames = {"cat": "python_function"}
    numbers = range(_MANY)
    yield "same.json", _trace(event(n, **frames, name=f"a.py({n}): f{n}") for n in numbers)
    yield (
        "nested.json",
        _trace(
            event(n, **frames, name=f"a.py({n}): f{n}", ts=n, dur=2 * (_MANY - n)) for n in numbers
        ),
    )
    yield (
        "operators.json",
        _trace(
            event(n, cat="cpu_op", name="aten::add", ts=n, dur=2 * (_MANY - n)) for n in numbers
        ),
    )
    yield "threads.json", _trace(event(n, tid=n) for n in range(30_000))
    yield "processes.json", _trace(event(n, pid=n) for n in range(30_000))
    yield "devices.json", _trace(event(n, pid=n, cat="kernel") for n in range(25_000))
    yield "streams.json", _trace(event(n, tid=n, cat="kernel") for n in range(25_000))
    yield (
        "names.json",
        _trace(event(n, name=f"aten::op{n}", cat="cpu_op", ts=n) for n in range(22_000)),
    )
    yield (
        "steps.json",
        _trace(
            event(n, name=f"ProfilerStep#{n}", cat="user_annotation", ts=n) for n in range(18_000)
        ),
    )
    yield "arguments.json", _trace(iter([event(0, args={f"a{n}": n for n in range(100_000)})] * 1))
    yield "brackets.json", _trace(iter(['{"ph": "X", "args": ' + "[" * 1_900_000]))
    yield "flows.json", _trace(event(n, ph="s", id=n) for n in range(25_000))


def _packed() -> Iterator[tuple[str, bytes]]:
    whole = dict(_traces())["same.json"]
    yield "same.json.gz", gzip.compress(whole)
    yield "planes.xplane.pb.gz", gzip.compress(b"\n\x00" * (50 << 20))
    yield "planes.xplane.pb", b"\n\x00" * 950_000
    yield "report.txt.gz", gzip.compress(b"Counter: c\n  Value: 1\n" * 3_000_000)
