"""A batch padded to a multiple of 32 where it is put together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixes.harness import change, fixed, refusal

TOKENS: dict[str, Any] = {"kind": "input_shape", "to_shape": "s64[8,16]", "dimension": 1}
READINGS: dict[str, Any] = TOKENS | {"to_shape": "f32[8,64,8]"}
HEAD = "import torch\nfrom torch.nn.utils.rnn import pad_sequence\n"


def collate(*body: str, head: str = HEAD) -> str:
    """A program with a ``collate_fn`` of these lines."""
    inside = "".join(f"    {line}\n" for line in body)
    return f"{head}\ndef collate(batch):  #! collated\n{inside}\nsend(batch)  #!\n"


def plain(text: str) -> str:
    return text.replace("  #! collated", "").replace("  #!", "")


@pytest.mark.parametrize(
    ("call", "cause", "padded"),
    [
        ("pad_sequence(batch, batch_first=True)", TOKENS, "(x, (0, -x.shape[1] % 32))"),
        (
            "pad_sequence(batch, batch_first=True, padding_value=PAD)",
            TOKENS,
            "(x, (0, -x.shape[1] % 32), value=PAD)",
        ),
        ("pad_sequence(batch, batch_first=True)", READINGS, "(x, (0, 0, 0, -x.shape[1] % 32))"),
    ],
)
def test_pad_sequence_is_padded_on(call: str, cause: dict[str, Any], padded: str) -> None:
    text = collate(f"x = {call}", "return x[:, :-1]")
    added = f"x = {call}\n    x = torch.nn.functional.pad{padded}\n"
    after = plain(text).replace(f"x = {call}\n", added)
    assert fixed("padded_to_buckets", text, **cause) == after
    assert "padding" in change("padded_to_buckets", text, **cause).behaviour


@pytest.mark.parametrize(
    "statement",
    [
        "return {}, torch.tensor(labels)",
        "return [{}, labels]",
        'return {{"ids": {}.long()}}',
        "self.x = {}",
        "x, y = {}",
        "return send({}, labels)",
    ],
)
def test_a_call_within_a_statement_is_given_a_name(statement: str) -> None:
    call = "pad_sequence(batch, batch_first=True)"
    text = collate(statement.format(call))
    lines = [
        f"padded = {call}",
        "padded = torch.nn.functional.pad(padded, (0, -padded.shape[1] % 32))",
        statement.format("padded"),
    ]
    assert fixed("padded_to_buckets", text, **TOKENS) == plain(collate(*lines))


@pytest.mark.parametrize("length", ["len(each)", "each.size(0)", "each['ids'].shape[0]"])
@pytest.mark.parametrize("brackets", ["{}", "[{}]"])
def test_the_longest_is_rounded_up(length: str, brackets: str) -> None:
    call = f"max({brackets.format(f'{length} for each in batch')})"
    text = collate(f"longest = {call}", "return fill(batch, longest)")
    after = plain(text).replace(call, f"-(-{call} // 32) * 32")
    assert fixed("padded_to_buckets", text, **TOKENS) == after


@pytest.mark.parametrize(
    "body",
    [
        ["return [pad_sequence(x, batch_first=True) for x in batch]"],
        ["return lambda: pad_sequence(batch, batch_first=True)"],
        ["return ready or pad_sequence(batch, batch_first=True)"],
        ["return pad_sequence(batch, batch_first=True) if batch else None"],
        ["padded = 1", "return pad_sequence(batch, batch_first=True), padded"],
        ["return pad_sequence(a, batch_first=True), pad_sequence(b, batch_first=True)"],
        ["x = pad_sequence(batch)"],
        ["x = pad_sequence(batch, batch_first=False)"],
        ["x = pad_sequence(batch, first)"],
        ["x = pad_sequence(batch, **given)"],
        ["x = pad_sequence(batch, batch_first=True, padding_side='left')"],
        ["x = pad_sequence(a, batch_first=True)", "y = pad_sequence(b, batch_first=True)"],
        ["n = max(len(x) for x in batch)", "x = pad_sequence(batch, batch_first=True)"],
        ["n = max(len(x) for x in a)", "m = max(len(x) for x in b)"],
        ["n = max(x.score for x in batch)"],
        ["n = max(len(batch), 3)"],
        ["n = max(batch, key=len)"],
        ["x = fill(batch, max(len(x) for x in batch))"],
        ["max = largest", "n = max(len(x) for x in batch)"],
        ["pad_sequence = other", "x = pad_sequence(batch, batch_first=True)"],
        ["x = torch.stack(batch)"],
        ["x = tokenizer.pad(batch)"],
        ["torch = other", "x = pad_sequence(batch, batch_first=True)"],
    ],
)
def test_other_forms_are_refused(body: list[str]) -> None:
    assert refusal("padded_to_buckets", collate(*body, "return x"), **TOKENS)


@pytest.mark.parametrize(
    ("frontend", "cause"),
    [
        ("torch", TOKENS),
        ("jax", TOKENS),
        ("torch_xla", TOKENS | {"kind": "made_shape"}),
        ("torch_xla", TOKENS | {"dimension": 0}),
        ("torch_xla", TOKENS | {"to_shape": "s64[8]"}),
        ("torch_xla", TOKENS | {"to_shape": None}),
    ],
)
def test_other_findings_are_refused(frontend: str, cause: dict[str, Any]) -> None:
    text = collate("x = pad_sequence(batch, batch_first=True)", "return x")
    assert refusal("padded_to_buckets", text, frontend, **cause)


def test_a_file_without_torch_is_refused() -> None:
    head = "from torch.nn.utils.rnn import pad_sequence\n"
    text = collate("x = pad_sequence(batch, batch_first=True)", "return x", head=head)
    assert "does not import torch" in refusal("padded_to_buckets", text, **TOKENS)


def test_a_finding_without_a_place_to_pad_is_refused() -> None:
    assert refusal("padded_to_buckets", "send(batch)  #!", **TOKENS)
