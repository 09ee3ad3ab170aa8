"""What Dynamo prints of graph breaks when asked, as several releases do."""

from __future__ import annotations

from pathlib import Path

import pytest

from xladoctor.doctor import load_evidence
from xladoctor.ingest.interface import IngestError

EXPLAINED = """\
Graph Count: 3
Graph Break Count: 2
Op Count: 12
Break Reasons:
  Break Reason 1:
    Reason: Data-dependent branching
  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).
  Hint: Use `torch.cond` to express dynamic control flow.

  Developer debug context: attempted to jump with TensorVariable()

    User Stack:
      <FrameSummary file /home/me/net.py, line 33 in forward>
      <FrameSummary file /home/me/gates.py, line 12 in gate>
  Break Reason 2:
    Reason: call_function BuiltinVariable(print) [ConstantVariable(str)] {}
    User Stack:
      <FrameSummary file /home/me/net.py, line 40 in torch_dynamo_resume_in_forward_at_33>
Ops per Graph:
  Ops 1:
    <built-in function linear>
"""
IN_2_0 = """\
Dynamo produced 3 graphs with 2 graph break and 12 ops
 Break reasons: \n
1. Data-dependent branching
  File "/home/me/net.py", line 33, in forward
    x = gate(x)
  File "/home/me/gates.py", line 12, in gate
    if x.sum() > 0:
\x20
2. call_function BuiltinVariable(print) [ConstantVariable(str)] {}
  File "/home/me/net.py", line 40, in <graph break in forward>
    print("x")
\x20
TorchDynamo compilation metrics:
"""
LISTED = (
    "V1125 10:34:28.106000 28187 torch/_dynamo/output_graph.py:985] [0/0] COMPILING GRAPH due to"
    " GraphCompileReason(reason='Data-dependent branching', user_stack=["
    "<FrameSummary file /home/me/net.py, line 33 in forward>,"
    " <FrameSummary file /home/me/gates.py, line 12 in gate>], graph_break=True)\n"
    '[GraphCompileReason(reason="print\'s\\n call", user_stack=['
    "<FrameSummary file /home/me/net.py, line 40 in <lambda>>], graph_break=True),"
    " GraphCompileReason(reason='return_value', user_stack=["
    "<FrameSummary file /home/me/net.py, line 41 in forward>], graph_break=False)]\n"
)


@pytest.mark.parametrize("text", [EXPLAINED, IN_2_0, LISTED])
def test_breaks_have_reason_and_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "out.txt"
    file.write_text(f"loss 2.5\n{text}loss 2.4\n", encoding="utf-8")
    first, second = load_evidence(str(file)).database.table(
        "SELECT file, line, function, compiled, reason, hint FROM graph_break ORDER BY line"
    )[1]
    assert first[:4] == ("/home/me/gates.py", 12, "gate", "forward")
    assert first[4].startswith("Data-dependent branching")
    assert first[5] == (
        "Use `torch.cond` to express dynamic control flow." if text is EXPLAINED else None
    )
    assert second[:2] == ("/home/me/net.py", 40)
    assert "print" in second[4]


def test_a_function_without_breaks_is_clear(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("Graph Count: 1\nGraph Break Count: 0\nOp Count: 3\nBreak Reasons:\n")
    assert load_evidence(str(file)).database.scalar("SELECT count(*) FROM graph_break") == 0


def test_counts_alone_name_no_line(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("Graph Count: 2\nGraph Break Count: 1\nOp Count: 3\n")
    with pytest.raises(IngestError, match="no graph break with its line"):
        load_evidence(str(file))
