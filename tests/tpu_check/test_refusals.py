"""What compilers say about graphs that are too large, in the words of each release.

``recorded/refusals.txt`` has the messages about one graph that is a little too large for a v5e
(``near``), about arguments of 32 GiB, and about a kernel's window in vector memory.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xladoctor.tpu_check.compiler.answer import Result, outcome_of
from xladoctor.tpu_check.compiler.interpreter import Compiler
from xladoctor.tpu_check.compiler.outcome import DoesNotFit, Memory, Outcome, Refused
from xladoctor.tpu_check.compiler.topology import Topology

GIB, MIB = 1 << 30, 1 << 20
RECORDED = Path(__file__).with_name("recorded") / "refusals.txt"
SAID: dict[str, str] = dict(
    re.findall(r"^== libtpu (.*)\n((?:(?!== ).*\n)*)", RECORDED.read_text("utf-8"), re.MULTILINE)
)


def said(message: str, folder: Path) -> Outcome:
    compiler = Compiler(Path("python"), "2", "3")
    return outcome_of(Result("raised", detail=message), folder, Topology("v5e"), compiler)


@pytest.mark.parametrize("release", [name for name in SAID if "vmem" not in name])
def test_a_refusal_for_memory_has_its_numbers(release: str, tmp_path: Path) -> None:
    found = said(SAID[release], tmp_path)
    assert isinstance(found, DoesNotFit)
    assert found.needed is not None
    assert found.available == 15.75 * GIB
    needed, memory, note = round(found.needed / GIB, 2), found.memory, found.note
    if "arguments" in release:
        assert (needed, memory) == (32, Memory(None, 32 * GIB, 32 * GIB, 0, None))
        assert "the arguments alone" in note
    elif "HLO temporaries" in SAID[release]:
        assert (needed, memory) == (17.06, Memory())
        assert "the plan that the compiler gave up" in note
    else:
        assert (needed, note) == (17.03, "")
        planned = round(4.28 * GIB), 32 * MIB, 0, round(12.75 * GIB)
        assert memory == Memory(None, *planned)


@pytest.mark.parametrize(
    "message",
    [
        *(text for name, text in SAID.items() if "vmem" in name),
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem while allocating on stack for"
        " %kernel.1. Scoped allocation with size 33.84M and limit 32.00M exceeded scoped vmem"
        " limit by 1.84M.",
        "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom: Ran out of memory in memory space"
        " vmem",
    ],
)
def test_vector_memory_is_not_the_memory_of_the_device(message: str, tmp_path: Path) -> None:
    found = said(message, tmp_path)
    assert isinstance(found, Refused)
    assert "vmem" in found.what


def test_what_is_exceeded_is_more_exact_than_what_is_used(tmp_path: Path) -> None:
    message = (
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space"
        " hbm. Used 31.82G of 31.25G hbm. Exceeded hbm capacity by 587.89M.\n"
        "    program          26.10G\n    arguments         5.72G\n"
    )
    found = said(message, tmp_path)
    assert isinstance(found, DoesNotFit)
    assert found.needed == 31.25 * GIB + round(587.89 * MIB)
    assert found.memory.temporaries == round(26.1 * GIB)
