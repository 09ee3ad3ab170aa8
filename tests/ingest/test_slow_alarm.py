"""XLA's alarm of slow compilation, among a program's other output."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.frontends.jax.ingest.slow_alarm import SlowAlarm
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.recorded_elsewhere import texts_alone

HEAD = "2031-05-06 07:08:09.012345: E external/xla/xla/service/slow_operation_alarm.cc:"
STARS = "*" * 32
COMPILING = f"""{STARS}
[Compiling module jit_step] Very slow compile? If you want to file a bug, run with envvar XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the results.
{STARS}
"""  # noqa: E501
FOLDING = """Constant folding an instruction is taking > 2s:

  %reduce.8 = f32[200,10]{1,0} reduce(f32[200,10,10]{2,1,0} %broadcast.2, f32[] %constant.3), dimensions={2}, to_apply=%region_0.4, metadata={op_name="jit(f)/reduce_sum" source_file="/app/table.py" source_line=13}

This isn't necessarily a bug; constant-folding is inherently a trade-off.
"""  # noqa: E501


def compilations(text: str) -> list[tuple[object, ...]]:
    ingested = texts_alone([read_text(io.BytesIO(text.encode()), "out.log")])
    return [(row["cause"], row["duration_ns"]) for row in rows(ingested.tables["compilation"])]


def test_a_module_takes_what_the_alarm_says_at_its_end() -> None:
    text = f"{HEAD}73] \n{COMPILING}epoch 1\n{HEAD}140] The operation took 2m12.5s\n\n{COMPILING}"
    assert compilations(text) == [("jit(step)", 132_500_000_000)]


def test_a_module_without_an_end_takes_two_minutes_at_least() -> None:
    assert compilations(f"{HEAD}73] \n{COMPILING}") == [("jit(step)", None)]


@pytest.mark.parametrize("begun", [True, False])
def test_a_module_whose_time_comes_first(begun: bool) -> None:
    other = COMPILING.replace("jit_step", "jit_other")
    text = f"{HEAD}73] \n{COMPILING}{other}" if begun else ""
    text += f"The operation took 1h2m3.5s\n\n{COMPILING}"
    others = [("jit(other)", None)] if begun else []
    assert compilations(text) == [("jit(step)", 3_723_500_000_000), *others]


def test_a_module_on_a_line_of_its_own() -> None:
    text = (
        f"{HEAD}55] \n{STARS}\nVery slow compile?  If you want to file a bug, run with envvar"
        f" XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the results.\n"
        f"Compiling module jit_step.503\n{STARS}\nepoch 1\n"
    )
    assert compilations(text) == [("jit(step)", None)]


def test_a_build_without_optimizations_is_named() -> None:
    text = (
        f"{HEAD}55]\n{STARS}\nSlow compile?  XLA was built without compiler optimizations,"
        f" which can be slow.  Try rebuilding with -c opt.\n{STARS}\n"
    )
    with pytest.raises(IngestError, match="built without compiler optimizations"):
        compilations(text)


def folded(text: str) -> list[dict[str, object]]:
    ingested = texts_alone([read_text(io.BytesIO(text.encode()), "out.log")])
    return rows(ingested.tables["logged_constant"])


def test_constants_that_are_folded_have_their_line() -> None:
    text = f"{HEAD}65] {FOLDING}\n{HEAD}133] The operation took 6.5s\n{FOLDING}"
    (row,) = folded(text)
    assert (row["what"], row["compiled"], row["op"]) == ("folded", "f", "reduce")
    assert (row["shape"], row["file"], row["line"]) == ("f32[200,10]", "/app/table.py", 13)
    assert (row["duration_ns"], row["ended"]) == (6_500_000_000, True)


def test_folding_whose_end_is_not_logged_took_its_limit_at_least() -> None:
    newer = FOLDING.replace('source_file="/app/table.py" source_line=13', "stack_frame_id=8")
    (row,) = folded(f"E1129 23:36:14.036543    7032 slow_operation_alarm.cc:73] {newer}")
    assert (row["compiled"], row["line"]) == ("f", None)
    assert (row["duration_ns"], row["ended"]) == (2_000_000_000, False)


def test_each_instruction_has_its_own_time() -> None:
    other = FOLDING.replace("reduce.8", "gather.4").replace("> 2s", "> 4s")
    text = "".join(
        f"{HEAD}65] {each}\n{HEAD}133] The operation took {took}s\n{each}"
        for each, took in ((FOLDING, 2.5), (other, 4.5))
    )
    assert [row["duration_ns"] for row in folded(text)] == [2_500_000_000, 4_500_000_000]


def test_folding_within_a_module() -> None:
    text = (
        f"{HEAD}65] {FOLDING}{HEAD}73]\n{COMPILING}{HEAD}140] The operation took 3m1s\n{COMPILING}"
    )
    assert compilations(text) == [("jit(step)", 181_000_000_000)]
    assert len(folded(text)) == 1


@given(
    st.lists(
        st.sampled_from(
            [
                *COMPILING.splitlines(),
                *FOLDING.splitlines(),
                f"{HEAD}140] The operation took 1h2m",
                "The operation took s",
            ]
        )
    )
)
def test_any_lines_are_taken_or_left(lines: list[str]) -> None:
    log = SlowAlarm()
    for line in lines:
        log.take(line)
    log.add(Gathered(), Ingested().of(0))
    assert isinstance(log.LACKING, str)
