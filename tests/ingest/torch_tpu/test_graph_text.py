"""The text of the graph that TorchTPU compiled for a launch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from xladoctor.recording.bootstrap._xladoctor.torch_tpu.executables import executable

NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8).filter(
    lambda name: name not in ("input", "as_strided")
)
SHAPES = st.builds(
    lambda kind, sizes: f"{kind}[{', '.join(map(str, sizes))}]",
    st.sampled_from(("f32", "bf16", "i64", "pred")),
    st.lists(st.integers(0, 9999), max_size=4),
)


@given(NAMES, st.lists(SHAPES, max_size=5), SHAPES, st.integers(1, 10**6), st.booleans())
def test_a_graph_is_read_as_it_is_written(
    name: str, inputs: list[str], result: str, line: int, tabs: bool
) -> None:
    lines = [f"# Graph: 1 ops, {len(inputs)} inputs, reason: debug_mode"]
    lines += [f"%{n}: {shape} = input" for n, shape in enumerate(inputs)]
    lines += [f"%9, %10: {result}, {result} = {name}.out(%0)    # /a b/in.py:{line} in <lambda>"]
    text = "\n".join("\t" * tabs + each for each in [*lines, "return %9"])

    found = executable(text, "other")

    assert found.operator == name
    assert found.place == ("/a b/in.py", line, "<lambda>")
    sized = any("[]" not in shape for shape in inputs)
    shapes = inputs if sized else [*inputs, result, result]
    assert found.shapes == tuple(shape.replace(" ", "") for shape in shapes)


def test_what_no_input_has_the_size_of_has_that_of_its_result() -> None:
    zeros = executable("%0: f32[4, 4] = zeros_like()", "zeros_like")
    random = executable("%0: ui64[2] = input\n%1: f32[8, 3] = normal_(%0)", "normal_")
    full = executable("%0: f32[] = input\n%1: f32[3] = full(%0)", "full")

    assert [zeros.shapes, zeros.inputs] == [("f32[4,4]",), 0]
    assert random.shapes == ("ui64[2]", "f32[8,3]")
    assert full.shapes == ("f32[]", "f32[3]")
    assert not any(found.sliced for found in (zeros, random, full))


def test_reading_and_writing_parts_of_tensors() -> None:
    inputs = "%0: f32[4, 3] = input\n%1: f32[3] = input\n"
    read = executable(f"{inputs}%2: f32[3] = as_strided(%0)\n%3: f32[3] = add(%2, %1)", "add")
    written = executable(f"{inputs}%2: f32[12] = as_strided_inverse(%0, %1)", "as_strided_inverse")

    assert read.sliced
    assert read.shapes == ("f32[4,3]", "f32[3]", "f32[3]")
    assert written.sliced
    assert written.shapes == ("f32[4,3]", "f32[3]")


@given(st.text("%0: =#f32[8,1] input()\n.py in", max_size=400))
def test_any_text_of_a_graph_is_read(text: str) -> None:
    found = executable(text, "relu.out")

    assert found.operator == "relu" or found.operator in text
    assert found.inputs <= len(found.shapes)


def test_long_texts_are_read_in_no_time() -> None:
    for piece in ("%0: ", "f32[", "a" * 9, " # a:1 ", "%1: f32[2] = f(", ") ", "a:1 in "):
        executable(f"%0: {piece * 20_000} = f() # {piece * 20_000}", "f")
