"""Modules that are appended one by one, as a timeline without events."""

from __future__ import annotations

from pathlib import Path

from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.timeline.compiling import protos
from xladoctor.ingest.xplane.read import read_space
from xladoctor.recording.bootstrap._xladoctor.jax.modules import Modules


def test_modules_are_read_back_with_the_numbers_of_their_compilations(tmp_path: Path) -> None:
    modules = Modules()
    modules.add(1, "before_there_is_a_folder", b"")
    modules.keep(str(tmp_path), 1_000_000)
    for number in (2, 3, 300):
        modules.add(number, f"jit_step_{number}", bytes([number % 256]) * number)
    space = read_space(tmp_path / "modules.xplane.pb", Ingested())
    assert space is not None
    read = [(number, proto[-1:], len(proto) > number) for number, proto in protos(space)]
    assert read == [(2, b"\x02", True), (3, b"\x03", True), (300, b",", True)]
    (row,) = modules.files
    assert row["compilations"] == 300
    assert row["bytes"] == (tmp_path / "modules.xplane.pb").stat().st_size


def test_they_end_where_they_would_take_too_much(tmp_path: Path) -> None:
    modules = Modules()
    modules.keep(str(tmp_path), 5000)
    for number in range(1, 100):
        modules.add(number, "jit_step", b"x" * 1000)
    assert modules.too_large
    assert modules.files[0]["compilations"] == 4
    assert (tmp_path / "modules.xplane.pb").stat().st_size <= 6000
