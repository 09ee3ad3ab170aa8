"""What JAX logs of its compilations, in the words of several releases."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.frontends.jax.ingest.compile_log import CompileLog
from xladoctor.ingest.compiler_log import compilation
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.frames import CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.recorded_elsewhere import texts_alone

#: A function that is compiled twice; the explanation of the second is left to fill in.
LOG = """epoch 1
TRACING CACHE MISS at /app/train.py:23:15 (train):
  never seen function:
    loss_of id=140275495264128 defined at /app/train.py:4
Finished tracing loss_of for jit in 0.5 sec
Compiling jit(loss_of) with global shapes and types (ShapedArray(float32[4]), ShapedArray(float32[34,4])). Argument mapping: (UnspecifiedValue, UnspecifiedValue).
Finished jaxpr to MLIR module conversion jit(loss_of) in 0.25 sec
Finished XLA compilation of jit(loss_of) in 1.25 sec
{explained}
Finished tracing loss_of for jit in 0.5 sec
Compiling jit(loss_of) with global shapes and types (ShapedArray(float32[4]), ShapedArray(float32[27,4])). Argument mapping: (UnspecifiedValue, UnspecifiedValue).
Finished jaxpr to MLIR module conversion jit(loss_of) in 0.25 sec
Finished XLA compilation of jit(loss_of) in 2.25 sec
loss 0.3
"""  # noqa: E501
MISS = """TRACING CACHE MISS at /app/train.py:23:15 (train):
  for loss_of defined at /app/train.py:4
"""


def read(text: str) -> Ingested:
    return texts_alone([read_text(io.BytesIO(text.encode()), "out.log")])


def table(ingested: Ingested, name: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in rows(ingested.tables[name])]


def test_compilations_have_their_line_and_what_all_phases_took() -> None:
    ingested = read(LOG.format(explained=MISS))

    assert table(ingested, "compilation", "cause", "file", "line", "ordinal", "duration_ns") == [
        ("jit(loss_of)", "/app/train.py", 23, 0, 2 * 10**9),
        ("jit(loss_of)", "/app/train.py", 23, 1, 3 * 10**9),
    ]
    assert table(ingested, "process", "frontend") == [("jax",)]


@pytest.mark.parametrize(
    ("explained", "change"),
    [
        (
            "  different input types:\n  * at batch['x'], now f32[27,4] and before f32[34,4]",
            ("shape", "batch['x']", "f32[34,4]", "f32[27,4]"),
        ),
        (
            "  closest seen input type signature has 1 mismatches, including:\n"
            "    * at batch['x'], seen f32[34,4], but now given f32[27,4]",
            ("shape", "batch['x']", "f32[34,4]", "f32[27,4]"),
        ),
        (
            "  different input types:\n  * at lr, now f32[]{weak_type=False} and before"
            " f32[]{weak_type=True}https://docs.jax.dev/en/latest/type_promotion.html#weak-types",
            ("weak_type", "lr", "f32[]{weak_type=True}", "f32[]{weak_type=False}"),
        ),
        (
            "  different input types:\n  * at x, now bf16[4] and before f32[4]",
            ("type", "x", "f32[4]", "bf16[4]"),
        ),
        (
            "  different input pytree:\n  * at input path [0][1], now <class"
            " 'jax.Static'> with pytree"
            " metadata Static(val=1) and before <class 'jax.Static'> with pytree metadata"
            " Static(val=0), so the pytree node metadata does not match",
            ("static", "[0][1]", "0", "1"),
        ),
        (
            "  * key with different value of static args:\n      now 2 and before 0",
            ("static", "", "0", "2"),
        ),
        (
            "  different input pytree:\n  * at input path [0], now tuple of length 3 and"
            " before tuple"
            " of length 2, so the lengths do not match",
            ("structure", "[0]", "tuple of length 2", "tuple of length 3"),
        ),
        (
            "  Tracing context doesn't match, e.g. due to config or context manager.\n"
            "  * jax_enable_x64 differs: now True and before False",
            ("configuration", "jax_enable_x64", "False", "True"),
        ),
        (
            "  tracing context doesn't match, e.g. due to config or context manager",
            ("configuration", "", "", ""),
        ),
        ("", ("shape", "argument 2", "float32[34,4]", "float32[27,4]")),
    ],
)
def test_what_changed(explained: str, change: tuple[str, ...]) -> None:
    ingested = read(LOG.format(explained=MISS + explained))

    (told, *_) = table(ingested, "key_change", "index", "against", "what", "argument", "was", "now")
    assert told == (1, 0, *change)


ANEW = """TRACING CACHE MISS at /app/train.py:23:15 (train) because:
  never seen function:
    {name} id=140275495264129 defined at {file}:4
  but seen another function defined on the same line; maybe the function is
  being re-defined repeatedly, preventing caching?"""


def test_a_function_made_anew_is_told_from_those_that_jax_makes_itself() -> None:
    log = LOG.replace("34,4", "27,4")
    own = ANEW.format(name="train.<locals>.loss_of", file="/app/train.py")
    of_jax = ANEW.format(name="loss_of", file="/v/site-packages/jax/_src/dispatch.py")

    assert table(read(log.format(explained=own)), "key_change", "what", "now") == [
        ("function", "loss_of")
    ]
    assert table(read(log.format(explained=of_jax)), "key_change", "what") == []


def test_lines_of_a_logger_and_of_earlier_releases() -> None:
    head = "WARNING:2026-01-01 12:00:00,123:jax._src.dispatch:198: "
    old = LOG.format(explained="").replace("Compiling jit(loss_of)", "Compiling loss_of")
    old = old.replace("types (", "types [").replace(")). Arg", ")]. Arg")
    old = old.replace(
        "Finished tracing loss_of for jit", "Finished tracing + transforming loss_of for pjit"
    )
    logged = "".join(f"{head if line[:1] in 'FCT' else ''}{line}\n" for line in old.splitlines())

    ingested = read(logged)

    assert table(ingested, "compilation", "duration_ns") == [(2 * 10**9,), (3 * 10**9,)]
    assert table(ingested, "key_change", "argument", "now") == [("argument 2", "float32[27,4]")]


def test_what_a_cache_on_disk_had_is_told() -> None:
    hit = "Persistent compilation cache hit for 'jit_loss_of' with key 'jit_loss_of-12ab'"
    ingested = read(LOG.format(explained=hit))
    assert table(ingested, "compilation", "cached") == [(None,), (True,)]


REDEFINED = """TRACING CACHE MISS at /app/sample.py:31:12 (draw):
  never seen function:
    body id=1390 defined at /app/sample.py:27
  but seen another function defined on the same line; maybe the function is
  being re-defined repeatedly, preventing caching?
"""


def test_each_explanation_is_a_compilation_where_nothing_else_tells_of_them() -> None:
    shape = "  different input types:\n  * at x, now f32[27] and before f32[34]\n"
    ingested = read(MISS + shape + REDEFINED + REDEFINED)

    assert table(ingested, "compilation", "cause", "line", "ordinal", "duration_ns") == [
        ("jit(loss_of)", 23, 0, None),
        ("jit(body)", 31, 0, None),
        ("jit(body)", 31, 1, None),
    ]
    assert table(ingested, "key_change", "what", "argument", "now", "line") == [
        ("shape", "x", "f32[27]", None),
        ("function", "", "body", 27),
        ("function", "", "body", 27),
    ]


@pytest.mark.parametrize(
    "prefix",
    [
        "2031-05-06T07:08:09.0123456Z ",
        "[rank0]: ",
        "(worker pid=77, ip=10.0.0.3) ",
        "\x1b[33m",
        "train-0  | ",
    ],
)
def test_prefixes_before_each_line_and_output_between_them(prefix: str) -> None:
    head = "W0506 07:08:09.012345   77 partial_eval.py:2164] "
    lines = [
        f"{prefix}{head if line.startswith('TRACING') else ''}{line}\nloss 0.25 at step 3\n"
        for line in (2 * REDEFINED).splitlines()
    ]
    ingested = read("".join(lines))
    assert table(ingested, "key_change", "what", "now", "line") == [
        ("function", "body", 27),
        ("function", "body", 27),
    ]


@pytest.mark.parametrize(
    "explained",
    [
        "  * key with different value of static kwargs:\n"
        "      now {k: A(f=<function f at 0x7f01>)} and before {n: 2}\n"
        "  * key with different value of static kwargs:\n"
        "      now {k: A(f=<function f at 0x7f01>)} and before {k: A(f=<function f at 0x7f02>)}",
        "  different input pytree:\n  * at input path [1]['k'], now <class 'Static'> with pytree"
        " metadata Static(val=<__main__.A object at 0x7f01>) and before <class 'Static'> with"
        " pytree metadata Static(val=<__main__.A object at 0x7f02>), so the pytree node metadata"
        " does not match",
    ],
    ids=["until 0.9", "since 0.10"],
)
def test_static_values_that_differ_in_an_address_were_made_anew(explained: str) -> None:
    ingested = read(MISS + explained + "\n")
    (change,) = table(ingested, "key_change", "what", "now")
    assert change[0] == "function"
    assert "0x7f" not in change[1]


PROGRAM = """
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def half(x):
    return x * 0.5

def draw(x):
    def body(v):
        return v + 1

    return jax.jit(body)(x)

for n in range(3):
    half(jnp.ones(4 + n))
    draw(jnp.ones(3))
with jax.transfer_guard("log"):
    half(np.ones(9, np.float32))
with jax.transfer_guard("disallow"):
    half(np.ones(9, np.float32))
"""


def printed(folder: Path, **environment: str) -> str:
    """By this release of JAX, with the program's error."""
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    ).stderr


def test_what_this_release_prints(tmp_path: Path) -> None:
    ingested = read(printed(tmp_path, JAX_EXPLAIN_CACHE_MISSES="1"))
    found = table(ingested, "key_change", "what", "now", "line")
    assert found.count(("function", "body", 9)) == 2
    assert [each[:2] for each in found if each[0] == "shape"] == [
        ("shape", "f32[5]"),
        ("shape", "f32[6]"),
        ("shape", "f32[9]"),
    ]
    assert table(ingested, "transfer", "direction", "dtype", "shape", "line") == [
        ("to_device", "float32", [9], 20),
        ("to_device", "float32", [9], 20),
    ]


def test_lines_that_only_begin_alike_are_not_of_the_log() -> None:
    with pytest.raises(IngestError, match=r"none of the formats .* in 2 lines"):
        read("Compiling the kernels.\nFinished training in 3 s\n")


def beside(*timed: tuple[str, int]) -> Ingested:
    """The log and a timeline with these compilations, each a function and its nanoseconds."""
    log = CompileLog()
    for line in LOG.format(explained=MISS).splitlines():
        log.take(line)
    ingested, made = Ingested(), Gathered()
    for index, (function, duration) in enumerate(timed):
        made.add_row(
            "compilation",
            compilation(
                index,
                "call",
                0,
                CallSite(file="train.py", line=4, via=function),
                duration_ns=duration,
            ),
        )
    log.add(made, ingested.of(0))
    made.move(ingested.of(0))
    return ingested


def test_compilations_of_a_timeline_get_line_and_cause_from_the_log() -> None:
    ingested = beside(("loss_of", 3_100_000_000))

    columns = ("cause", "file", "line", "via", "ordinal", "duration_ns")
    assert table(ingested, "compilation", *columns) == [
        ("jit(loss_of)", "/app/train.py", 23, "loss_of", 1, 3_100_000_000),
    ]
    assert table(ingested, "key_change", "index", "against", "what", "was", "now") == [
        (0, None, "shape", "float32[34,4]", "float32[27,4]"),
    ]
    assert not ingested.notes


def test_what_a_call_was_compared_with_is_named_where_the_timeline_has_it() -> None:
    ingested = beside(("loss_of", 2_000_000_000), ("loss_of", 3_000_000_000))

    assert table(ingested, "key_change", "index", "against") == [(1, 0)]


@pytest.mark.parametrize(
    "timed",
    [
        (("loss_of", 9 * 10**9),),
        (("other", 3 * 10**9),),
        (("loss_of", 2_500_000_000),),
        (("loss_of", 2 * 10**9),) * 3,
    ],
    ids=["too long", "another function", "either of two", "more than were logged"],
)
def test_a_log_that_may_be_of_others_is_left_out(timed: tuple[tuple[str, int], ...]) -> None:
    ingested = beside(*timed)

    assert {cause for (cause,) in table(ingested, "compilation", "cause")} == {"jit(call)"}
    assert "key_change" not in ingested.tables
    assert len(ingested.notes) == 1


@given(
    st.lists(
        st.sampled_from(LOG.format(explained=MISS).splitlines()).flatmap(
            lambda line: st.sampled_from(
                [line, line[: len(line) // 2], line[len(line) // 2 :], line * 2]
            )
        )
    )
)
def test_any_lines_are_taken_or_left(lines: list[str]) -> None:
    log = CompileLog()
    for line in lines:
        log.take(line)
    made = Gathered()
    log.add(made, Ingested().of(0))
    assert len(rows(made.recorded("compilation"))) == len(log.compilations)
