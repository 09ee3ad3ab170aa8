"""Blocks of the analysis log: recorded (``program.py.txt``, torch_xla 2.9), torn, cut and mixed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.frontends.torch_xla.ingest.analysis_log import read_analysis_log
from xladoctor.ingest.frames import Frame
from xladoctor.ingest.graph_log import Block, GraphLog

LOGS = Path(__file__).parent / "analysis_logs"
RECORDED = (LOGS / "torch_xla_2.9.log").read_text(encoding="utf-8")
XLA = "/home/ada/venv/lib/python3.11/site-packages/torch_xla"
PROGRAM = "/home/ada/train.py"
WRAPPER = "/opt/xladoctor/recording/bootstrap/_xladoctor/adapter.py"
USER_SYNC = "user torch_xla.sync"
LOADER = "torch_xla.sync in parallel loader at step end"
STEP_TRACE = "torch_xla.sync when exiting a profiler StepTrace region"
READ = "most likely user code trying to access tensor value before torch_xla.sync"


def read(text: str) -> GraphLog:
    return read_analysis_log(text.splitlines(keepends=True))


def block_text(kind: str = "Execution", graph: str = "ab12", line: int = 7, inputs: int = 1) -> str:
    body = [
        "=" * 80,
        f"{kind} Cause",
        "  user torch_xla.sync",
        "Graph Info: ",
        f"  Graph Hash: {graph}",
        f"  Number of Graph Inputs: {inputs}",
        "  Number of Graph Outputs: 3",
        "Python Frame Triggered Execution: ",
        f"  sync ({XLA}/torch_xla.py:87)",
        f"  train ({PROGRAM}:{line})",
        "-" * 80,
        "=" * 80,
    ]
    return "\n" + "".join(f"{kind} Analysis: {text}\n" for text in body)


def content(block: Block) -> tuple[object, ...]:
    return (
        block.kind,
        block.cause,
        block.graph_hash,
        block.inputs,
        block.outputs,
        tuple(block.frames),
    )


def contents(text: str) -> list[tuple[object, ...]]:
    return [content(block) for block in read(text).blocks]


# Whole logs


def test_recorded_log_gives_each_compilation_and_execution_with_its_cause() -> None:
    log = read(RECORDED)

    assert log.torn == 0
    assert [(b.kind, b.cause, b.graph_hash[:6]) for b in log.blocks] == [
        ("compilation", LOADER, "ee8835"),
        ("execution", LOADER, "ee8835"),
        ("execution", LOADER, "ee8835"),
        ("compilation", LOADER, "3d7bfc"),
        ("execution", LOADER, "3d7bfc"),
        ("compilation", STEP_TRACE, "b81206"),
        ("execution", STEP_TRACE, "b81206"),
        ("execution", STEP_TRACE, "b81206"),
        ("compilation", READ, "b8b85b"),
        ("execution", READ, "b8b85b"),
        ("compilation", USER_SYNC, "816fd5"),
        ("execution", USER_SYNC, "816fd5"),
    ]


def test_recorded_block_is_read_in_full() -> None:
    block = read(RECORDED).blocks[5]

    assert block.graph_hash == "b81206c2f681877117b7d3104345a1f6"
    assert (block.inputs, block.outputs) == (0, 1)
    assert block.frames == [
        Frame(f"{XLA}/torch_xla.py", 87, "sync"),
        Frame(f"{XLA}/debug/profiler.py", 179, "__exit__"),
        Frame(PROGRAM, 19, "train"),
        Frame(PROGRAM, 27, "<module>"),
    ]


def test_hash_that_torch_xla_prints_without_its_leading_zero_is_kept_as_it_is() -> None:
    assert read(RECORDED).blocks[3].graph_hash == "3d7bfcef1e0cdfeae69225cfe396203"


def test_offset_is_the_byte_position_of_the_first_line() -> None:
    encoded = RECORDED.encode()
    for block in read(RECORDED).blocks:
        kind = block.kind.capitalize()
        assert encoded[block.offset :].startswith(f"{kind} Analysis: {kind} Cause\n".encode())


@given(st.sets(st.integers(0, 12)))
def test_parts_of_a_log_with_what_lies_before_them_are_the_log(cuts: set[int]) -> None:
    starts = [block.offset for block in read(RECORDED).blocks]
    places = [0, *sorted({([*starts, len(RECORDED.encode())])[cut] for cut in cuts}), None]
    encoded = RECORDED.encode()

    blocks: list[Block] = []
    for begin, end in pairwise(places):
        part = encoded[begin:end].decode().splitlines(keepends=True)
        log = read_analysis_log(part, begin or 0)
        assert log.torn == 0
        blocks += log.blocks

    assert tuple(blocks) == read(RECORDED).blocks


def test_log_printed_between_the_program_s_own_output_holds_the_same_blocks() -> None:
    printed = (LOGS / "torch_xla_2.9_printed.txt").read_text(encoding="utf-8")
    assert contents(printed) == contents(RECORDED)


@pytest.mark.parametrize(
    "prefix", ["[rank0]: ", "2026-01-05 10:00:00,123 worker-3 | ", "\x1b[31mW\x1b[0m "]
)
def test_prefix_of_a_log_before_each_line_changes_nothing(prefix: str) -> None:
    prefixed = "".join(prefix + line for line in RECORDED.splitlines(keepends=True))
    assert contents(prefixed) == contents(RECORDED)


def test_line_ends_of_windows_change_nothing() -> None:
    assert contents(RECORDED.replace("\n", "\r\n")) == contents(RECORDED)


def test_text_without_blocks_gives_none() -> None:
    assert read("epoch 1: loss 0.3\n") == GraphLog((), 0)
    assert read("") == GraphLog((), 0)
    assert read("Metric: CompileTime\n") == GraphLog((), 0)


# Causes


@pytest.mark.parametrize(
    ("frames", "cause"),
    [
        ([Frame(f"{XLA}/torch_xla.py", 87, "sync"), Frame(PROGRAM, 9, "train")], USER_SYNC),
        (
            [
                Frame(f"{XLA}/torch_xla.py", 87, "sync"),
                Frame(f"{XLA}/distributed/parallel_loader.py", 46, "next"),
            ],
            LOADER,
        ),
        (
            [
                Frame(f"{XLA}/torch_xla.py", 87, "sync"),
                Frame(f"{XLA}/debug/profiler.py", 179, "__exit__"),
            ],
            STEP_TRACE,
        ),
        ([Frame(f"{XLA}/core/xla_model.py", 12, "mark_step")], USER_SYNC),
        ([Frame(PROGRAM, 9, "train")], READ),
    ],
)
def test_wrapper_of_the_capture_does_not_hide_the_cause(frames: list[Frame], cause: str) -> None:
    stack = [Frame(WRAPPER, 73, "step_marker"), *frames]
    prefix = "Compilation Analysis:   "
    lines = "".join(f"{prefix}{each.function} ({each.file}:{each.line})\n" for each in stack)
    text = block_text("Compilation").replace("user torch_xla.sync", READ)
    begin, _, rest = text.partition(f"{prefix}sync (")
    (block,) = read(begin + lines + rest[rest.index("Compilation Analysis: ---") :]).blocks

    assert block.cause == cause
    assert block.frames == stack


# Torn and cut logs


def test_block_without_its_end_is_torn() -> None:
    cut = "".join(block_text().splitlines(keepends=True)[:-2])
    assert read(cut) == GraphLog((), 1)


@pytest.mark.parametrize("missing", ["  user torch_xla.sync", "Graph Hash", "Graph Outputs"])
def test_block_that_lacks_a_line_is_torn_and_the_next_is_read(missing: str) -> None:
    lines = block_text().splitlines(keepends=True)
    broken = "".join(line for line in lines if missing not in line)

    log = read(broken + block_text(graph="cd34"))

    assert [block.graph_hash for block in log.blocks] == ["cd34"]
    assert log.torn == 1


def test_summary_after_a_compilation_is_no_part_of_a_block() -> None:
    summary = (
        "Post Compilation Analysis: Graph input size: 0.000000 GB\n"
        "Post Compilation Analysis: -----\n"
    )
    lines = block_text("Compilation").splitlines(keepends=True)
    broken = "".join(line for line in lines[:-2] if "user torch_xla.sync" not in line)

    assert read(broken + summary) == GraphLog((), 1)


@given(st.integers(0, len(RECORDED)))
def test_log_cut_at_its_end_gives_the_blocks_before_the_cut(cut: int) -> None:
    blocks = contents(RECORDED[:cut])
    assert blocks == contents(RECORDED)[: len(blocks)]
    end = "Analysis: " + "-" * 80
    ends = RECORDED[:cut].count(end) - RECORDED[:cut].count(f"Post Compilation {end}")
    assert len(blocks) - ends in (0, 1)  # a few of the end's dashes are enough


@given(st.integers(0, len(RECORDED)))
def test_log_cut_at_its_beginning_gives_the_blocks_after_the_cut(cut: int) -> None:
    starts = [block.offset for block in read(RECORDED).blocks]
    expected = contents(RECORDED)[sum(start < cut for start in starts) :]
    assert contents(RECORDED[cut:]) == expected


@given(
    st.lists(st.booleans(), min_size=26, max_size=26), st.sampled_from(("Compilation", "Execution"))
)
def test_blocks_of_two_threads_that_wrote_at_once_are_never_mixed(
    order: list[bool], kind: str
) -> None:
    texts = (block_text("Execution", "ab12", 7, 1), block_text(kind, "cd34", 9, 2))
    queues = [text.splitlines(keepends=True) for text in texts]
    mixed = "".join(queues[turn].pop(0) if queues[turn] else "" for turn in map(int, order))
    mixed += "".join(queues[0] + queues[1])

    log = read(mixed)

    originals = [contents(text)[0] for text in texts]
    assert all(content(block) in originals for block in log.blocks)
    assert len(log.blocks) + log.torn >= 2  # none is lost in silence


LINES = [
    *block_text().splitlines(),
    *block_text("Compilation").splitlines(),
    "loss 0.5",
    "Execution Analysis: ",
    "Compilation Analysis: -----",
]


@given(st.lists(st.sampled_from(LINES)))
def test_lines_in_any_order_never_raise_and_never_give_half_a_block(lines: list[str]) -> None:
    for block in read("\n".join(lines)).blocks:
        assert (block.cause, block.graph_hash, block.outputs) == (USER_SYNC, "ab12", 3)


@given(st.binary(max_size=300), st.integers(0, len(RECORDED)))
def test_bytes_of_any_kind_in_the_middle_never_raise(junk: bytes, position: int) -> None:
    broken = RECORDED[:position] + "\n" + junk.decode(errors="replace") + "\n" + RECORDED[position:]

    log = read(broken)

    assert len(log.blocks) >= 10  # the one that was hit, and the next if its beginning is doubtful


# Memory


def sizes(graph: str, scale: float = 1.0, parts: int = 4) -> str:
    """What torch_xla writes after a compilation: inputs, outputs, what is both, and the rest."""
    values = zip(
        ("Graph input", "Graph output", "Aliased Input", "Intermediate tensor", "Compiled program"),
        (4.0, 2.0, 1.0, 3.0, 9.0),
        strict=True,
    )
    lines = [f"{name} size: {scale * value:.6f} GB" for name, value in list(values)[:parts]]
    said = ["=" * 80, *lines, "-" * 80, "=" * 80]
    return f"\nComputation hash: {graph}\n\n" + "".join(
        f"Post Compilation Analysis: {line}\n" for line in said
    )


def memories(text: str) -> list[int | None]:
    return [block.memory_bytes for block in read(text).blocks]


def test_graph_takes_inputs_outputs_and_what_lies_between_shared_ones_once() -> None:
    text = block_text("Compilation") + sizes("ab12", 0.5)
    assert memories(text) == [4 * 2**30]  # (4 + 2 - 1 + 3) / 2 gibibytes


def test_recorded_graphs_say_what_they_take() -> None:
    blocks = read(RECORDED).blocks
    assert all(
        (block.memory_bytes is not None) == (block.kind == "compilation") for block in blocks
    )


def test_sizes_are_those_of_the_compilation_before_them() -> None:
    first, second = block_text("Compilation", "a1"), block_text("Compilation", "b2")
    assert memories(first + sizes("a1") + block_text() + second + sizes("b2", 2)) == [
        8 * 2**30,
        None,
        16 * 2**30,
    ]


@pytest.mark.parametrize("parts", [0, 1, 2, 3])
def test_sizes_that_are_cut_off_are_unknown(parts: int) -> None:
    assert memories(block_text("Compilation") + sizes("ab12", parts=parts)) == [None]


def test_sizes_of_a_torn_block_are_not_those_of_the_one_before() -> None:
    whole = block_text("Compilation", "a1") + sizes("a1")
    torn = block_text("Compilation", "b2").replace("Graph Hash", "Gra")
    headless = block_text("Compilation", "b2").replace("Compilation Cause", "Com")
    for defect in (torn, headless):
        assert memories(whole + defect + sizes("b2", 9)) == [8 * 2**30]


def test_sizes_that_two_threads_wrote_at_once_are_unknown() -> None:
    both = block_text("Compilation", "a1") + block_text("Compilation", "b2")
    assert memories(both + sizes("a1") + sizes("b2", 2)) == [None, None]
