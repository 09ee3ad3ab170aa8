"""What Dynamo's guards tell of why a function is compiled again, as torch 2.9 writes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.pytorch.breaks import function_name, reason
from xladoctor.recording.bootstrap._xladoctor.pytorch.guards import (
    Frame,
    change,
    compared_with,
    hint,
    nearest,
    owner,
    traced,
)

TENSOR = SimpleNamespace(shape=(3, 4), dtype="torch.float32")


class Model:
    def __init__(self) -> None:
        self.flag = False
        self.steps = [1, 2, 3]

    @property
    def asked(self) -> Any:
        raise AssertionError("code of the program ran")


FRAME = Frame(
    {"x": TENSOR, "k": 1.5, "s": Model(), "cfg": {"a": 1, "b": 2}, "y": None, "___stack1": 2.5},
    {"limit": 4},
)
GUARDS = {
    "0/0: tensor 'x' size mismatch at index 0. expected 2, actual 3": (
        "shape",
        "x",
        "float32[2,4]",
        "float32[3,4]",
    ),
    "0/6: tensor 'x' rank mismatch. expected 3, actual 2": (
        "shape",
        "x",
        "3 dimensions",
        "2 dimensions",
    ),
    "0/4: tensor 'gone' size mismatch at index 1. expected 4, actual 1": (
        "shape",
        "gone",
        "size 4 of dimension 1",
        "size 1 of dimension 1",
    ),
    "0/4: tensor 'x' stride mismatch at index 0. expected 4, actual 1": (
        "type",
        "x",
        "stride 4 of dimension 0",
        "stride 1 of dimension 0",
    ),
    "0/4: tensor 'x' dtype mismatch. expected Float, actual Double": (
        "type",
        "x",
        "float",
        "double",
    ),
    "0/3: tensor 'x' requires_grad mismatch. expected requires_grad=1": (
        "type",
        "x",
        "requires a gradient",
        "requires no gradient",
    ),
    "0/4: expected type of 'y' to be a tensor type, ' but found <class 'NoneType'>": (
        "structure",
        "y",
        "a tensor",
        "None",
    ),
    "0/2: GLOBAL_STATE changed: grad_mode ": ("configuration", "grad_mode", "", ""),
    "0/0: len(cfg) == 1          # if cfg: z = 1  # train.py:18 in forward": (
        "structure",
        "cfg",
        "1 entries",
        "2 entries",
    ),
    "0/0: len(s.steps) == 2": ("structure", "s.steps", "2 entries", "3 entries"),
    "0/2: k == 1      # z = x * k  # train.py:17 in forward": ("static", "k", "1", "1.5"),
    "0/5: s.flag == True   # if s.flag: z = 1": ("static", "s.flag", "True", "False"),
    "0/1: s.asked == 3": ("static", "s.asked", "3", ""),
    "0/1: G['limit'] == 3": ("static", "limit", "3", "4"),
    "0/2: ___as_tensor(___stack1).item() == 1.25": ("static", "", "1.25", "2.5"),
    "0/2: ___as_tensor(k).item() == 1.25": ("static", "k", "1.25", "1.5"),
    "0/2: h is None": ("structure", "h", "None", ""),
    "0/3: ___check_obj_id(h.__code__, 139847138385472)    # s = h(s)": ("function", "h", "", ""),
    "0/4: CodeGuardAccessor: Not a function on h.__code__": ("function", "h", "", ""),
    "0/1: 2 <= x.size()[0]  # s = x.sum()  # train.py:57 in g (user code shown is first)": (
        "shape",
        "x",
        "sizes for which 2 <= x.size()[0]",
        "[3,4]",
    ),
    "0/4: Tensor device index mismatch. Expected device index to be 0, actual 1": (
        "guard",
        "",
        "Tensor device index mismatch. Expected device index to be 0, actual 1",
        "",
    ),
    "0/4: tensor 'x' Tensor device index mismatch. Expected device index to be 0, actual 1": (
        "sharding",
        "x",
        "device 0",
        "device 1",
    ),
    "0/0: tensor 'w[0]' size mismatch at index 0. expected 512, actual 96. Guard failed on a"
    " parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False.": (
        "shape",
        "w[0]",
        "size 512 of dimension 0",
        "size 96 of dimension 0",
    ),
    "1/0: ___check_obj_id(self._modules['mixer'].kernel, 140000000000)": (
        "member",
        "self._modules['mixer'].kernel",
        "",
        "",
    ),
    "1/0: ___check_obj_id(layer.kernel, 14)": ("member", "layer.kernel", "", ""),
    "1/0: ___check_obj_id(G['tools'].kernel, 14)": ("function", "tools.kernel", "", ""),
    "1/0: ___check_obj_id(args[0], 14)": ("function", "args[0]", "", ""),
    "0/0: ___check_type_id(k, 94), type=<class 'int'>": ("structure", "k", "int", "1.5"),
    "0/0: self.f.__closure__[0].cell_contents == 1   # return x * n  # a.py:11 in f (HINT: guard on"
    ' "n")': ("static", "n", "1", ""),
    "0/0: BACKEND_MATCH failure: torch.compile detected different backend callables.": (
        "function",
        "the backend",
        "",
        "",
    ),
    "0/1: what nobody knows": ("guard", "", "what nobody knows", ""),
    "": ("guard", "", "", ""),
}


@pytest.mark.parametrize("text", GUARDS)
def test_a_guard_tells_what_is_new(text: str) -> None:
    assert tuple(change(text, FRAME)) == GUARDS[text]


def test_an_object_of_the_same_module_is_made_anew() -> None:
    known = Frame({}, {}, again=True)
    assert change("0/1: ___check_obj_id(self.f, 94)", known).what == "function"
    assert owner("0/1: ___check_obj_id(self.f, 94)") == "self"
    assert owner("0/1: k == 3") == ""


IN_MODULE = (
    "0/0: self.n == 0      # self.n += 1  # {}:11 in forward (HINT: make it (or its like) dynamic)"
)
STACK = """0/0: mode == 'a'      # if mode == "a":  # mp/w/text.py:4 in choose
User stack trace:
  File "/tmp/w/text.py", line 11, in work
    return choose(y, mode)
  File "/tmp/w/text.py", line 4, in choose
    if mode == "a":"""


@pytest.mark.parametrize(
    ("short", "files", "whole"),
    [
        ("mp/w/a.py", ["/tmp/w/b.py", "/tmp/w/a.py"], "/tmp/w/a.py"),  # the root is in common
        ("mp/w/a.py", ["/tmp/w/b.py"], "/tmp/w/a.py"),
        ("lib/a.py", ["/home/me/lib/b.py"], "/home/me/lib/a.py"),
        ("a.py", ["/home/me/b.py"], "a.py"),
        (r"proj\a.py", [r"C:\me\proj\a.py"], r"C:\me\proj\a.py"),
    ],
)
def test_a_guard_names_the_line_that_needs_it(short: str, files: list[str], whole: str) -> None:
    assert traced(IN_MODULE.format(short), files) == [(whole, 11, "forward")]


def test_lines_of_torch_itself_need_no_guard_of_the_program() -> None:
    assert traced(IN_MODULE.format("nn/modules/batchnorm.py"), ["/home/me/b.py"]) == []
    assert traced("0/0: k == 1", ["/home/me/b.py"]) == []


def test_since_torch_2_13_all_lines_are_there() -> None:
    assert traced(STACK, []) == [("/tmp/w/text.py", 11, "work"), ("/tmp/w/text.py", 4, "choose")]
    assert change(STACK, FRAME)[:3] == ("static", "mode", "'a'")


def test_what_dynamo_suggests_is_kept_as_it_is() -> None:
    assert hint(IN_MODULE.format("a.py")) == "make it (or its like) dynamic"
    assert hint('0/0: x is 1  # f(x)  # a.py:1 in f (HINT: guard on "x", type int)') == ""
    parameter = next(text for text in GUARDS if "on a parameter" in text)
    assert hint(parameter) == (
        "consider using torch._dynamo.config.force_parameter_static_shapes = False."
    )


def test_a_guard_names_the_compilation_that_it_is_of() -> None:
    assert compared_with("12/3: k == 1") == "12/3"
    assert compared_with("12/3_1: k == 1") == "12/3_1"
    assert compared_with("k == 1") is None


BREAK = """Call to `torch._dynamo.graph_break()`
  Explanation: User-inserted graph break.
    Message: None
  Hint: It may be possible to write Dynamo tracing rules for this code.
  Hint: Remove the call.

  Developer debug context: Called with args `[]`

 For more details about this graph break, please visit: https://example.org
"""


def test_a_break_has_a_reason_and_the_hint_that_is_its_own() -> None:
    assert reason(BREAK) == (
        "Call to `torch._dynamo.graph_break()`: User-inserted graph break. Message: None",
        "Remove the call.",
    )
    attempt = "Encountered graph break when attempting to trace CALL: a call, e.g. f(x):\n\n"
    assert reason(attempt + BREAK) == reason(BREAK)
    assert reason("STORE_ATTR-caused graph break") == ("STORE_ATTR-caused graph break", "")
    assert reason("") == ("unknown", "")


def test_the_rest_of_a_function_is_called_after_it() -> None:
    assert function_name("torch_dynamo_resume_in_forward_at_7") == "forward after line 7"
    assert function_name("forward") == "forward"


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        (["0/1: x == 2", "0/0: x == 1"], 0),
        (
            [
                "0/2: len(kwargs) == 6",
                "0/1: tensor 'kwargs['keys']' size mismatch at index 2. expected 18, actual 22",
                "0/0: len(kwargs) == 6",
            ],
            1,
        ),
        (["0/1: GLOBAL_STATE changed: grad_mode", "0/0: len(xs) == 3"], 1),
        (["0/1: GLOBAL_STATE changed: grad_mode"], 0),
        (["0/2: len(xs) == 4", "0/1: len(xs) == 3"], 0),
    ],
)
def test_the_reason_is_that_of_the_most_similar_compilation(
    reasons: list[str], expected: int
) -> None:
    assert nearest(reasons) == reasons[expected]
