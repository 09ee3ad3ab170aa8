"""Reports with pictures, made by hand, for the tests of pages."""

from __future__ import annotations

from dataclasses import replace

from tests.report.diagnoses import SICK
from xladoctor.causes.graph_difference import Compiled, Difference, InputChange, LineChange
from xladoctor.causes.graph_difference import OperationChange as Operation
from xladoctor.causes.interface import Place
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pictures.interface import (
    Lane,
    Pictures,
    ProcessStep,
    Span,
    StepPicture,
    StepSeries,
)

_PLACE = Place("data.py", 88, "load")
_GRAPH = Compiled(3, 3, 0.3, "abc", 20, 2, 1, "train.py", 41)


def series(count: int, **parts: int) -> StepSeries:
    """Steps that are all alike but for one in a hundred, which compiles."""
    compiling = [1_000_000 if nth % 100 == 50 else 0 for nth in range(count)]
    usual = sum(parts.values())
    return StepSeries(
        list(range(count)),
        [1] * count,
        {"compile": compiling, **{part: [us] * count for part, us in parts.items()}},
        [usual + us for us in compiling],
        [int(us > 0) for us in compiling],
    )


def drawn(text: str = "", steps: int = 200) -> Diagnosis:
    """All pictures that there are; ``text`` stands wherever a program's own text does."""
    first = replace(SICK.findings[0], compilations=[4])
    claim = Lane("finding 1: XD101", [Span(10, 20, "claim", f"read{text}")], first.fingerprint)
    lanes = [
        Lane("your labels", [Span(0, 90, "label", f"label{text}")]),
        Lane("loop's thread", [Span(0, 50, "python", f"x{text}"), Span(50, 50, "read", "r")]),
        claim,
        Lane(f"gpu{text}", [Span(0, 50, "busy", "ran"), Span(50, 50, "gap", "idle: wait")]),
    ]
    site = {
        "process": 0,
        "file": f"a{text}.py",
        "line": 3,
        "user_file": None,
        "user_line": None,
        "via": f"sync{text}",
        "compilations": 5,
        "graphs": 4,
        "seconds": 1.5,
        "seconds_after_warmup": None,
        "kinds": {"input_shape": 4, "first": 1},
    }
    cause = {
        "basis": "hlo",
        "kind": "input_shape",
        "was": "f32[2]",
        "now": f"f32[3]{text}",
        "op": "",
        "against": 3,
        "file": f"d{text}.py",
        "line": 8,
    }
    compiled = {
        **site,
        "index": 4,
        "step": 4,
        "graph_hash": "0123456789",
        "warmup": False,
        "cause": cause,
    }
    differs = Difference(
        0,
        _GRAPH,
        replace(_GRAPH, index=4),
        (InputChange(0, "f32[2]", f"f32[3]{text}", True, _PLACE),),
        (LineChange(_PLACE, (Operation("add", (f"add{text}",), ("mul",), 1, 1),)),),
        (),
        3,
    )
    made = Pictures(
        steps=series(steps, read=700, python=2000),
        shown=[
            StepPicture(["a typical step"], 7, 100, lanes, "Threads are not drawn."),
            StepPicture(["the slowest step"], 50, 100, lanes),
        ],
        processes=[
            ProcessStep(f"process 0 (a{text})", 198, 0.003, {"read": 0.001, "python": 0.002}),
            ProcessStep("process 1", 198, 0.009, {"read": 0.007, "python": 0.002}),
        ],
        excerpts={"train.py:41": [(40, "def f():"), (41, f"    guilty(){text}"), (42, "    x")]},
        compilations=[{**compiled, "index": 3, "cause": None}, compiled],
        sites=[site],
        compiled=2,
        differences={first.fingerprint: differs},
        gaps=[
            {
                "process": 0,
                "device": f"gpu{text}",
                "reason": "input",
                "count": 3,
                "seconds": 0.2,
                "longest": 0.1,
            }
        ],
        settings=[
            {
                "name": "XLA_FLAGS",
                "value": f"--x{text}",
                "set_by": "program",
                "file": f"t{text}.py",
                "line": 2,
            }
        ],
    )
    return replace(SICK, findings=[first, *SICK.findings[1:]], pictures=made)
