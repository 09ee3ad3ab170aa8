"""What fixes of the pack say by the cause of a finding."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.test_rules import HERE, RULES, given
from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.phrases import TEMPLATES
from xladoctor.rule_cases.judge import judged_by

#: A read in each of ten steps, and the barrier below it.
READ: dict[str, list[dict[str, Any]]] = {
    "step": [{"rows": 10, "index": {"from": 0}, "ordinal": {"from": 0}, "line": 40}],
    "host_sync": [{"rows": 10, "step": {"from": 0}, "kind": "item", "line": 33}],
    "enclosing_loop": [
        {"line": line, "depth": 0, "loop_file": "train.py", "first_line": 30, "last_line": 41}
        for line in (33, 40)
    ],
}


def fix(rule: str, case: Any) -> str:
    judged = judged_by(Case.model_validate(case), [each for each in RULES if each.id == rule])
    return judged.findings[0].fix


def read_by(source: str) -> str:
    line = {"file": "train.py", "line": 33, "text": source}
    return fix(
        "XD201",
        {"case": "A scalar is read.", "tables": {**READ, "source_line": [line]}, "expect": []},
    )


@pytest.mark.parametrize(
    ("sizes", "multiple"),
    [([38, 40], 40), ([62, 73, 86], 88), ([5, 89], 32), ([5, 129], 64), ([3, 512], 128)],
)
def test_sizes_that_are_alike_become_one_others_about_four(sizes: list[int], multiple: int) -> None:
    text = TEMPLATES.from_string("{{ sizes | padding_multiple }}").render(sizes=sizes)
    assert text == str(multiple)


def test_lengths_at_random_are_padded_to_a_multiple() -> None:
    text = fix("XD101", given(HERE / "XD101" / "lengths_at_random.yaml"))
    assert "x = torch.nn.functional.pad(x, (0, -x.shape[1] % 32))" in text


def test_a_missing_barrier_comes_with_what_each_turn_would_compile() -> None:
    text = fix("XD301", given(HERE / "XD301" / "turns_of_other_shapes.yaml"))
    assert "as the last line of the loop in line 30, below line 45, and of each loop within" in text
    assert "pad to a few shapes" in text


def test_a_missing_barrier_alone_is_just_that() -> None:
    text = fix("XD301", given(HERE / "XD301" / "end_of_the_loops_body.yaml"))
    assert "will then be compiled" not in text


def test_a_value_that_is_returned_may_have_to_be_read() -> None:
    assert "right above line 33" in read_by("return action.item()")


@pytest.mark.parametrize(
    ("updates", "words"), [(0, "If the host only picks"), (1, "Compute the metric")]
)
def test_a_copy_without_training_may_be_of_what_is_chosen_from(updates: int, words: str) -> None:
    steps = [{**READ["step"][0], "optimizer_steps": updates}]
    copies = [{**READ["host_sync"][0], "kind": "cpu"}]
    tables = {**READ, "step": steps, "host_sync": copies}
    assert fix("XD203", {"case": "It is copied.", "tables": tables, "expect": []}).startswith(words)


def number_in(op: str, source: str) -> str:
    line = {"file": "train.py", "line": 38, "text": source}
    case = {
        "case": "A number is compiled in.",
        "tables": {
            "step": [{"rows": 12, "index": {"from": 0}, "ordinal": {"from": 0}}],
            "compilation": [
                {
                    "rows": 12,
                    "index": {"from": 0},
                    "step": {"from": 0},
                    "ordinal": {"from": 0},
                    "launches": 12,
                    "graph_hash": {"from": 0, "text": "g{}"},
                }
            ],
            "source_line": [line],
        },
        "graphs": [
            {
                "rows": 12,
                "hash": {"from": 0, "text": "g{}"},
                "inputs": ["f32[16] @data.py:88 sent"],
                "instructions": [
                    {"from": 2, "text": f"{op} s64[] constant({{}}) @train.py:38"},
                    f"{op} f32[16] {op.rpartition('::')[2]} @train.py:38",
                ],
            }
        ],
        "expect": [],
    }
    return fix("XD104", case)


@pytest.mark.parametrize(
    ("op", "source", "text"),
    [
        ("xla::update_slice", "ids[:, i] = new", "x.index_copy_(1, torch.tensor([i]).to(device)"),
        ("xla::update_slice", "ids[a:b] = new[i]", "x[torch.arange(a, b).to(device)] = y"),
        ("xla::generic_slice", "y = ids[:, i]", "Send the number as a tensor"),
        ("xla::generic_slice", "for time in times:", "Loop over a copy on the host"),
        ("aten::pow", "y = x**n", "Send the number as a tensor"),
    ],
)
def test_what_a_number_does_decides_how_it_becomes_data(op: str, source: str, text: str) -> None:
    assert text in number_in(op, source)
