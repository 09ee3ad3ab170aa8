"""The log of TORCH_TRACE; the records are those of torch 2.9, without what is not read."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from xladoctor.doctor import load_evidence
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.recorded_elsewhere import read_elsewhere

TORCH = "/env/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py"
BREAK = """Graph break in user code at /home/ada/train.py:8
Graph Break Reason: Data-dependent branching
  Explanation: Not traced.
  Hint: Use `torch.cond`.

  Developer debug context: none

User code traceback:
  File "/home/ada/train.py", line 16, in <module>
    loss = f(x)
  File "/home/ada/train.py", line 8, in forward
    if z.sum() > 0:
"""
#: Of PyTorch's own code: nobody else's break.
ASKED_FOR = """Graph break in user code at /env/site-packages/torch/optim/optimizer.py:81
Graph Break Reason: Call to `torch._dynamo.graph_break()`
  Explanation: User-inserted graph break. Message: None

User code traceback:
  File "/home/ada/train.py", line 9, in update
    optimizer.step()
"""


def record(fields: dict[str, Any], of: str = "0/0", payload: str = "") -> str:
    frame, again = map(int, of.split("/"))
    known = {**fields, "frame_id": frame, "frame_compile_id": again, "attempt": 0}
    text = f"V1123 23:12:36.353000 5975 torch/_dynamo/utils.py:249] {json.dumps(known)}\n"
    return text + "".join(f"\t{line}\n" for line in payload.splitlines())


def start(of: str, name: str = "forward") -> str:
    stack = [
        {"line": 16, "name": "<module>", "filename": 1},
        {"line": 832, "name": "compile_wrapper", "filename": 2},
        {"line": 5, "name": name, "filename": 1},
    ]
    return record({"dynamo_start": {"stack": stack}}, of)


def ended(of: str, name: str | None = "forward", **more: Any) -> str:
    times = {"duration_us": 5000, "dynamo_cumulative_compile_time_us": 5000, "end_time_us": 10**15}
    return record({"compilation_metrics": {"co_name": name, **times, **more}}, of)


def artifact(name: str, of: str, payload: str) -> str:
    return record({"artifact": {"name": name, "encoding": "string"}}, of, payload)


RESUMED = "torch_dynamo_resume_in_forward_at_8"
LIMIT = {
    "fail_type": "RecompileLimitExceeded",
    "fail_reason": "recompile_limit reached",
    "dynamo_config": '{"automatic_dynamic_shapes": false}',
}
LOG = "".join(
    (
        record({"str": ["/home/ada/train.py", 1]}),
        record({"str": [TORCH, 2]}),
        start("0/0"),
        artifact("dynamo_graph_break_reason", "0/0", BREAK),
        ended("0/0"),
        artifact("fx_graph_cache_miss", "1/0", ""),
        start("1/0", RESUMED),
        ended("1/0", RESUMED),
        artifact("recompile_reasons", "0/1", '["0/0: k == 1   # train.py:7"]'),
        start("0/1"),
        artifact("fx_graph_cache_hit", "0/1", ""),
        ended("0/1"),
        artifact("dynamo_graph_break_reason", "0/1", BREAK),
        artifact("dynamo_graph_break_reason", "0/1", ASKED_FOR),
        record(
            {
                "bwd_compilation_metrics": {
                    "duration_us": 7,
                    "backward_cumulative_compile_time_us": 7,
                }
            },
            "0/1",
        ),
        artifact("recompile_reasons", "0/2", '["0/1: k == 2"]'),
        ended("0/2", None, **LIMIT),
    )
)


def read(folder: Path, text: str = LOG) -> Ingested:
    (folder / "dedicated_log_torch_trace_x.log").write_text(text)
    return read_elsewhere([folder])


def rows(ingested: Ingested, table: str, *names: str) -> list[tuple[Any, ...]]:
    columns = ingested.tables[table]
    return [*zip(*(columns[name] for name in names), strict=True)] if columns else []


def test_compilations_are_placed_where_the_function_is_called(tmp_path: Path) -> None:
    ingested = read(tmp_path)

    assert rows(ingested, "compilation", "file", "line", "cause", "ordinal", "duration_ns") == [
        ("/home/ada/train.py", 16, "jit(forward)", 0, 10_000_000),
        ("/home/ada/train.py", 16, "jit(forward)", 1, 5_007_000),
    ]
    assert rows(ingested, "compilation", "cached") == [(None,), (True,)]
    assert rows(ingested, "key_change", "index", "against", "what", "argument", "was") == [
        (1, 0, "static", "k", "1")
    ]
    assert rows(ingested, "compile_phase", "compilation", "phase", "duration_ns") == [
        (0, "dynamo", 5_000_000),
        (0, "dynamo", 5_000_000),
        (1, "dynamo", 5_000_000),
        (1, "aot", 7_000),
    ]
    assert ingested.lost == []


def test_graph_breaks_and_the_limit_are_told_once(tmp_path: Path) -> None:
    ingested = read(tmp_path)

    assert rows(ingested, "graph_break", "file", "line", "compiled", "reason", "hint", "whole") == [
        (
            "/home/ada/train.py",
            8,
            "forward",
            "Data-dependent branching: Not traced.",
            "Use `torch.cond`.",
            False,
        )
    ]
    assert rows(
        ingested, "compile_limit", "compiled", "line", "name", "size", "argument", "dynamic"
    ) == [("forward", 16, "recompile_limit", 2, "k", False)]


@pytest.mark.parametrize("payload", ["{}", '["{}"]'])
def test_a_reason_alone_may_be_no_list(tmp_path: Path, payload: str) -> None:
    """As torch 2.13 writes it; of several it makes a list."""
    reason = "0/0: self.n == 1   # self.n += 1  # me/ada/train.py:7 in forward"
    both = json.dumps(["0/1: self.n == 2   # self.n += 1  # me/ada/train.py:7 in forward", reason])
    ingested = read(
        tmp_path,
        "".join(
            (
                record({"str": ["/home/ada/train.py", 1]}),
                record({"str": [TORCH, 2]}),
                start("0/0"),
                ended("0/0"),
                artifact("recompile_reasons", "0/1", payload.format(reason)),
                ended("0/1"),
                artifact("recompile_reasons", "0/2", both),
                ended("0/2"),
            )
        ),
    )

    assert rows(ingested, "key_change", "index", "was", "now", "file", "line", "function") == [
        (1, "1", "2", "/home/ada/train.py", 7, "forward"),
        (2, "2", "", "/home/ada/train.py", 7, "forward"),
    ]
    assert ingested.lost == []


@pytest.mark.parametrize(
    "reason", ["Hard failure due to fullgraph=True", "recompile_limit reached with fullgraph=True."]
)
def test_a_limit_may_end_the_program(tmp_path: Path, reason: str) -> None:
    failed = {"fail_type": "FailOnRecompileLimitHit", "fail_reason": reason}
    ingested = read(tmp_path, LOG + ended("0/3", None, **failed))

    assert rows(ingested, "compile_limit", "name", "aborts") == [
        ("recompile_limit", False),
        ("recompile_limit", True),
    ]


def test_rules_judge_it_in_the_words_of_its_framework(tmp_path: Path) -> None:
    read(tmp_path)

    evidence = load_evidence([str(tmp_path)])

    assert evidence.frontend == "torch"
    assert {"graph_break", "compile_limit", "recompilation"} <= evidence.available


def test_packed_and_named_alone(tmp_path: Path) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(LOG.encode()))

    assert len(rows(read_elsewhere([file]), "compilation", "index")) == 2


def test_failed_compilations_are_told(tmp_path: Path) -> None:
    failed = {
        "fail_type": "BackendCompilerFailed",
        "fail_reason": "backend='mine' raised:\nNo" * 20,
    }
    ingested = read(tmp_path, start("0/0") + ended("0/0", **failed) + ended("1/0", None, **LIMIT))
    (note,) = ingested.notes
    assert "1 compilation failed, the first 0/0, forward: backend='mine' raised: No" in note
    assert note.endswith("…")
    assert rows(ingested, "compilation", "compile_id") == []


@pytest.mark.parametrize("at", [-40, -2])
def test_a_log_that_is_cut_off_gives_what_is_whole(tmp_path: Path, at: int) -> None:
    ingested = read(tmp_path, LOG[: LOG.rindex("V1123") + at])

    assert len(rows(ingested, "compilation", "index")) == 2
    assert rows(ingested, "compile_limit", "name") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"str": 3},
        {"str": [1]},
        {"dynamo_start": {"stack": [{"line": "x"}]}},
        {"dynamo_start": 1},
        {"compilation_metrics": {"co_name": "f", "duration_us": "long"}},
        {"compilation_metrics": {"co_name": "f", "duration_us": 1e400}},
    ],
)
def test_a_record_of_another_kind_is_said_and_left_out(tmp_path: Path, fields: Any) -> None:
    ingested = read(tmp_path, LOG + record(fields, "7/0"))

    assert len(ingested.lost) == 1
    assert "of compilation 7/0 is not one that" in ingested.lost[0]
    assert len(rows(ingested, "compile_limit", "name")) == 1


def test_damage_anywhere_never_breaks_the_reader(tmp_path: Path) -> None:
    chance = random.Random(0)
    for _ in range(200):
        text = [*LOG]
        for _ in range(chance.randint(1, 12)):
            text[chance.randrange(200, len(text))] = chance.choice('x"{}[]:,9\t\n-')
        read(tmp_path, "".join(text))


def test_the_rest_of_a_function_called_elsewhere_is_of_its_compilation(tmp_path: Path) -> None:
    file = "/home/ada/train.py"
    log = "".join(
        (
            record({"str": [file, 1]}),
            record({"str": [TORCH, 2]}),
            record(
                {"dynamo_start": {"stack": [{"line": 5, "name": "forward", "filename": 1}]}}, "0/0"
            ),
            ended("0/0", co_filename=file),
            start("1/0", RESUMED),
            ended("1/0", RESUMED, co_filename=file),
            start("1/1", RESUMED),
            ended("1/1", RESUMED, co_filename=file),
        )
    )
    (tmp_path / "dedicated_log_torch_trace_x.log").write_text(log, encoding="utf-8")
    evidence = load_evidence(str(tmp_path))
    assert evidence.database.table(
        "SELECT compile_id, cause, duration_ns FROM compilation ORDER BY index"
    )[1] == [("0/0", "jit(forward)", 10_000_000), ("1/1", "jit(forward after line 8)", 5_000_000)]


def test_empty_logs_are_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "dedicated_log_torch_trace_rank_0_x.log").touch()
    with pytest.raises(IngestError, match="nothing in it that can be read: its logs are empty"):
        load_evidence(str(tmp_path))
