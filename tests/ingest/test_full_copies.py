"""What XLA's partitioner says of tensors that it copies in full, in each wording."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.errors import XladoctorError
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.full_copies import Sharding, full_copy
from xladoctor.ingest.recorded_elsewhere import texts_alone

NEW = (
    "[SPMD] Involuntary full rematerialization. The compiler cannot go from sharding {was} to {to}"
    " efficiently for HLO operation %add.2 = f32[128,256,16]{{2,1,0}} add(%param, %param),"
    ' sharding={was}, metadata={{op_name="jit(f)/add" stack_frame_id=2}}. As the last resort, SPMD'
    " will replicate the tensor and then partition it to obtain the target sharding, which is"
    " inefficient."
)
OLD = (
    "[spmd] Involuntary full rematerialization. The compiler was not able to go from sharding {was}"
    " to {to} without doing a full rematerialization of the tensor{op}. You probably want to enrich"
    " the sharding annotations to prevent this from happening."
)
LINE = (
    " for HLO operation: %dot.5 = bf16[1024,32768]{1,0} dot(%p.1, %p.2), lhs_contracting_dims={1},"
    ' metadata={op_type="aten__mm" op_name="aten__mm.5" source_file="/app/train.py" source_line=42'
    " source_end_line=43}"
)
#: Before the message, in logs of JAX, torch_xla, older XLA, Ray and launchers.
PREFIXES = (
    "W1130 07:06:23.261221   22336 spmd_partitioner.cc:656] ",
    "W0000 00:00:1796025935.493236   19949 spmd_partitioner.cc:643] ",
    "2025-04-14 17:55:24.092274: E external/xla/xla/service/spmd/spmd_partitioner.cc:621] ",
    "[1]: E0531 10:54:04.832741 2609008 spmd_partitioner.cc:569] ",
    "(CompileWorker pid=6723, ip=192.168.0.10) 2022-09-16 03:44:56: E spmd_partitioner.cc:509] ",
)
MESH = "{{mesh['x'=4,'y'=2], [{}]}}"


def table(text: str) -> list[dict[str, Any]]:
    """The rows that a console log gives."""
    ingested = texts_alone([read_text(io.BytesIO(text.encode()), "log.txt")])
    return rows(ingested.tables["full_copy"])


@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_message_is_read_behind_every_prefix(prefix: str) -> None:
    to, was = "{devices=[1,8,1]<=[8]}", "{devices=[2,1,4]<=[4,2]T(1,0)}"
    [row] = table(f"step 1\n{prefix}{NEW.format(was=was, to=to)}\n" * 2)
    assert row["count"] == 2
    assert (row["compiled"], row["opcode"], row["type"]) == ("f", "add", "f32")
    assert (row["shape"], row["bytes"]) == ((256, 256, 64), 1 << 24)
    assert (row["op_name"], row["frame"], row["line"]) == ("jit(f)/add", 2, None)
    assert row["before"] == "dimension 0 in 2 parts, dimension 2 in 4 parts"
    assert row["after"] == "dimension 1 in 8 parts"
    assert row["between"] == "dimension 1 in 2 parts, dimension 2 in 4 parts"


def test_a_mesh_with_names_gives_a_specification() -> None:
    was, to = MESH.format("{'y'}, {}, {'x'}"), MESH.format("{}, {'x', 'y'}, {}")
    [row] = table(PREFIXES[0] + NEW.format(was=was, to=to))
    assert row["before"] == "dimension 0 in 2 parts (y), dimension 2 in 4 parts (x)"
    assert row["after"] == "dimension 1 in 8 parts (x, y)"
    assert row["between"] == "P('y', 'x', None)"
    assert row["shape"] == (256, 256, 64)


def test_older_releases_name_the_line_or_no_operation_at_all() -> None:
    shardings = {"was": "{devices=[8,1]<=[8]}", "to": "{devices=[1,8]<=[8]}"}
    [named] = table(OLD.format(**shardings, op=LINE))
    assert (named["file"], named["line"], named["frame"]) == ("/app/train.py", 42, None)
    assert (named["type"], named["bytes"], named["between"]) == ("bf16", 1 << 29, None)
    [unnamed] = table(OLD.format(**shardings, op="").replace("compiler", "compiled"))
    assert (unnamed["line"], unnamed["opcode"], unnamed["bytes"]) == (None, None, None)
    assert unnamed["after"] == "dimension 1 in 8 parts"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{replicated}", "whole on each device"),
        ("{maximal device=0}", "whole on device 0 alone"),
        ("{devices=[4,1,1,2]<=[8] last_tile_dim_replicate}", "dimension 0 in 4 parts"),
        ("{devices=[1,2,2,2]<=[8] last_tile_dims={manual, replicated}}", "dimension 1 in 2 parts"),
        ("{devices=[1,4]0,2,1,3}", "dimension 1 in 4 parts"),
        (MESH.format("{?}, {'x':(1)2}"), "dimension 1 in 2 parts (x)"),
        ("{manual}", "{manual}"),
    ],
)
def test_shardings_in_words(text: str, words: str) -> None:
    assert Sharding.of(text).words.startswith(words)


def test_the_same_parts_in_another_order_say_so() -> None:
    said = full_copy(OLD.format(was="{devices=[8]<=[8]}", to="{devices=[8]<=[2,4]T(1,0)}", op=""))
    assert said is not None
    assert said["after"] == "dimension 0 in 8 parts, its parts on other devices"


def test_a_message_that_is_cut_off_is_no_basis() -> None:
    cut = NEW.format(was="{devices=[8]<=[8]}", to="{replicated}")[:110]
    assert full_copy(cut) is None
    with pytest.raises(XladoctorError, match="cut off before it says"):
        table(cut)


@given(st.text("{}[]<=()',0128xy devices toHLO operation%", max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    full_copy(f"Involuntary full rematerialization from sharding {{{text}}} efficiently {text}")
