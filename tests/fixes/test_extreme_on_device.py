from __future__ import annotations

import pytest

from tests.fixes.harness import fixed, refusal

KIND = "extreme_on_device"


def module(line: str, init: str = "self.top = 0.0", after: str = "pass") -> str:
    return f"""import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        {line}  #!
        return x

{after}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("max(self.top, x.amax().item())", "torch.maximum(self.top, x.amax().detach())"),
        ("max(x.amax().item(), self.top)", "torch.maximum(self.top, x.amax().detach())"),
        ("min(self.top, x[0].min().item())", "torch.minimum(self.top, x[0].min().detach())"),
    ],
)
def test_the_extreme_stays_on_the_device(before: str, after: str) -> None:
    text = fixed(KIND, module(f"self.top = {before}"), "torch")
    assert f"        self.top = {after}\n" in text
    assert 'self.register_buffer("top", torch.tensor(0.0), persistent=False)\n' in text


@pytest.mark.parametrize(
    "line",
    [
        "self.top = x.amax().item()",
        "self.top = max(self.top, x.amax())",
        "self.top = max(self.top, x.amax().item(), 3)",
        "self.top = max([self.top, x.amax().item()])",
        "self.top = max(self.top, x.amax().item(), key=f)",
        "self.top = max(self.low, x.amax().item())",
        "self.top = max(self.top, self.top)",
        "self.top = max(self.top, x.item(0))",
        "self.top = max(self.top, -x.amax().item())",
        "self.top = max(self.top, float(x.amax()))",
        "self.top = mine.max(self.top, x.amax().item())",
        "self.top = torch.max(self.top, x.amax().item())",
        "self.top += x.amax().item()",
        "self.top = self.low = max(self.top, x.amax().item())",
        "top = max(self.top, x.amax().item())",
        "model.top = max(model.top, x.amax().item())",
        "self.a.top = max(self.a.top, x.amax().item())",
        "self.top, y = max(self.top, x.amax().item()), 3",
        "self.top = max(*self.top, x.amax().item())",
        "print(max(self.top, x.amax().item()))",
        "self.top = max(self.top, x.amax().item()); y = 3",
        "if x.amax().item() > 3: pass",
    ],
)
def test_refused(line: str) -> None:
    assert refusal(KIND, module(line), "torch")


@pytest.mark.parametrize(
    ("init", "after"),
    [
        ("self.top = None", "pass"),
        ("self.top = top", "pass"),
        ("pass", "pass"),
        ("self.top = 0.0", "print(model.top)"),
        ("self.top = 0.0", "model.top = 0.0"),
        ("self.top = 0.0", "getattr(model, 'top')"),
    ],
)
def test_other_uses_are_refused(init: str, after: str) -> None:
    assert refusal(KIND, module("self.top = max(self.top, x.amax().item())", init, after), "torch")


def test_a_max_of_ones_own_is_refused() -> None:
    text = module("self.top = max(self.top, x.amax().item())", after="def max(a, b): return a")
    assert refusal(KIND, text, "torch")
