"""Traces of torch.profiler of a program that ran on the CPU alone."""

from __future__ import annotations

import json
from pathlib import Path

from xladoctor.doctor import load_evidence


def test_the_operator_that_computes_is_named(tmp_path: Path) -> None:
    events = [{"ph": "X", "cat": "user_annotation", "name": "predict", "ts": 0, "dur": 50_000}]
    for turn in range(8):
        for name, begin, lasted in (("aten::linear", 100, 6000), ("aten::addmm", 150, 5900)):
            ts = 6200 * turn + begin
            events.append({"ph": "X", "cat": "cpu_op", "name": name, "ts": ts, "dur": lasted})
    for event in events:
        event |= {"pid": 1, "tid": 1}
    file = tmp_path / "a.pt.trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
    (note,) = (note for note in load_evidence(str(file)).notes if "no device" in note)
    assert note.endswith("compute on the CPU, 98% of their 48 ms in aten::addmm")
