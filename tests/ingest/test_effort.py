"""Readers take time and memory in proportion to their input, whatever is in it.

Nothing is timed: where a test is not exact, what it guards against would take hours.
"""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.torch_xla.test_analysis_log import block_text
from tests.xspace import builder
from xladoctor.frontends.torch_xla.ingest.analysis_log import read_analysis_log
from xladoctor.frontends.torch_xla.ingest.console import Console
from xladoctor.ingest import compressed
from xladoctor.ingest.compressed import Unpacked
from xladoctor.ingest.console_text import read_text_file
from xladoctor.ingest.frames import Frame, frame_in
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.xplane import space as spaces
from xladoctor.ingest.xplane.read import _content, read_space
from xladoctor.ingest.xplane.space import Space

_MANY = 300_000


def timeline(path: Path, lines: int = 1) -> Path:
    space = builder.Space()
    for number in range(lines):
        space.plane("/host:CPU").line(f"thread {number}").event("work", number, 1, _r=1)
    path.write_bytes(space.bytes())
    return path


def opened(path: Path) -> Space:
    space = read_space(path, Ingested())
    assert space is not None
    return space


# Timelines


def test_a_timeline_that_is_cut_off_while_it_is_used_stays_whole(tmp_path: Path) -> None:
    space = opened(path := timeline(tmp_path / "host.xplane.pb", 50))
    os.truncate(path, 0)
    assert len(space.decode().name) == 50


def test_lines_of_a_plane_are_counted_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = timeline(tmp_path / "host.xplane.pb", 200)
    monkeypatch.setattr(Space, "lines", property(lambda _: pytest.fail("all lines listed")))
    space = opened(path)
    assert space.line_count == space.event_count == len(space.decode().name) == 200
    assert len(space.decode({"_r"}).parts) == 1  # of all lines
    assert [(line.number, line.first) for line in space.planes[0].lines] == [
        (number, number) for number in range(200)
    ]


@pytest.mark.parametrize("ids", [[(1 << 20) - 1], [1, 2, 1000], [-5, 3], [1 << 62]])
def test_tables_are_as_large_as_the_number_of_their_ids(ids: list[int]) -> None:
    table, sorted_ids, _ = spaces._lookup(dict.fromkeys(ids, 0))
    assert len(table) == 0
    assert sorted_ids.tolist() == sorted(ids)


def test_ids_without_gaps_are_looked_up_in_a_table() -> None:
    table, sorted_ids, _ = spaces._lookup({key: key * 2 for key in range(1, 5)})
    assert table.tolist() == [-1, 2, 4, 6, 8]
    assert len(sorted_ids) == 0


def test_stats_with_high_ids_are_read_without_a_table_for_them(tmp_path: Path) -> None:
    space = opened(timeline(tmp_path / "host.xplane.pb"))
    space.planes[0].stat_names[(1 << 20) - 1] = "far"
    decoder = spaces._Decoder(space, {"_r"}, None)
    assert len(decoder._wanted_ids(space.planes[0])) < 100
    assert len(decoder.run().name) == 1


# Texts


_PATTERN = re.compile(r"(\S.*) \(((?:(?! \().)+):(\d{1,9})\)")


@given(st.lists(st.sampled_from(["f", " (", "(", ")", ":", "12", "/a.py", "\t"]), max_size=9))
def test_a_frame_is_what_a_pattern_would_find(parts: list[str]) -> None:
    text = "".join(parts)
    match = _PATTERN.fullmatch(text)
    assert frame_in(text) == (Frame(match[2], int(match[3]), match[1]) if match else None)


@pytest.mark.parametrize("bit", ["f (a:1 ", " (", ":1)", "a:1) (b"])
def test_a_line_that_may_be_a_frame_anywhere_is_read_at_once(bit: str) -> None:
    begin = block_text("Compilation").partition("  sync (")[0]
    log = read_analysis_log([*begin.splitlines(keepends=True), f"  {bit * _MANY}\n"])
    assert log.torn == 1
    console = Console()
    console.take("pt-xla-profiler: FRAME (count=27):")
    assert not console.take(f"pt-xla-profiler: {bit * _MANY}")


def test_a_line_that_is_one_word_is_read_at_once() -> None:
    assert not Console().take("pt-xla-profiler: " + "w" * _MANY)
    console = Console()
    assert console.take("pt-xla-profiler: CompileTime too frequent: 21 counts during 12 steps")
    assert console.samples == {"CompileTime": 21}


@pytest.mark.parametrize(
    "line", ["Number of Graph Inputs: " + "9" * 5000, "Graph input size: 1.2.3 GB"]
)
def test_numbers_that_are_none_are_left_out(line: str) -> None:
    text = block_text("Compilation") + f"Post Compilation Analysis: {line}\n"
    (block,) = read_analysis_log([*text.splitlines(keepends=True)]).blocks
    assert block.memory_bytes is None


def test_what_repeats_in_an_analysis_log_is_kept_once() -> None:
    text = block_text("Compilation") * 3
    first, *others = read_analysis_log(text.splitlines(keepends=True)).blocks
    for block in others:
        assert block.frames is first.frames
        assert block.graph_hash is first.graph_hash
        assert block.cause is first.cause


# Packed files


def packed(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data))
    return path


def test_no_more_is_unpacked_than_a_file_can_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "MESSAGE", 1 << 20)
    text = block_text("Compilation").encode()
    path = packed(tmp_path / "run.log.gz", text + b"x" * (1 << 25))
    with Unpacked(path) as file:
        blocks = iter(lambda: file.read(1 << 16), b"")
        assert 1 << 19 < sum(len(block or b"") for block in blocks) <= 1 << 20
        assert "unpacks to more than" in (file.damage or "")
    (note,) = (note for note in read_text_file(path).notes if "unpacks" in note)
    assert note.startswith(f"{path}: unpacks to more than")


def test_packed_timeline_that_unpacks_to_too_much_is_used_up_to_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = timeline(tmp_path / "host.xplane.pb", 50).read_bytes()
    path = packed(tmp_path / "host.xplane.pb.gz", whole + bytes([0xFA, 1]) + bytes(1 << 22))
    monkeypatch.setattr(compressed, "MESSAGE", 1 << 20)
    ingested = Ingested()
    space = read_space(path, ingested)
    assert space is not None
    assert space.event_count == 50
    assert "unpacks to more than" in ingested.notes[0]


def test_a_packed_text_of_one_endless_line_says_what_it_is_not(tmp_path: Path) -> None:
    with pytest.raises(IngestError):
        read_text_file(packed(tmp_path / "run.log.gz", b"x" * (1 << 25)))


def test_content_larger_than_expected_is_read_to_its_end(tmp_path: Path) -> None:
    path: Any = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 100)
    with Unpacked(path) as file:
        content = _content(file, 10)
    assert np.array_equal(content, np.frombuffer(path.read_bytes(), np.uint8))
    assert not content.flags.writeable


# Crafted inputs


def test_page_with_a_comment_that_never_ends(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<pre>\nCounter: aten::nonzero\n  Value: 3\n</pre>\n<!--\n" + "abc\n" * _MANY)
    assert read_text_file(page).kinds


@pytest.mark.parametrize("begin", ["Compiling f with global shapes and types [", "CACHE MISS at "])
def test_line_that_begins_a_record_again_and_again(tmp_path: Path, begin: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(begin * 20_000 + "\nCounter: aten::nonzero\n  Value: 3\n")
    assert read_text_file(log).kinds


def test_planes_beyond_any_profile_are_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(b"\n\x00" * 20_000)
    ingested = Ingested()
    space = read_space(path, ingested)
    assert space is not None
    assert len(space.planes) == 10_000
    assert "more than 10,000 planes" in ingested.lost[0]


def test_file_that_unpacks_to_far_more_than_its_size_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(20):
            file.write(bytes(1 << 20))
    with Unpacked(path) as unpacked:
        assert len(unpacked.readall() or b"") <= 16 << 20
        assert unpacked.damage == "unpacks to more than 16 MiB; the rest is left out"
