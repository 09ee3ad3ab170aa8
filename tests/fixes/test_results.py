"""What runs of a program leave is compared: texts, files, and what was computed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xladoctor.fixes.proof.arrays import arrays
from xladoctor.fixes.proof.interface import Run
from xladoctor.fixes.proof.output import compared, leaves_out, shortened
from xladoctor.fixes.proof.results import results

RTOL = 1e-3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("loss 0.50001\n", "loss 0.5\n"),
        ("step 1: 3.1 s", "step 1: 2.2 s"),
        ("12 it/s", "40 it/s"),
        ("at 10:20:30", "at 10:20:31"),
        ("[1.0, 2.0]", "[1.0005, 2.0]"),
        ("nan", "nan"),
        ("-1e-9", "1e-9"),
        ("train.py:12: UserWarning: slow", "train.py:14: UserWarning: slow"),
        ("  0%|\r 50%|\r100%| 20/20", "  0%|\r100%| 20/20"),
    ],
)
def test_alike(before: str, after: str) -> None:
    assert compared([before], after, RTOL).differs == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("loss 0.5", "loss 0.51"),
        ("a\nb", "a"),
        ("a", ""),
        ("accuracy 0.9", "accuracy nan"),
        ("layer1", "layer2"),
        ("done", "Done"),
        ("1", "-1"),
    ],
)
def test_different(before: str, after: str) -> None:
    assert compared([before], after, RTOL).differs


def test_only_what_differs_from_run_to_run_is_left_out() -> None:
    before = ["loss 0.5 after 17\nat 0x7fa\n", "loss 0.5 after 18\nat 0x7fb\n"]
    found = compared(before, "loss 0.5 after 19\nat 0x7fc\n", RTOL)
    assert (found.differs, found.says, found.varies) == ((), True, True)
    assert compared(before, "loss 0.6 after 19\nat 0x7fc\n", RTOL).differs
    assert compared(["a 1", "a 1\nb"], "c", RTOL).varies


def test_few_differences_are_shown() -> None:
    found = shortened(compared(["a\n" * 30], "b\n" * 30, RTOL).differs)
    assert found[0] == "- a"
    assert found[-1] == "… and 50 more lines"


def test_lines_that_are_left_out_are_counted() -> None:
    before = "\n".join(f"step {n} of 10" for n in range(10))
    assert leaves_out([before], "step 0 of 10\nstep 5 of 10", RTOL) == 8
    assert leaves_out([before], "step 5 of 10\nstep 0 of 10", RTOL) == 0


def text(path: Path, scale: float) -> None:
    path.write_text(json.dumps({"steps": 20, "mean": 0.25 * scale}))


def numpy(path: Path, scale: float) -> None:
    np.save(path, np.arange(6.0).reshape(2, 3) * scale)


def archive(path: Path, scale: float) -> None:
    np.savez(path, weight=np.arange(6.0) * scale, steps=20)


def safetensors(path: Path, scale: float) -> None:
    data = struct.pack("<4f", 1.0, 2.0, 3.0, 4.0 * scale)
    entry = {"dtype": "F32", "shape": [4], "data_offsets": [0, len(data)]}
    header = json.dumps({"weight": entry, "__metadata__": {"a": "b"}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def checkpoint(path: Path, scale: float) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 2)
    for each in model.parameters():
        torch.nn.init.constant_(each, 0.5 * scale)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    halves = torch.arange(6).bfloat16().reshape(2, 3).t()
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({**states, "whole": model, "halves": halves, "array": np.ones(2)}, path)


Maker = Callable[[Path, float], None]
FILES: list[tuple[str, Maker]] = [
    ("metrics.json", text),
    ("out/values.npy", numpy),
    ("values.npz", archive),
    ("model.safetensors", safetensors),
    ("model.pt", checkpoint),
]


def run(folder: Path, name: str, make: Maker, scale: float) -> Run:
    path = folder / f"{scale}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path, scale)
    return Run(0, "", 1.0, written={name: path})


@pytest.mark.parametrize(("name", "make"), FILES)
def test_numbers_in_files_are_compared_within_a_tolerance(
    tmp_path: Path, name: str, make: Maker
) -> None:
    before, near, far = (run(tmp_path, name, make, scale) for scale in (1.0, 1.0001, 1.1))
    found = results([before, near], near, RTOL)
    assert (found.same, found.other, found.varies) == ((name,), (), ())
    assert results([before], far, RTOL).other == (name,)
    assert results([before, far], far, RTOL).other == ()
    assert name in results([before, far], far, RTOL).varies
    assert results([before], Run(0, "", 1.0), RTOL).differs == (f"{name}:", "- is not written")
    assert results([Run(0, "", 1.0)], before, RTOL).differs == (f"{name}:", "+ is written")


def test_whole_numbers_in_arrays_are_compared_exactly(tmp_path: Path) -> None:
    def tokens(path: Path, last: float) -> None:
        np.save(path, np.array([50_000, last], dtype=int))

    before, after = (run(tmp_path, "tokens.npy", tokens, last) for last in (17.0, 18.0))
    assert results([before], after, RTOL).other == ("tokens.npy",)


def test_files_whose_names_differ_in_each_run_are_not_compared(tmp_path: Path) -> None:
    one, two, three = (run(tmp_path, f"events.{n}", text, 1.0) for n in range(3))
    found = results([one, two], three, RTOL)
    assert (found.same, found.other, found.varies) == ((), (), ("events.0", "events.1"))


def test_a_file_in_another_form_is_compared_by_its_bytes(tmp_path: Path) -> None:
    def binary(path: Path, scale: float) -> None:
        path.write_bytes(b"\xff" + struct.pack("<d", scale))

    one, two, three = (run(tmp_path, "a.png", binary, scale) for scale in (1.0, 2.0, 3.0))
    assert results([one, one], one, RTOL).same == ("a.png",)
    assert results([one, one], two, RTOL).other == ("a.png",)
    assert results([one, two], three, RTOL) == results([one, two], one, RTOL)


def test_what_was_computed_is_compared_where_both_have_it(tmp_path: Path) -> None:
    def state(scale: float, **more: float) -> Run:
        path = tmp_path / f"{scale}{len(more)}.npz"
        values: dict[str, Any] = {"step.0": np.array([1.0, 2.0 * scale]), **more}
        np.savez(path, **values)
        return Run(0, "", 1.0, state={"final values": path})

    before, more, other = state(1.0), state(1.0, helper=3.0), state(2.0)
    assert results([before, before], more, RTOL).same == ("final values",)
    found = results([before, before], other, RTOL)
    assert found.differs == ("final values:", "- step.0 has other values")
    assert results([before, other], other, RTOL).same == ()


def test_numbers_of_log_records_and_files_removed_are_compared() -> None:
    before = Run(0, "", 1.0, logged=("24 INFO",), errors="warning: slow\n", removed=("a",))
    assert results([before], before, RTOL).same == ("standard error",)
    logs = "E0000 00:00:17328.4 12 pjrt.cc:8] slow\n2026-01-02 03:04:05.6: W xla/cpu.cc:2] late\n"
    assert results([before], replace(before, errors=logs + before.errors), RTOL).other == ()
    after = replace(before, logged=("5 INFO",), errors="warning: late\n", removed=())
    assert results([before], after, RTOL).differs == (
        *("standard error:", "- warning: slow", "+ warning: late"),
        *("log records:", "- 24 INFO", "+ 5 INFO", "files removed:", "- a", "+ none"),
    )


@pytest.mark.parametrize("raw", [b"", b"PK\x03\x04", b"\x80\x04.", b"\xff" * 64])
@pytest.mark.parametrize("suffix", [".pt", ".npz", ".npy", ".safetensors"])
def test_damaged_files_hold_nothing(tmp_path: Path, suffix: str, raw: bytes) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(raw)
    assert arrays(path) is None


def test_nothing_in_a_checkpoint_is_run(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Touch:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (f"{tmp_path}/touched",)

    torch.save({"a": Touch(), "b": torch.ones(2)}, tmp_path / "model.pt")
    found = arrays(tmp_path / "model.pt")
    assert found is not None
    assert list(found[".b"]) == [1, 1]
    assert not (tmp_path / "touched").exists()
