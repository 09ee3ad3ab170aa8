"""What fixes of the pack tell to write at a finding's own line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.test_rules import HERE, RULES, given
from xladoctor.diagnosis.case import Case
from xladoctor.diagnosis.rule import TEMPLATES
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
    assert "of the loop in line 30, below line 45 and indented one level more than line 30" in text
    assert "wrap the loader in MpDeviceLoader" in text
    assert "random numbers" not in text
    assert "Each turn of the loop in line 34 reads a value" in text
    assert "What is read only to be shown (line 44) belongs below it" in text
    assert "Line 33 slices at another place in each turn" in text
    assert "where batches are put together (train.py:12)" in text
    assert "x = torch.nn.functional.pad(x, (0, -x.shape[1] % 48))" in text


def test_a_missing_barrier_is_told_by_what_the_program_does() -> None:
    case = given(HERE / "XD301" / "end_of_the_loops_body.yaml")
    assert "loader" not in fix("XD301", case)
    dropout = {"hash": "g0", "instructions": ["aten::bernoulli f32[8] compare @train.py:33"]}
    compiled = [{**row, "graph_hash": "g0"} for row in case["tables"]["compilation"]]
    tables = {**case["tables"], "compilation": compiled}
    text = fix("XD301", {**case, "tables": tables, "graphs": [dropout]})
    assert text.endswith("With barriers, other random numbers are drawn (dropout, multinomial).")


def test_a_value_that_is_assigned_stays_a_tensor() -> None:
    assert "d_x = output.mean().detach() in place of" in read_by("d_x = output.mean().item()")
    assert "gain = goal - value.detach().squeeze()" in read_by("gain = goal - value.item()")


def test_a_count_is_summed_in_whole_numbers() -> None:
    count = read_by("hits += (guess == labels).sum().item()")
    assert "hits = torch.zeros(1, dtype=torch.long).to(device)" in count
    assert "total = torch.zeros(1).to(device)" in read_by("total += loss.item()")


def test_a_value_that_is_returned_may_have_to_be_read() -> None:
    assert "right above line 33" in read_by("return action.item()")


@pytest.mark.parametrize(
    ("shape", "dimension", "size"),
    [("f32[16,32]", 1, 32), ("(31, 32)", 0, 31), ("s64[7]", 0, 7)],
)
def test_a_size_is_read_from_a_shape_of_a_message(shape: str, dimension: int, size: int) -> None:
    template = TEMPLATES.from_string("{{ shape | size_at(dimension) }}")
    assert template.render(shape=shape, dimension=dimension) == str(size)


@pytest.mark.parametrize(
    ("updates", "words"), [(0, "What a copy only chooses from"), (1, "Compute the metric")]
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
    ("op", "source", "instead"),
    [
        (
            "xla::update_slice",
            "ids[i + 1] = new[0]  # written by index",
            "ids[torch.tensor([i + 1]).to(device)] = new[0] in place of line 38",
        ),
        (
            "xla::update_slice",
            "ids[i] = ids[i] * 2",
            "ids[torch.tensor([i]).to(device)] = ids[i] * 2 in place",
        ),
        (
            "xla::generic_slice",
            "ids[i] = ids[i] * 2",
            "ids[i] = ids.index_select(0, torch.tensor([i]).to(device))[0] * 2 in place",
        ),
        ("xla::update_slice", "ids[:, i] = new", "x.index_copy_(1, torch.tensor([i]).to(device)"),
        ("xla::update_slice", "ids[a:b] = new[i]", "x[torch.arange(a, b).to(device)] = y"),
        ("xla::generic_slice", "y = ids[:, i]", "Send the number as a tensor"),
        ("aten::mul", "y = 2 * ids[i]", "Send the number as a tensor"),
        (
            "aten::pow",
            "y = x**n  # y**2",
            "y = torch.pow(x, torch.tensor([n]).to(device)) in place",
        ),
        ("aten::pow", "y = x**2", "Send the number as a tensor"),  # not the one that changes
    ],
)
def test_a_number_is_passed_as_data_where_the_operator_takes_it(
    op: str, source: str, instead: str
) -> None:
    assert instead in number_in(op, source)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("idx = torch.cat((idx, following), dim=1)", "idx, following"),
        ("self.k = torch.cat([self.k, new[:, 0]], 2)", "self.k, new[:, 0]"),
        ("x = torch.cat([start, x], 1)", "x, new"),
        ("x = torch.cat([x, a, b], 1)", "x, new"),
        ("x = torch.cat(", "x, new"),
        pytest.param(f"x = cat([x, {'-' * 4000}y])", "x, new", id="deep"),
    ],
)
def test_what_a_line_appends_is_named_as_it_names_it(source: str, names: str) -> None:
    template = TEMPLATES.from_string("{{ source | appended | join(', ') }}")
    assert template.render(source=source) == names
