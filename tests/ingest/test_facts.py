"""What follows from the class of a fact, shown with one that only this test declares."""

import json
from typing import Annotated

import msgspec
import pytest

from xladoctor.facts.table import Column, columns, facts_in, table_name
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import row
from xladoctor.recording.bootstrap._xladoctor import facts
from xladoctor.recording.bootstrap._xladoctor.facts import (
    ONLY_RECORDED,
    Duration,
    Fact,
    Flag,
    Function,
    Names,
    NetDuration,
    Number,
    Recorded,
    Site,
    as_line,
    derived,
)


class LockWait(Fact, event="lock", source="steps.jsonl", example="SELECT * FROM lock_wait"):
    """A wait for a lock."""

    step: Annotated[Number, "barrier index"]
    waited_ns: Annotated[Duration, "how long"]
    holder: Annotated[Function, "the function that held it"] = None
    site: Site


class Copy(Fact, listed=True, source="steps.jsonl"):
    """A copy."""

    step: Annotated[Number, "barrier index"] = derived()
    pinned: Annotated[Flag, "whether it was from pinned memory"]
    duration_ns: Annotated[NetDuration, "how long, compilation not counted"]
    compile_ns: Annotated[Duration, "compilation"]
    site: Site


class Rank(Fact, source="process.json"):
    """A process."""

    peers: Annotated[Names, "processes that it knows"]
    copies: Annotated[tuple[Copy, ...], ONLY_RECORDED] = ()
    index: Annotated[Number, Recorded("rank"), "its rank"]


LINE = {"event": "lock", "step": 3, "waited_ns": 50, "site": 7}


def test_it_is_logged_with_the_fields_that_were_given() -> None:
    assert as_line(LockWait(step=3, waited_ns=50, site=7)) == LINE


def test_its_line_is_decoded_into_its_fields() -> None:
    line = msgspec.json.decode(json.dumps(LINE), type=decoded(LockWait))
    assert (line.step, line.waited_ns, line.holder, line.site) == (3, 50, None, 7)


@pytest.mark.parametrize("field", [{"step": -1}, {"waited_ns": 2**60}, {"site": "7"}])
def test_what_is_out_of_the_bounds_of_its_kind_is_refused(field: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(LINE | field), type=decoded(LockWait))


def test_a_line_without_a_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="site"):
        msgspec.json.decode('{"event": "lock", "step": 3, "waited_ns": 50}', type=decoded(LockWait))


def test_its_table_has_the_process_and_the_columns_of_its_lines() -> None:
    assert table_name(LockWait) == "lock_wait"
    described = columns(LockWait)
    assert [*described] == [
        *("process", "step", "waited_ns", "holder_file", "holder_line", "holder_function"),
        *("file", "line", "function", "user_file", "user_line", "user_function", "via"),
    ]
    assert described["step"] == Column("INTEGER", "barrier index", 2**31 - 1)
    assert described["waited_ns"] == Column("BIGINT", "how long", 2**53)
    assert described["holder_file"].text == "path of the function that held it"


def test_its_schema_says_what_the_fields_mean() -> None:
    schema = msgspec.json.schema(decoded(LockWait))["$defs"]["LockWait"]
    assert schema["description"] == "A wait for a lock."
    assert schema["properties"]["waited_ns"]["description"] == "how long"


def test_no_two_facts_of_the_capture_have_the_same_event() -> None:
    events = [fact.about.event for fact in facts_in(facts)]
    assert len(events) == len({*events})


def test_a_record_may_be_a_list_with_its_site_first() -> None:
    (copy,) = msgspec.json.decode("[[7, 1, 50, 20]]", type=tuple[decoded(Copy), ...])  # type: ignore[misc]
    assert row(copy, Copy) == {"pinned": True, "duration_ns": 30, "compile_ns": 20, "site": 7}
    assert [*columns(Copy)][:3] == ["process", "step", "pinned"]
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode("[7, 1, 50, 20, 3]", type=decoded(Copy))


def test_a_record_may_have_fields_of_its_own_and_other_names() -> None:
    text = '{"peers": ["a", "b"], "rank": 3, "copies": [[null, 0, 5, 0]]}'
    record = msgspec.json.decode(text, type=decoded(Rank))
    assert record.copies[0].duration_ns == 5
    assert row(record, Rank) == {"peers": 2, "index": 3}
    assert [*columns(Rank)] == ["process", "peers", "index"]
