"""What names mean in each frontend, and that the evidence of a frontend has its names."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from tests.support import Tables, evidence
from xladoctor.evidence.interface import Evidence
from xladoctor.facts.parts import Activity
from xladoctor.frontends.vocabulary import (
    DEFAULT,
    called,
    events,
    in_words,
    tables,
    vocabularies,
    vocabulary,
    written_in,
)
from xladoctor.frontends.vocabulary_file import Event, Vocabulary

COUNTERS: Tables = {
    "counter": [
        {"process": 0, "name": name, "value": 5}
        for name in ("aten::nonzero.out", "aten::_local_scalar_dense", "xla::add", "prim::print")
    ],
    "metric": [{"process": 0, "name": "CompileTime", "samples": 3}, {"process": 0, "name": "Odd"}],
}


@pytest.mark.parametrize("words", vocabularies().values(), ids=vocabularies())
def test_patterns_are_regular_expressions(words: Vocabulary) -> None:
    for pattern in words.activities.values():
        assert re.compile(pattern)
    for frame in words.frames:
        assert re.compile(frame.function)
        assert re.compile(frame.file or "")
        assert frame.function or frame.file
    for helper in words.reading_helpers:
        assert re.compile(helper.function)
    for line in words.reading_lines:
        assert re.compile(line.call)
        assert re.compile(line.method)
        assert bool(line.call) != bool(line.method)


def test_the_default_frontend_has_a_name_for_everything() -> None:
    words = vocabularies()[DEFAULT]
    assert next(iter(vocabularies())) == DEFAULT
    others = {"call", "step", "backward", "operator", "compiled", "update", "collective", "part"}
    assert set(words.events) == set(get_args(Event)) - others
    assert set(words.activities) <= set(get_args(Activity))
    assert words.words["barrier"] == "torch_xla.sync"


def test_a_frontend_without_a_vocabulary_has_the_default_one() -> None:
    assert vocabulary("unheard-of") is vocabularies()[DEFAULT]
    assert vocabulary("jax") is vocabularies()["jax"]


def test_events_are_those_of_all_frontends() -> None:
    assert {"ExecuteComputation", "PjitFunction("} <= set(events("execution"))


def test_operators_are_written_as_in_counters_and_as_in_modules() -> None:
    traits = tables(DEFAULT)["operator_trait"]
    known = list(zip(traits["op"], traits["op_type"], traits["trait"], strict=True))
    assert ("prim::Constant", "prim__Constant", "constant") in known
    assert ("xla::device_data", "xla__device_data", "device_data") in known
    assert ("aten::view", "aten__view", "insignificant") in known


def named(given: Evidence, query: str) -> list[str]:
    return [row["name"] for row in given.database.rows(query)]


def test_views_go_by_the_vocabulary() -> None:
    given = evidence(COUNTERS)
    assert given.frontend == DEFAULT
    assert named(given, "SELECT op AS name FROM fallback_in_loop ORDER BY 1") == [
        "aten::nonzero.out",
        "prim::print",
    ]
    assert named(given, "SELECT name FROM counter WHERE sizes_by_data(name)") == [
        "aten::nonzero.out"
    ]
    assert given.database.rows("SELECT name, meaning FROM measured") == [
        {"name": "CompileTime", "meaning": "compile"}
    ]


def test_evidence_of_another_frontend_has_its_names() -> None:
    given = evidence(COUNTERS, frontend="jax")
    assert given.frontend == "jax"
    assert len(named(given, "SELECT op AS name FROM fallback_in_loop")) == 4
    assert named(given, "SELECT name FROM measured") == []


def test_calls_name_the_function() -> None:
    assert called("PjitFunction(train_step)") == "train_step"
    assert called("PjitFunction(<lambda>)") == "<lambda>"
    assert called("ExecuteReplicated.__call__") is None


@pytest.mark.parametrize(
    ("names", "frontend"),
    [
        (["train", "PjitFunction(step)"], "jax"),
        (["jit_step(12)", "fusion.1"], "jax"),
        (["jit_step(12)", "StepMarker"], "torch_xla"),
        (["TfrtCpuExecutable::Execute", "train"], None),
    ],
)
def test_a_timeline_is_of_the_frontend_whose_names_it_has(
    names: list[str], frontend: str | None
) -> None:
    assert written_in(names) == frontend


def test_marks_come_before_the_profiler_that_wrote_a_timeline() -> None:
    kineto = frozenset(("cpu_op",))

    assert written_in(["aten::relu", "CopyTpuToCpu::MaterializeBase"], kineto) == "torch_tpu"
    assert written_in(["aten::relu", "ExecutionTask::Run"], kineto) == "torch"


@pytest.mark.parametrize(
    ("frontend", "text", "said"),
    [
        ("torch_xla", "A {{ words.tensor }} of the {{ words.graph }}", "A tensor of the graph"),
        ("jax", "{{ words.tensor | a | capitalize }} of a call", "An array of a call"),
        ("jax", "all {{ words.graph | plural }}", "all programs"),
        (
            "torch",
            "{{ words.launch | plural }} of {{ words.compiled | a }}",
            "calls of a function",
        ),
        ("jax", "{{ cause.argument }}", "{{ cause.argument }}"),  # of the message's own
    ],
)
def test_texts_are_in_the_words_of_a_frontend(frontend: str, text: str, said: str) -> None:
    assert in_words(text, frontend) == said


def test_words_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="no such word: tensors"):
        in_words("{{ words.tensors }}", DEFAULT)
