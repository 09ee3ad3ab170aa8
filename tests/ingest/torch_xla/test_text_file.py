"""Texts made elsewhere: what is recognized, and what is said of all else."""

from __future__ import annotations

import html
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.ingest.console_text import read_text, read_text_file
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.recorded_elsewhere import texts_alone

HERE = Path(__file__).parent
LOG = (HERE / "analysis_logs" / "torch_xla_2.9.log").read_bytes()
REPORT = b"""Metric: CompileTime
  TotalSamples: 2
  Accumulator: 03s000ms000.000us
  Percentiles: 1%=001ms000.000us; 50%=002ms000.000us; 99%=002ms000.000us
Counter: MarkStep
  Value: 40
"""


CONSOLE = b"""epoch 1
pt-xla-profiler: CompileTime too frequent: 21 counts during 11 steps
pt-xla-profiler: TransferFromDeviceTime too frequent: 11 counts during 11 steps
pt-xla-profiler: Op(s) not lowered: aten::_ctc_loss, aten::im2col,  Please open a GitHub issue
pt-xla-profiler: CompileTime too frequent: 23 counts during 12 steps
pt-xla-profiler: ExecuteTime too slow: longest instance took 31s000ms000.000us. Please open one
"""


def read(data: bytes) -> Ingested:
    return texts_alone([read_text(io.BytesIO(data), "report.txt")])


def counters(ingested: Ingested) -> dict[str, int]:
    return {row["name"]: row["value"] for row in rows(ingested.tables["counter"])}


def test_metrics_report() -> None:
    ingested = read(REPORT)

    assert rows(ingested.tables["metric"]) == [
        {
            "process": 0,
            "name": "CompileTime",
            "unit": "ns",
            "samples": 2,
            "accumulator": 3e9,
            "since": None,
            "p50": 2e6,
            "p99": 2e6,
            "growth": None,
        }
    ]
    assert counters(ingested) == {"MarkStep": 40}
    assert "compilation" not in ingested.tables


def test_a_duration_that_is_not_what_it_prints_is_said_to_be() -> None:
    assert read(REPORT).notes == []
    printed = REPORT.replace(b"03s000ms", b"03m58s114ms")
    assert read(printed).notes == [
        "report.txt: torch_xla rounds the units of a duration where it should cut them off:"
        " CompileTime 03m58s114ms000.000us is 2 min 58 s"
    ]


def test_analysis_log() -> None:
    ingested = read(LOG)

    assert len(rows(ingested.tables["compilation"])) == 5
    assert len(rows(ingested.tables["execution"])) == 7
    assert rows(ingested.tables["compilation"])[4]["file"] == "/home/ada/train.py"
    assert rows(ingested.tables["compilation"])[4]["line"] == 23
    assert "counter" not in ingested.tables


def test_console_says_counts_so_far_and_names_operators() -> None:
    ingested = read(CONSOLE)

    metrics = {row["name"]: row for row in rows(ingested.tables["metric"])}
    assert {name: row["samples"] for name, row in metrics.items()} == {
        "CompileTime": 23,
        "TransferFromDeviceTime": 11,
        "ExecuteTime": None,
    }
    assert metrics["ExecuteTime"]["accumulator"] == 31e9
    assert counters(ingested) == {"MarkStep": 12, "aten::_ctc_loss": None, "aten::im2col": None}


def test_all_kinds_between_each_other() -> None:
    """What a report counts goes before what the console said earlier."""
    ingested = read(CONSOLE + LOG + REPORT)

    samples = {row["name"]: row["samples"] for row in rows(ingested.tables["metric"])}
    assert samples["CompileTime"] == 2
    assert samples["TransferFromDeviceTime"] == 11
    assert counters(ingested)["MarkStep"] == 40
    assert len(rows(ingested.tables["compilation"])) == 5


PLACES = b"""pt-xla-profiler: FRAME (count=27):
pt-xla-profiler: Unlowered Op: "_local_scalar_dense"
pt-xla-profiler:
pt-xla-profiler: Python Frames:
pt-xla-profiler:   train_loop_fn (/home/ada/train.py:200)
pt-xla-profiler:   _mp_fn (/home/ada/train.py:300)
pt-xla-profiler: FRAME (count=12):
pt-xla-profiler: Unlowered Op: "_ctc_loss"
pt-xla-profiler: Python Frames:
pt-xla-profiler:   ctc_loss (/opt/python/lib/site-packages/torch/nn/functional.py:20)
pt-xla-profiler:   loss (/home/ada/speech.py:33)
"""


def test_early_releases_say_where_operators_ran_on_the_cpu() -> None:
    ingested = read(PLACES)

    assert counters(ingested) == {"aten::_local_scalar_dense": 27, "aten::_ctc_loss": 12}
    places = [
        (row["op"], row["count"], row["file"], row["line"])
        for row in rows(ingested.tables["fallback"])
    ]
    assert places == [
        ("aten::_local_scalar_dense", 27, "/home/ada/train.py", 200),
        ("aten::_ctc_loss", 12, "/home/ada/speech.py", 33),
    ]


SUMMARY = b"""pt-xla-profiler: Op(s) not lowered: aten::huber_loss, aten::huber_loss_backward.out, aten::nonzero,  Please open a GitHub issue with the above op lowering requests.
{0}================================================================================
{0}Unlowered Op usage summary (more of these ops, lower performance)
{0}Note: _local_scalar_dense typically indicates CPU context access
{0}--------------------------------------------------------------------------------
{0}FRAME (count=70):
{0}Unlowered Op: "xla_fallback"
{0}
{0}FRAME (count=30):
{0}  huber_loss (/opt/python/lib/site-packages/torch/nn/functional.py:3715)
{0}  train (/home/ada/train.py:31)
{0}
{0}FRAME (count=10):
{0}  train (/home/ada/train.py:35)
{0}================================================================================
train (/home/ada/train.py:99)
"""  # noqa: E501


@pytest.mark.parametrize("mark", [b"WARNING:pt-xla-profiler:", b"pt-xla-profiler: ", b""])
def test_places_without_names_are_of_the_operator_whose_function_was_called(mark: bytes) -> None:
    ingested = read(SUMMARY.replace(b"{0}", mark))

    assert counters(ingested) == {
        "aten::huber_loss": 30,
        "aten::huber_loss_backward.out": None,
        "aten::nonzero": None,
    }
    places = [
        (row["op"], row["count"], row["file"], row["line"])
        for row in rows(ingested.tables["fallback"])
    ]
    assert places == [
        ("aten::huber_loss", 30, "/home/ada/train.py", 31),
        (None, 10, "/home/ada/train.py", 35),
    ]


def test_figures_that_people_copied_by_hand() -> None:
    text = b"> pt-xla-profiler TransferFromServerTime too frequent 104300 in 34742 steps\n"
    assert counters(read(text)) == {"MarkStep": 34742}


def test_a_release_wrote_input_and_output_in_the_singular() -> None:
    singular = LOG.replace(b"Graph Inputs", b"Graph Input").replace(b"Outputs", b"Output")
    assert rows(read(singular).tables["compilation"]) == rows(read(LOG).tables["compilation"])


def lines(data: bytes, form: str) -> bytes:
    """Each line in a form of another tool."""
    escaped = html.escape(data.decode()) if "<" in form else data.decode()
    return "".join(
        form.format(line, i) + "\n" for i, line in enumerate(escaped.splitlines())
    ).encode()


@pytest.mark.parametrize(
    "form",
    [
        "> {}",
        "{1:5d}  {0}",
        "{1}: {0}",
        "\x1b[32m{}\x1b[0m",
        "\x1b]8;;file:///a\x1b\\{}\x1b]8;;\x1b\\",
        "2026-01-02 10:11:12,345 INFO [rank0] train.py:33: {}",
    ],
)
@pytest.mark.parametrize("data", [REPORT, CONSOLE, PLACES, LOG], ids=["r", "c", "p", "l"])
def test_quoted_numbered_and_coloured_texts_say_the_same(data: bytes, form: str) -> None:
    assert read(lines(data, form)).tables == read(data).tables


@pytest.mark.parametrize(
    "page",
    [
        "<html><style>Metric: x</style><body><p>Look:</p><pre>\n{}</pre><p>Why?</p>",
        "<p>{br}</p>",
        "<!DOCTYPE html>\n<table>{rows}</table>",
    ],
)
@pytest.mark.parametrize("data", [REPORT, CONSOLE, PLACES, LOG], ids=["r", "c", "p", "l"])
def test_web_pages_say_what_is_in_them(data: bytes, page: str) -> None:
    text = html.escape(data.decode())
    cells = "".join(
        f"<tr><td>{i}</td><td><span>{line}</span></td></tr>"
        for i, line in enumerate(text.splitlines())
    )
    whole = page.format(text, br=text.replace("\n", "<br>"), rows=cells)
    assert read(whole.encode()).tables == read(data).tables


@pytest.mark.parametrize("data", [REPORT, PLACES, LOG], ids=["r", "p", "l"])
def test_ranks_that_print_at_once_are_processes(data: bytes) -> None:
    ingested = read(lines(data, "[rank0]: {0}\n[rank1]: {0}"))

    alone = read(data)
    for name, table in alone.tables.items():
        both = rows(ingested.tables[name])
        for process in (0, 1):
            own = [{**row, "process": 0} for row in both if row["process"] == process]
            assert own == rows(table), name


def test_other_lines_of_that_name_are_no_evidence() -> None:
    with pytest.raises(IngestError, match="none of the formats"):
        read(b"pt-xla-profiler: nothing to say\nfoo too frequent: 3 counts during 2 steps\n")


def test_torn_blocks_are_counted_in_a_note() -> None:
    middle = LOG.index(b"Execution Analysis:   Graph Hash")
    ingested = read(LOG[:middle] + LOG[middle + 60 :])  # without its hash
    assert ingested.notes == ["report.txt: 1 blocks torn or cut off; left out"]
    assert len(rows(ingested.tables["execution"])) == 6


def test_a_block_that_is_cut_at_either_end_of_the_text_counts_if_it_tells_anything() -> None:
    ends = read(LOG[:-200])
    assert len(rows(ends.tables["execution"])) == 7
    begins = read(LOG[LOG.index(b"  Graph Hash") - len("Compilation Analysis: ") :])
    assert len(rows(begins.tables["compilation"])) == 5
    assert ends.notes == begins.notes == []


@pytest.mark.parametrize(
    "before", [b"\xef\xbb\xbf", b"$ python train.py\nepoch 1\n", b"\xff\xfe\xfa\n"]
)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_junk_before_and_line_ends_of_windows(before: bytes, ends: bytes) -> None:
    assert counters(read((before + REPORT).replace(b"\n", ends))) == {"MarkStep": 40}


@pytest.mark.parametrize("prefix", [b"[rank0]: ", b"2026-01-05 10:00:00 INFO metrics.py:9] "])
def test_report_behind_the_prefix_of_a_log(prefix: bytes) -> None:
    lines = REPORT.splitlines(keepends=True)
    assert counters(read(b"".join(prefix + line for line in lines))) == {"MarkStep": 40}


def test_report_far_down_in_a_long_log_is_found() -> None:
    assert counters(read(b"epoch 1: loss 0.3\n" * 9_000 + REPORT)) == {"MarkStep": 40}


def test_long_line_without_a_line_end_before_the_report() -> None:
    assert counters(read(b"x" * 3_000_000 + b"\n" + REPORT)) == {"MarkStep": 40}


def test_nothing_but_one_endless_line() -> None:
    with pytest.raises(IngestError, match=r"none of the formats .* in 1 lines"):
        read(b"x" * 3_000_000)


@pytest.mark.parametrize("shift", range(0, len(REPORT), 5))
def test_report_across_the_border_of_two_blocks_of_the_file_is_read_whole(shift: int) -> None:
    noise = b"." * (65_536 - shift - 1) + b"\n"

    ingested = read(noise + REPORT)

    assert rows(ingested.tables["metric"])[0]["accumulator"] == 3e9
    assert rows(ingested.tables["metric"])[0]["samples"] == 2
    assert [note for note in ingested.notes if "cut off" in note or "the text ends" in note] == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "report.txt: is empty"),
        (b"\x00", "report.txt: byte 0 is zero: not a text file"),
        (b"my notes\n", "report.txt: none of the formats that xladoctor reads, in 1 lines"),
        (LOG[:150], "report.txt: no complete block of an analysis log in it"),
    ],
    ids=["empty", "zero", "notes", "half a block"],
)
def test_text_of_no_use_is_an_error_that_names_it_and_what_was_expected(
    data: bytes, message: str
) -> None:
    with pytest.raises(IngestError) as caught:
        read(data)
    assert caught.value.what.startswith(message)
    assert "metrics report" in caught.value.hint
    assert "analysis log" in caught.value.hint


def test_file_that_cannot_be_opened_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(IngestError) as caught:
        read_text_file(tmp_path / "gone.txt")
    assert (
        caught.value.what == f"{tmp_path / 'gone.txt'}: cannot be read: No such file or directory"
    )


def test_file_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.touch()
    with pytest.raises(IngestError, match=f"{path}: is empty"):
        read_text_file(path)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_are_an_error_of_the_user(data: bytes) -> None:
    try:
        outcome = "; ".join(read(data).tables)
    except IngestError as error:
        outcome = error.what
    assert outcome == "metric; counter" or outcome.startswith("report.txt: ")


# Several reports, and what contradicts itself


def many(*reports: tuple[int, int]) -> bytes:
    """A report for each epoch: graphs compiled and launches until then."""
    texts = (
        f"epoch {epoch} loss 0.1\nMetric: CompileTime\n  TotalSamples: {compiled}\n"
        "  Accumulator: 03s000ms000.000us\nMetric: ExecuteTime\n"
        f"  TotalSamples: {launched}\n  Accumulator: 03s000ms000.000us\n"
        for epoch, (compiled, launched) in enumerate(reports)
    )
    return "".join(texts).encode()


def test_newest_of_several_reports_tells_what_came_since_the_one_before() -> None:
    ingested = read(many((60, 160), (60, 260), (61, 360)))
    metrics = rows(ingested.tables["metric"])
    since = {row["name"]: (row["samples"], row["since"]) for row in metrics}
    assert since == {"CompileTime": (61, 1), "ExecuteTime": (360, 100)}
    assert "report.txt: 3 reports in it; the newest is used (line 16)" in ingested.notes


def test_metrics_that_were_cleared_between_reports_are_said_to_be() -> None:
    ingested = read(many((60, 160), (2, 100)))
    assert {row["since"] for row in rows(ingested.tables["metric"])} == {None}
    assert any("counts fall from one report to the next" in note for note in ingested.notes)


def test_report_that_contradicts_itself_is_said_to() -> None:
    edited = REPORT.replace(b"50%=002ms", b"50%=09s002ms").replace(b"MarkStep", b"UncachedCompile")
    notes = read(edited).notes
    assert any("CompileTime contradicts itself: half of its 2 samples" in note for note in notes)
    assert any("2 samples of CompileTime, and 40 in UncachedCompile" in note for note in notes)
    assert not any("contradicts" in note for note in read(REPORT).notes)


# Blocks that somebody quotes

QUOTED = b"""Execution Analysis: ====================
Execution Analysis: Execution Cause
Execution Analysis:   most likely user code trying to access tensor value before mark_step
Execution Analysis: Python Frame Triggered Execution:
Execution Analysis:   step (/home/ada/train.py:41)
Execution Analysis: --------------------
Execution Analysis: ====================
"""


@pytest.mark.parametrize("quote", [b"", b"> ", b"2025-01-01T10:00:00.1Z ", b"\x1b[0m"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_block_of_2023_has_no_graph_and_counts(quote: bytes, end: bytes) -> None:
    ingested = read(b"".join(quote + line + end for line in QUOTED.splitlines()))
    (row,) = rows(ingested.tables["execution"])
    assert (row["file"], row["line"]) == ("/home/ada/train.py", 41)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_text_that_windows_wrote(encoding: str) -> None:
    assert counters(read(REPORT.decode().replace("\n", "\r\n").encode(encoding))) == {
        "MarkStep": 40
    }


def test_notebook_is_what_its_cells_printed() -> None:
    lines = REPORT.decode().splitlines(keepends=True)
    outputs = [{"output_type": "stream", "name": "stdout", "text": lines}]
    cells = [{"cell_type": "markdown", "source": []}, {"cell_type": "code", "outputs": outputs}]
    for indent in (None, 1):
        page = json.dumps({"cells": cells, "nbformat": 4}, indent=indent).encode()
        assert counters(read(page)) == {"MarkStep": 40}
