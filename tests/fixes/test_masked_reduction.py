from __future__ import annotations

import pytest

from tests.fixes.harness import fixed, refusal

KIND = "masked_reduction"
HEAD = """import torch
from torch.nn.functional import cross_entropy, mse_loss, smooth_l1_loss

def loss(x, y, other):
"""


def _text(body: str) -> str:
    lines = body.splitlines()
    lines[-1] += "  #!"
    return HEAD + "\n".join(f"    {line}" for line in lines) + "\n"


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("return x[x > 0].sum()", "return torch.where(x > 0, x, 0).sum()"),
        ("a = x[x > -1].mean()", "a = torch.where(x > -1, x, 0).sum() / (x > -1).sum()"),
        (
            "a = 2 ** x[x.isfinite()].mean()",
            "a = 2 ** (torch.where(x.isfinite(), x, 0).sum() / (x.isfinite()).sum())",
        ),
        (
            "known = ~torch.isnan(x)\na = x.masked_select(known).mean()",
            "known = ~torch.isnan(x)\na = torch.where(known, x, 0).sum() / known.sum()",
        ),
        (
            "m = (x > 0) & (x < 1)\na = x[m].sum() * 2",
            "m = (x > 0) & (x < 1)\na = torch.where(m, x, 0).sum() * 2",
        ),
        (
            "m = y != -100\nreturn mse_loss(x[m], y[m])",
            "m = y != -100\nreturn mse_loss(torch.where(m, x, 0), torch.where(m, y, 0),"
            ' reduction="sum") / m.sum()',
        ),
        (
            "m = y != -100\na = smooth_l1_loss(x[m], y[m], reduction='sum', beta=2.0)",
            "m = y != -100\na = smooth_l1_loss(torch.where(m, x, 0), torch.where(m, y, 0),"
            ' beta=2.0, reduction="sum")',
        ),
        (
            "m = y != -100\nz = cross_entropy(x, y, reduction='none')\na = z[m].mean()",
            "m = y != -100\nz = cross_entropy(x, y, reduction='none')\n"
            "a = torch.where(m, z, 0).sum() / m.sum()",
        ),
    ],
)
def test_all_elements_are_kept(body: str, after: str) -> None:
    lines = "\n".join(f"    {line}" for line in after.splitlines())
    assert fixed(KIND, _text(body)) == f"{HEAD}{lines}\n"


@pytest.mark.parametrize(
    "body",
    [
        "m = other\na = x[m].sum()",
        "m = other > 0\na = x[m].sum()",
        "m = other > 0\na = mse_loss(x[m], y[m])",
        "m = x > y\na = x[m].sum()",
        "m = x > other\na = x[m].sum()",
        "m = (x > 0).any(1)\na = x[m].sum()",
        "m = x[:, 0] > 0\na = x[m].sum()",
        "m = x > 0\nm = other\na = x[m].sum()",
        "m = x > 0\nx = x.flatten()\na = x[m].sum()",
        "m = x > 0\nfor x in other: pass\na = x[m].sum()",
        "m = x > 0\nm &= other\na = x[m].sum()",
        "a = x[x > 0].sum(0)",
        "a = x[x > 0].mean(dim=0)",
        "a = x[x > 0].max()",
        "a = x[x > 0].sum().sum() + x[x > 1].sum()",
        "a = x[x > 0]",
        "a = x[0].sum()",
        "a = x[:3].mean()",
        "a = x[x > 0, 0].sum()",
        "a = f(x)[x > 0].sum()",
        "a = self.x[x > 0].sum()",
        "a = sum(x[x > 0])",
        "a = mse_loss(x[x > 0], y[y > 0])",
        "a = mse_loss(x[x > 0], y)",
        "a = mse_loss(x[x > 0], y[x > 0], reduction='none')",
        "a = mse_loss(x[x > 0], y[x > 0], reduction=how)",
        "a = mse_loss(x[x > 0], y[x > 0], weight=other)",
        "a = mse_loss(input=x[x > 0], target=y[x > 0])",
        "a = self.mse_loss(x[x > 0], y[x > 0])",
        "a = cross_entropy(x[x > 0], y[x > 0])",
        "z = cross_entropy(x, y)\nm = y > 0\na = z[m].sum()",
        "x = x[0]\na = mse_loss(x[x > 0], y[x > 0])",
        "y = y[:1]\nm = x > 0\na = smooth_l1_loss(x[m], y[m])",
        "a = x[x > 0].sum(); b = 1",
        "if x[x > 0].sum(): pass",
    ],
)
def test_refused(body: str) -> None:
    assert refusal(KIND, _text(body))
