"""What Dynamo logs as text, in the words and with the heads of several releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.interface import IngestError

#: Records without their heads: kind, number and lines.
AGAIN = (
    "recompiles",
    "0/1",
    """\
Recompiling function step in /home/me/train.py:8
    triggered by the following guard failure(s):
    - 0/0: tensor 'x' size mismatch at index 0. expected 2, actual 3""",
)
AND_AGAIN = (
    "recompiles",
    "0/2",
    """\
Recompiling function step in /home/me/train.py:8
    triggered by the following guard failure(s):
    - 0/1: tensor 'x' size mismatch at index 0. expected 3, actual 4
    - 0/0: tensor 'x' size mismatch at index 0. expected 2, actual 4""",
)
BREAK = (
    "graph_breaks",
    "1/0",
    """\
Graph break in user code at /home/me/model.py:12
Graph Break Reason: Data-dependent branching
  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).
  Hint: Use `torch.cond` to express dynamic control flow.

  Developer debug context: attempted to jump with TensorVariable()

User code traceback:
  File "/home/me/train.py", line 30, in <module>
    loss(x)
  File "/home/me/model.py", line 12, in loss
    if y.sum() > 0:
""",
)
AT = "1125 10:34:28.106000"


def glog(kind: str, number: str, text: str, rank: str = "") -> str:
    """As since torch 2.3."""
    return "".join(
        f"{rank}V{AT} 28187 torch/_dynamo/guards.py:4181] [{number}] [__{kind}] {line}\n"
        for line in text.split("\n")
    )


def logging(kind: str, number: str, text: str) -> str:
    """As in torch 2.1 and 2.2, a head for each record or, where they are logged so, each line."""
    of = "guards" if kind == "recompiles" else "symbolic_convert"
    return f"[2024-01-15 16:13:26,741] [{number}] torch._dynamo.{of}.__{kind}: [DEBUG] {text}\n"


def pasted(kind: str, number: str, text: str) -> str:
    """Without heads, but for the mark in the first line."""
    return f"[__{kind}] {text}\n"


def bare(kind: str, number: str, text: str) -> str:
    """Without any mark."""
    return f"{text}\n"


def read(folder: Path, text: str) -> Evidence:
    file = folder / "console.log"
    file.write_text(f"loss 2.5\n{text}loss 2.4\n", encoding="utf-8")
    return load_evidence(str(file))


def compiled(evidence: Evidence) -> Any:
    return evidence.database.table(
        "SELECT c.compile_id, c.function, c.line, k.what, k.argument, k.was, k.now, k.against"
        " FROM compilation c LEFT JOIN key_change k USING (process, index) ORDER BY index"
    )[1]


@pytest.mark.parametrize("head", [glog, logging, pasted, bare])
def test_functions_compiled_again(tmp_path: Path, head: Any) -> None:
    evidence = read(tmp_path, head(*AGAIN) + "epoch 1\n" + head(*AND_AGAIN))
    size = "size {} of dimension 0"
    assert compiled(evidence) == [
        ("0/0", "step", 8, None, None, None, None, None),
        ("0/1", "step", 8, "shape", "x", size.format(2), size.format(3), 0),
        ("0/2", "step", 8, "shape", "x", size.format(3), size.format(4), 1),
    ]


def test_guards_that_do_not_say_whose_they_are(tmp_path: Path) -> None:
    text = (
        "Recompiling function step in /home/me/train.py:8\n"
        "    triggered by the following guard failure(s):\n    - L['scale'] == {}"
    )
    evidence = read(
        tmp_path,
        "".join(
            logging("recompiles", f"2/{number + 1}", text.format(number)) for number in range(2)
        ),
    )
    assert [row[0] for row in compiled(evidence)] == ["2/0", "2/1", "2/2"]
    assert [row[3:6] for row in compiled(evidence)[1:]] == [
        ("static", "scale", "0"),
        ("static", "scale", "1"),
    ]


@pytest.mark.parametrize(
    "prefix",
    [
        f"W{AT} 28187 torch/_dynamo/convert_frame.py:1358] [0/2] ",
        "[2024-01-15 16:13:27,000] torch._dynamo.x: [WARNING] ",
        "",
    ],
)
def test_the_limit_is_not_compiled(tmp_path: Path, prefix: str) -> None:
    limit = (
        "torch._dynamo hit config.recompile_limit (2)\n   function: 'step' (/home/me/train.py:8)\n"
        "   last reason: 0/1: tensor 'L['x']' size mismatch at index 0. expected 3, actual 4\n"
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".\n'
    )
    limit = "".join(prefix + line + "\n" for line in limit.splitlines())
    evidence = read(tmp_path, glog(*AGAIN) + glog(*AND_AGAIN) + limit)
    found = evidence.database.table(
        "SELECT compiled, name, size, line, what, argument, was FROM compile_limit"
    )[1]
    assert found == [("step", "recompile_limit", 2, 8, "shape", "x", "size 3 of dimension 0")]
    assert [row[0] for row in compiled(evidence)] == ["0/0", "0/1"]
    fired = {finding.rule for finding in diagnose(evidence, load_rules()).findings}
    assert "XD116" in fired


@pytest.mark.parametrize(
    "reasons",
    [
        "[\"tensor 'x' size mismatch at index 0. expected 2, actual 3\"]",
        "(\"tensor 'x' size mismatch at index 0. expected 2, actual 3\", <code object step>)",
    ],
)
def test_the_limit_in_the_words_of_torch_2_0(tmp_path: Path, reasons: str) -> None:
    limit = (
        "[2023-04-01 12:00:00,000] torch._dynamo.convert_frame: [WARNING] torch._dynamo hit"
        " config.cache_size_limit (64)\n   function: 'step' (/home/me/train.py:8)\n"
        f"   reasons:  {reasons}\nto diagnose recompilation issues, see"
        " https://pytorch.org/docs/master/dynamo/troubleshooting.html.\n"
    )
    found = read(tmp_path, limit).database.table(
        "SELECT compiled, name, size, line, what, argument, was FROM compile_limit"
    )[1]
    assert found == [("step", "cache_size_limit", 64, 8, "shape", "x", "size 2 of dimension 0")]


OF_2_5 = """\
Graph break in user code at /home/me/model.py:12
Reason: Unsupported: generic_jump TensorVariable()
User code traceback:
  File "/home/me/model.py", line 12, in loss
    if y.sum() > 0:
"""
OF_2_1 = """\
Graph break: generic_jump TensorVariable() from user code at:
  File "/home/me/model.py", line 12, in loss
    if y.sum() > 0:
"""
OF_2_4 = """\
Graph break: from user code at:
  File "/home/me/model.py", line 12, in loss
    if y.sum() > 0:
Traceback (most recent call last):
  File "/site-packages/torch/_dynamo/symbolic_convert.py", line 500, in wrapper
    return inner_fn(self, inst)
torch._dynamo.exc.Unsupported: generic_jump TensorVariable()
"""


@pytest.mark.parametrize(
    ("head", "text", "reason"),
    [
        (
            glog,
            BREAK[2],
            "Data-dependent branching: Detected data-dependent branching (e.g. `if"
            " my_tensor.sum() > 0:`).",
        ),
        (pasted, BREAK[2], "Data-dependent branching"),
        (bare, BREAK[2], "Data-dependent branching"),
        (glog, OF_2_5, "Unsupported: generic_jump TensorVariable()"),
        (glog, OF_2_4, "generic_jump TensorVariable()"),
        (logging, OF_2_1, "generic_jump TensorVariable()"),
    ],
)
def test_places_where_functions_are_split(
    tmp_path: Path, head: Any, text: str, reason: str
) -> None:
    duplicate = glog(
        "graph_breaks",
        "1/1",
        "Graph break (user stack suppressed due to duplicate"
        " graph break) in user code at /home/me/model.py:12",
    )
    evidence = read(tmp_path, head("graph_breaks", "1/0", text) + duplicate)
    ((file, line, function, why),) = evidence.database.table(
        "SELECT file, line, function, reason FROM graph_break"
    )[1]
    assert (file, line, function) == ("/home/me/model.py", 12, "loss")
    assert why.startswith(reason)
    assert {finding.rule for finding in diagnose(evidence, load_rules()).findings} == {"XD314"}


ASKED_FOR = """\
Graph break in user code at {0}:{1}
Graph Break Reason: Call to `torch._dynamo.graph_break()`
  Explanation: User-inserted graph break. Message: None
  Hint: Remove the `torch._dynamo.graph_break()` call.

User code traceback:
  File "/home/me/train.py", line 9, in update
    optimizer.step()
  File "{0}", line {1}, in _use_grad
    torch._dynamo.graph_break()
"""


@pytest.mark.parametrize(
    ("file", "breaks"), [("/site-packages/torch/optim/optimizer.py", 0), ("/home/me/model.py", 1)]
)
def test_breaks_that_the_framework_itself_asks_for_are_left_out(
    tmp_path: Path, file: str, breaks: int
) -> None:
    evidence = read(tmp_path, glog("graph_breaks", "1/0", ASKED_FOR.format(file, 81)))
    assert evidence.database.scalar("SELECT count(*) FROM graph_break") == breaks


def test_the_newest_record_alone(tmp_path: Path) -> None:
    """Of compilations that a part of a log is silent of, only that they were made is known."""
    newest = (AGAIN[0], "0/7", AGAIN[2].replace("0/0", "0/6"))
    evidence = read(tmp_path, glog(*newest))
    assert [(row[0], row[3], row[7]) for row in compiled(evidence)] == [
        *((f"0/{nth}", None, None) for nth in range(7)),
        ("0/7", "shape", 6),
    ]
    told = {finding.rule: finding for finding in diagnose(evidence, load_rules()).findings}
    assert told["XD101"].count == 1
    assert "the cause of 1 other there is known" in told["XD110"].message


def test_numbers_of_two_runs_in_one_log(tmp_path: Path) -> None:
    other = (AGAIN[0], AGAIN[1], AGAIN[2].replace("step", "other"))
    evidence = read(tmp_path, glog(*AGAIN) + glog(*other))
    assert evidence.database.table("SELECT index, compile_id, function FROM compilation")[1] == [
        (0, "0/0", "step"),
        (1, "0/1", "step"),
        (2, "0/0", "other"),
        (3, "0/1", "other"),
    ]
    assert [row[7] for row in compiled(evidence)] == [None, 0, None, 2]


def test_beside_another_compilers_report_only_breaks_count(tmp_path: Path) -> None:
    report = (
        "Metric: CompileTime\n  TotalSamples: 3\n  Accumulator: 01s204ms550.300us\n"
        "  Percentiles: 1%=001ms2.300us; 50%=002ms2.300us; 99%=003ms2.300us\n"
        "Counter: MarkStep\n  Value: 30\n"
    )
    evidence = read(tmp_path, glog(*AGAIN) + glog(*BREAK) + report)
    assert evidence.frontend == "torch_xla"
    assert evidence.database.scalar("SELECT count(*) FROM graph_break") == 1
    assert evidence.database.scalar("SELECT count(*) FROM key_change") == 0


def test_ranks_are_processes(tmp_path: Path) -> None:
    evidence = read(tmp_path, glog(*AGAIN, rank="[rank0]:") + glog(*AGAIN, rank="[rank1]:"))
    assert evidence.database.scalar("SELECT count(DISTINCT process) FROM compilation") == 2


def test_a_program_that_speaks_of_it_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(IngestError):
        read(tmp_path, "[__recompiles] none so far\nRecompiling function f in a.py:3\n")


READ = """\
Graph break from `Tensor.item()`, consider setting:
    torch._dynamo.config.capture_scalar_outputs = True
or:
    env TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1
to include these operations in the captured graph.

Graph break: from user code at:
  File "/home/me/train.py", line 30, in step
    loss(x)
  File "/home/me/model.py", line 12, in loss
    return y.max().item()
"""
HEADS = [
    f"W{AT} 28187 torch/_dynamo/variables/tensor.py:869] [1/0] ",
    f"[rank1]:W{AT} 28187 torch/_dynamo/variables/tensor.py:869] [1/0] ",
    "[2024-01-15 16:13:26,741] [1/0] torch._dynamo.variables.tensor: [WARNING] ",
    "2026-03-14T08:15:02.118Z ",
    "trainer-1  | ",
    "",
]


@pytest.mark.parametrize("head", HEADS)
def test_a_value_that_is_read_splits_a_function(tmp_path: Path, head: str) -> None:
    text = "".join(f"{head}{line}".rstrip(" ") + "\n" for line in READ.splitlines())
    evidence = read(tmp_path, text + "step 3 loss 2.91\n")
    assert evidence.database.table(
        "SELECT compiled, file, line, function, reason, hint FROM graph_break"
    )[1] == [
        (
            "loss",
            "/home/me/model.py",
            12,
            "loss",
            "call of Tensor.item()",
            "torch._dynamo.config.capture_scalar_outputs = True",
        )
    ]


def test_a_break_that_another_record_explains_is_one(tmp_path: Path) -> None:
    warning = "".join(f"{HEADS[0]}{line}\n" for line in READ.splitlines())
    evidence = read(tmp_path, warning + glog(*BREAK))
    ((reason,),) = evidence.database.table("SELECT reason FROM graph_break")[1]
    assert reason.startswith("Data-dependent branching")


OBJECT = "___check_obj_id(self._modules['mixer'].kernel, 14000000{0})"


def of_layers(versions: int) -> list[str]:
    """Records of versions after the first, each compared with all before it."""
    head = "Recompiling function forward in /home/me/stack.py:52\n"
    head += "    triggered by the following guard failure(s):\n"
    return [
        glog(
            "recompiles",
            f"1/{nth}",
            head
            + "\n".join(
                f"    - 1/{before}: {OBJECT.format(before)}" for before in reversed(range(nth))
            ),
        )
        for nth in range(1, versions)
    ]


def test_an_object_of_each_layer_is_not_made_anew(tmp_path: Path) -> None:
    (finding,) = diagnose(read(tmp_path, "".join(of_layers(8))), load_rules()).findings
    assert (finding.rule, finding.count, finding.severity) == ("XD112", 7, "warning")
    assert "in each module that the call is for" in finding.message
    assert "made since" not in finding.message


@pytest.mark.parametrize("last", [7, 6])
def test_a_record_tells_of_the_versions_before_it(tmp_path: Path, last: int) -> None:
    """The first record's head is cut off, and those before it are missing."""
    text = "".join(of_layers(8)[5:last]).split("guard failure(s):\n", 1)[1]
    evidence = read(tmp_path, text)
    known = [(row[0], row[3], row[7]) for row in compiled(evidence)]
    assert known == [
        ("1/0", None, None),
        *((f"1/{nth}", "member", nth - 1) for nth in range(1, last + 1)),
    ]
    assert {finding.rule for finding in diagnose(evidence, load_rules()).findings} == {"XD112"}


def test_what_a_version_was_compiled_for_stands_in_later_records(tmp_path: Path) -> None:
    line = "           # rows = table[n:]  # home/me/look.py:21 in look"
    head = "Recompiling function look in /home/me/look.py:18\n"
    head += "    triggered by the following guard failure(s):\n"
    evidence = read(
        tmp_path,
        "".join(
            glog(
                "recompiles",
                f"0/{nth}",
                head
                + "\n".join(
                    f"    - 0/{before}: L['n'] == {before}{line}" for before in reversed(range(nth))
                ),
            )
            for nth in range(1, 6)
        ),
    )
    (finding,) = diagnose(evidence, load_rules()).findings
    assert (finding.rule, finding.severity, finding.count) == ("XD104", "info", 5)
    assert "last from 3 to 4; it took 4 values: 1, 2, 3, 4" in finding.message
    assert [(place.role, place.file, place.line) for place in finding.locations] == [
        ("guilty", "/home/me/look.py", 21),
        ("compiled", "/home/me/look.py", 18),
    ]


def test_a_record_without_its_head_names_no_function(tmp_path: Path) -> None:
    text = glog(*AGAIN).splitlines(keepends=True)[-1]
    (finding,) = diagnose(read(tmp_path, text), load_rules()).findings
    assert finding.place == "a function that the log does not name"
    assert finding.message.startswith("1 call of a function compiled again")


def test_few_records_clear_no_rule(tmp_path: Path) -> None:
    diagnosis = diagnose(read(tmp_path, glog(*AGAIN)), load_rules())
    assert diagnosis.rules.fired == ["XD101"]
    assert diagnosis.rules.clear == []


ERROR = "torch._dynamo.exc.FailOnRecompileLimitHit: Hard failure due to fullgraph=True\n"


@pytest.mark.parametrize("before", [True, False])
def test_a_limit_may_end_the_program(tmp_path: Path, before: bool) -> None:
    limit = (
        "torch._dynamo hit config.recompile_limit (2)\n   function: 'step' (/home/me/train.py:8)\n"
        "   last reason: 0/1: L['n'] == 3   # f(n)  # home/me/lib.py:9 in f\nUser stack trace:\n"
        '  File "/home/me/other/lib.py", line 9, in f\n    f(n)\n'
    )
    text = "".join(f"{HEADS[0]}{line}\n" for line in limit.splitlines()) if before else ""
    text += "Traceback (most recent call last):\n" + ERROR
    (finding,) = diagnose(read(tmp_path, text), load_rules()).findings
    assert finding.rule == "XD116"
    assert "ended the run with an error" in finding.message
    assert [place.file for place in finding.locations] == (
        ["/home/me/other/lib.py", "/home/me/train.py"] if before else []
    )


def recompiled(number: str, function: str, *guards: str) -> tuple[str, str, str]:
    head = f"Recompiling function {function}\n    triggered by the following guard failure(s):\n"
    return "recompiles", number, head + "\n".join(f"    - {guard}" for guard in guards)


SIZE = "tensor '{}' size mismatch at index 1. expected {}, actual {}"


@pytest.mark.parametrize("parameter_first", [False, True])
def test_several_arguments_are_all_named(tmp_path: Path, parameter_first: bool) -> None:
    parameter = SIZE.format("self._parameters['w']", 64, 96)
    parameter += (
        ". Guard failed on a parameter, consider using"
        " torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism."
    )
    guards = [parameter, SIZE.format("mask", 30, 20)]
    first, second = guards if parameter_first else guards[::-1]
    where = "forward in /home/me/model.py:9"
    text = glog(*recompiled("4/1", where, f"4/0: {first}"))
    text += glog(*recompiled("4/2", where, f"4/1: {second}", f"4/0: {first}"))
    (finding,) = diagnose(read(tmp_path, text), load_rules()).findings
    assert "self._parameters['w'] changed shape, last from size 64" in finding.message
    assert "mask changed shape, last from size 30 of dimension 1 to size 20" in finding.message
    assert "PyTorch suggests: consider using torch._dynamo.config" in finding.message
    assert finding.fix.startswith("Before the first call: torch._dynamo.config.force_parameter")
    assert "mark it before the call" in finding.fix


def test_sizes_of_layers_in_a_record_that_is_followed_by_a_cut_one(tmp_path: Path) -> None:
    where = "forward in /home/me/conv.py:7"
    sizes = [f"1/{nth}: {SIZE.format('x', size, 96)}" for nth, size in enumerate((48, 192, 24))]
    text = glog(*recompiled("1/3", where, *sizes[::-1])) + glog(*recompiled("1/4", where))
    shapes, cut = diagnose(read(tmp_path, text), load_rules()).findings
    assert (shapes.rule, shapes.count, cut.rule, cut.count) == ("XD101", 3, "XD110", 1)
    assert "dimension 1 took 4 values: 24, 48, 96, 192" in shapes.message
    assert shapes.fix.startswith("If layers share this code")
    assert "cut off in this log" in cut.message
    assert "TORCH_LOGS" not in cut.message + cut.fix


@pytest.mark.parametrize(
    ("name", "fix"),
    [("layer_idx", "to be a different number in each layer"), ("scale", "If self.")],
)
def test_a_number_that_differs_from_layer_to_layer(tmp_path: Path, name: str, fix: str) -> None:
    guard = "self._modules['attention']." + name
    text = "".join(
        glog(
            *recompiled(
                f"0/{nth}",
                "forward in /home/me/block.py:5",
                *(f"0/{before}: {guard} == {before}" for before in reversed(range(nth))),
            )
        )
        for nth in range(1, 4)
    )
    (finding,) = diagnose(read(tmp_path, text), load_rules()).findings
    assert finding.rule == "XD104"
    assert fix in finding.fix
    assert "torch._dynamo.config.recompile_limit = 64" in finding.fix


def test_a_record_that_a_paste_begins_in(tmp_path: Path) -> None:
    """Until torch 2.4 guards do not say whose they are."""
    where = "encode in /home/me/enc.py:4"
    records = [
        recompiled(
            "",
            where,
            *(
                f"tensor 'L['x']' size mismatch at index 0. expected {40 - nth}, actual {40 - last}"
                for nth in reversed(range(last))
            ),
        )
        for last in range(1, 4)
    ]
    head = "[2024-02-01 09:00:00,000] torch._dynamo.guards.__recompiles: [DEBUG] "
    lines = [head + line for _, _, text in records for line in text.split("\n")]
    evidence = read(tmp_path, "\n".join(lines[2:]) + "\n")
    assert [row[1] for row in compiled(evidence)] == ["encode"] * 4
    assert [row[5] for row in compiled(evidence)[1:]] == [
        f"size {size} of dimension 0" for size in (40, 39, 38)
    ]


def test_a_batch_of_one(tmp_path: Path) -> None:
    guard = "0/0: tensor 'x' size mismatch at index 0. expected 16, actual 1"
    text = glog(*recompiled("0/1", "embed in /home/me/search.py:3", guard))
    (finding,) = diagnose(read(tmp_path, text), load_rules()).findings
    assert finding.fix.startswith("Sizes 0 and 1 always compile separately")


def test_a_rate_that_became_a_number_in_a_file_of_torch(tmp_path: Path) -> None:
    guard = (
        "0/0: expected type of 'self.param_groups[0]['lr']' to be a tensor type, '"
        " but found <class 'float'>"
    )
    text = glog(*recompiled("0/1", "step in /opt/lib/torch/optim/adam.py:210", guard))
    (finding,) = diagnose(read(tmp_path, text), load_rules()).findings
    assert finding.rule == "XD106"
    assert not any(place.file for place in finding.locations)
    assert 'group["lr"].fill_(value)' in finding.fix


@pytest.mark.parametrize("folder", ["/opt/lib/", "/usr/lib/python3.11/site-packages/", ""])
def test_functions_in_a_wrapper_are_not_one(tmp_path: Path, folder: str) -> None:
    where = f"inner in {folder}torch/_dynamo/external_utils.py:66"
    text = glog(*recompiled("0/1", where, "0/0: ___check_obj_id(fn, 140001)"))
    evidence = read(tmp_path, text)
    assert not diagnose(evidence, load_rules()).findings
    assert [(row[2], row[3]) for row in compiled(evidence)] == [(None, None)] * 2


def test_no_rows_for_what_a_number_implies(tmp_path: Path) -> None:
    text = glog(*recompiled("0/900000000", "step in /home/me/train.py:8", "0/70: L['n'] == 1"))
    numbers = [row[0] for row in compiled(read(tmp_path, text))]
    assert numbers[:2] == ["0/0", "0/70"]
    assert len(numbers) < 30
