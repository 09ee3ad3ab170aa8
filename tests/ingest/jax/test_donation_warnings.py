"""JAX's warnings of donations, among a program's other output."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from tests.support import rows
from xladoctor.errors import XladoctorError
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.recorded_elsewhere import texts_alone

PROGRAM = """
import jax, jax.numpy as jnp
x, y = jnp.ones((300, 4)), jnp.ones((200, 4))
jax.jit(lambda x, y: (x.sum(0), y * 2), donate_argnums=(0, 1))(x, y)
jax.jit(lambda x: x + 1, donate_argnums=0)(jnp.ones((100, 4)))
"""


def logged(text: str) -> list[tuple[str, str, int]]:
    ingested = texts_alone([read_text(io.BytesIO(text.encode()), "out.log")])
    found = rows(ingested.tables["logged_warning"])
    return [(row["kind"], row["text"], row["count"]) for row in found]


def test_a_program_s_own_warning_is_read() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, env={"JAX_PLATFORMS": "cpu"}, capture_output=True, text=True, check=True
    )
    assert logged(done.stderr) == [("donation refused", "f32[300,4]", 1)]


@pytest.mark.parametrize(
    ("warning", "arrays"),
    [
        ("float32[2000,1000], bfloat16[64].", "f32[2000,1000], bf16[64]"),
        ("ShapedArray(float32[8,64]), ShapedArray(int32[]).", "f32[8,64], s32[]"),
    ],
)
def test_each_form_of_an_array_is_read(warning: str, arrays: str) -> None:
    text = f"/x/mlir.py:1: UserWarning: Some donated buffers were not usable: {warning}\nSee an"
    assert logged(f"epoch 1\n{text}\n{text}\n") == [("donation refused", arrays, 2)]


def test_a_warning_without_arrays_is_no_evidence() -> None:
    with pytest.raises(XladoctorError):
        logged("UserWarning: Some donated buffers were not usable: \n")
