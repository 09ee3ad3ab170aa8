"""JAX's warnings of captured constants, among a program's other output."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.frontends.jax.ingest.constant_warnings import ConstantWarnings
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.recorded_elsewhere import texts_alone

PROGRAM = """
import jax, jax.numpy as jnp
jax.config.update("jax_captured_constants_warn_bytes", 1_000_000)
table, mask = jnp.ones((1000, 1000)), jnp.ones((500, 1000))

@jax.jit
def score(x):
    return (table * x).sum() + mask.sum()

score(2.0)
print("done")
"""


def logged(text: str) -> list[tuple[Any, ...]]:
    ingested = texts_alone([read_text(io.BytesIO(text.encode()), "out.log")])
    names = ("what", "compiled", "shape", "bytes", "line")
    return [tuple(row[name] for name in names) for row in rows(ingested.tables["logged_constant"])]


def output(**variables: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"JAX_PLATFORMS": "cpu", **variables},
        capture_output=True,
        text=True,
        check=True,
    ).stderr


def test_the_warning_as_jax_prints_it() -> None:
    assert logged(output()) == [("captured", None, None, 6_000_000, None)]


def test_with_the_lines() -> None:
    text = """
/venv/jax/_src/interpreters/mlir.py:1262: UserWarning: A large amount of constants were captured during lowering (6.00MB total). If this is intentional, disable this warning by setting JAX_CAPTURED_CONSTANTS_WARN_BYTES=-1. The subsequent report may be disabled by setting JAX_CAPTURED_CONSTANTS_REPORT_FRAMES=0.

Largest 2 allocation(s):
  Constant <class 'jaxlib._jax.ArrayImpl'>, float32[1000,1000], 4.00MB captured at:
    /app/score.py:10:12 (score)
    /app/score.py:14 (main)

  Constant <class 'jaxlib._jax.ArrayImpl'>, float32[500,1000], 2.00MB captured at:
    /app/score.py:10:31 (score)


  warnings.warn(message)
"""  # noqa: E501
    assert logged(text) == [
        ("captured", "score", "f32[1000,1000]", 4_000_000, 10),
        ("captured", "score", "f32[500,1000]", 2_000_000, 10),
    ]


def test_closed_over_constants() -> None:
    text = """
/venv/jax/_src/interpreters/mlir.py:1277: UserWarning: Closed-over constant <class 'jaxlib._jax.ArrayImpl'>: float32[1000,1000] in score at /app/score.py:8 used at:
    /app/score.py:10:12 (score)

  warnings.warn(msg)
"""  # noqa: E501
    assert logged(text * 2) == [("captured", "score", "f32[1000,1000]", 4_000_000, 10)]


@pytest.mark.parametrize("text", ["a constant was captured", "Constant folding is fun"])
def test_other_lines_are_left(text: str) -> None:
    log = ConstantWarnings()
    assert not log.take(text)
    assert not log.has_records


@given(
    st.lists(
        st.sampled_from(
            [
                "A large amount of constants were captured during lowering (2.1GB total). If",
                "  Constant <class 'a'>, float32[5], 4.00MB captured at:",
                "  Constant <class 'a'>, float32[",
                "    /app/score.py:10:12 (score)",
                "UserWarning: Closed-over constant <class 'a'>: float32[2] in score",
                "",
            ]
        )
    )
)
def test_any_lines_are_taken_or_left(lines: list[str]) -> None:
    log = ConstantWarnings()
    for line in lines:
        log.take(line)
    log.add(Gathered(), Ingested().of(0))
