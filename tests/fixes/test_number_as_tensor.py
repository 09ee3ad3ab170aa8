from __future__ import annotations

import pytest

from tests.fixes.harness import case, fixed, refusal
from xladoctor.fixes import registry
from xladoctor.fixes.compose import applied
from xladoctor.fixes.interface import Refused

KIND = "number_as_tensor"
HEAD = "import random\nimport torch\nimport torch as th\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = x**g", "y = torch.pow(x, torch.tensor([g]).to(x.device)[0])"),
        (
            "return -(x**g * z).mean()",
            "return -(torch.pow(x, torch.tensor([g]).to(x.device)[0]) * z).mean()",
        ),
        ("y = torch.pow(x, g)", "y = torch.pow(x, torch.tensor([g]).to(x.device)[0])"),
        ("y = th.pow(x, g) + 1", "y = torch.pow(x, torch.tensor([g]).to(x.device)[0]) + 1"),
        (
            "y = torch.roll(x, n, dims=1)",
            "offset = torch.tensor([n]).to(x.device)\n"
            "    places = torch.arange(x.shape[1], device=x.device) - offset\n"
            "    y = x.index_select(1, places % x.shape[1])",
        ),
        (
            "y = torch.roll(x, n, 0)",
            "offset = torch.tensor([n]).to(x.device)\n"
            "    places = torch.arange(x.shape[0], device=x.device) - offset\n"
            "    y = x.index_select(0, places % x.shape[0])",
        ),
    ],
)
def test_exponents_and_shifts(before: str, after: str) -> None:
    assert fixed(KIND, f"{HEAD}def f(x, g, n, z):\n    {before}  #!") == (
        f"{HEAD}def f(x, g, n, z):\n    {after}\n"
    )


@pytest.mark.parametrize(
    "loop",
    [
        "for n in range(9)",
        "for n in range(2, 9)",
        "for n, x in enumerate(data)",
        "for n, (x, y) in enumerate(data, 1)",
    ],
)
def test_the_counter_of_a_loop_as_an_index(loop: str) -> None:
    after = fixed(KIND, f"{HEAD}def f(t):\n    {loop}:\n        y = t[n] * 2  #!")
    assert after.endswith("        y = t.index_select(0, torch.tensor([n]).to(t.device))[0] * 2\n")


def test_weights_that_are_drawn_for_the_rows_of_a_tensor() -> None:
    text = """
        import random
        import torch
        from torch.nn.functional import mse_loss

        def f(x):
            w = random.choices((0.0, 1.0), k=3)
            losses = mse_loss(x, x, reduction="none").mean(dim=0)
            return sum(a * b for a, b in zip(w, losses, strict=True))  #!
        """
    after = fixed(KIND, text)
    assert "    w = torch.tensor(w).to(losses.device)\n    return sum(a * b for" in after
    assert refusal(KIND, text.replace("losses = ", "print(w)\n            losses = "))
    assert refusal(KIND, text.replace("return", "while x: return"))
    nested = text.replace("return", "if x:\n                y =") + "            return y"
    assert refusal(KIND, nested)


@pytest.mark.parametrize(
    "line",
    [
        "y = x**2",
        "y = x**0.5",
        "y = x ** (g + 1)",
        "y = (1 - x) ** g",
        "y = f(x) ** g",
        "y = x.a**g",
        "y = 2**g",
        "x **= g",
        "y = x**g + z**g",
        "y = x**g**n",
        "y = mine.pow(x, g)",
        "y = torch.pow(x, exponent=g)",
        "y = torch.pow(x, g, out=z)",
        "y = torch.pow(*x)",
        "y = torch.roll(x, n)",
        "y = torch.roll(x, n, dims=d)",
        "y = torch.roll(x, n, dims=(0, 1))",
        "y = torch.roll(x, (n, 1), dims=(0, 1))",
        "y = torch.roll(f(x), n, dims=1)",
        "y = torch.roll(x, 3, dims=1)",
        "y = torch.roll(x, -n, dims=1)",
        "y = x[n]",
        "y = x[n, 0]",
        "y = x[n:]",
        "y = x[-1]",
        "y = x[n + 1]",
        "y = f(x)[n]",
        "x[n] = y",
        "del x[n]",
        "y = x * g",
        "y = x**g; z = 3",
        "y = sum(a * b for a, b in zip(g, z))",
        "y = dict(zip(g, z, n))",
        "y = lambda a: a",
    ],
)
def test_refused(line: str) -> None:
    assert refusal(KIND, f"{HEAD}def f(x, g, n, z, d):\n    {line}  #!")


@pytest.mark.parametrize(
    "loop",
    [
        "for n in range(-3, 9)",
        "for n in range(start, 9)",
        "for n in range(9, 0, -1)",
        "for n in range(*bounds)",
        "for n in numbers",
        "for x, n in enumerate(data)",
        "for n, x in enumerate(data, start)",
        "for n, x in zip(data, data)",
        "for n in mine.range(9)",
        "while n",
    ],
)
def test_an_index_that_may_be_negative_is_refused(loop: str) -> None:
    assert refusal(KIND, f"{HEAD}def f(t):\n    {loop}:\n        y = t[n]  #!")


def test_a_counter_that_is_changed_is_refused() -> None:
    text = f"{HEAD}def f(t):\n    for n in range(9):\n        n = n - 3\n        y = t[n]  #!"
    assert refusal(KIND, text)
    assert refusal(KIND, text.replace("n = n - 3", "n -= 3"))
    assert refusal(KIND, text.replace("n = n - 3", "for n in z: pass"))


@pytest.mark.parametrize(
    ("weights", "losses"),
    [
        ("random.choices((0, 1), k=3)", "[a, b, c]"),
        ("random.choices((0, 1), k=3)", "mine(x)"),
        ("random.choices((0, 1), k=3)", "x"),
        ("[0.5, 1.0]", "torch.stack(x)"),
        ("numpy.random.choice(3)", "torch.stack(x)"),
        ("torch.rand(3)", "torch.stack(x)"),
    ],
)
def test_other_weights_and_rows_are_refused(weights: str, losses: str) -> None:
    text = f"{HEAD}def f(x):\n    w = {weights}\n    ls = {losses}\n"
    assert refusal(KIND, text + "    return sum(a * b for a, b in zip(w, ls))  #!")


@pytest.mark.parametrize("kept", ["y = t[n]  #!\n        kept.append(y)", "kept.append(t[n])  #!"])
def test_an_element_that_would_see_a_change_is_refused(kept: str) -> None:
    text = f"{HEAD}def f(x, kept, t):\n    for n in range(3):\n        {kept}\n"
    assert fixed(KIND, text)
    assert refusal(KIND, f"{text}        t[n] = 0\n") == (
        "`t` is changed in place, which a copy of an element does not see"
    )


def test_other_frontends_and_names_are_refused() -> None:
    assert refusal(KIND, f"{HEAD}y = x**g  #!", "torch")
    assert refusal(KIND, "y = x**g  #!")


@pytest.mark.parametrize(
    ("op", "line", "after"),
    [
        ("aten::pow", "y = x**g * t[n]", "torch.pow(x, torch.tensor([g]).to(x.device)[0]) * t[n]"),
        ("xla::generic_slice", "y = x**g * t[n]", "x**g * t.index_select(0, "),
        ("aten::roll", "y = x**g * torch.roll(t, n, 0)", "x**g * t.index_select(0, "),
    ],
)
def test_the_operation_says_which_number_it_is(op: str, line: str, after: str) -> None:
    text = f"{HEAD}def f(x, g, t):\n    for n in range(3):\n        {line}  #!"
    assert after in fixed(KIND, text, op=op)
    assert refusal(KIND, text, op="aten::add")
    assert refusal(KIND, text)


def test_where_only_the_barrier_is_named_the_weights_of_the_loop_are_sent() -> None:
    text = """
        import random
        import torch
        import torch_xla

        def f(data):
            for x in data:
                w = random.choices((0.0, 1.0), k=3)
                losses = torch.stack(x)
                loss = sum(a * b for a, b in zip(w, losses))
                y = x[n] ** g
                torch_xla.sync()  #!
        """
    given = case(text, kind="unknown")
    after = applied(given.source.text, registry.kind(KIND)(given).edits)
    assert "        w = torch.tensor(w).to(losses.device)\n        loss = sum(" in after
    assert refusal(KIND, text)
    with pytest.raises(Refused):
        registry.kind(KIND)(case(text.replace("random.choices", "choices"), kind="unknown"))
