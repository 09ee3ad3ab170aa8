from __future__ import annotations

import pytest

from tests.fixes.harness import change, expected, fixed, refusal

KIND = "optimizer_after_move"
TEXT = """
import torch

def train(data, device):
    model = torch.nn.Linear(3, 1)
    {made}
    {between}
    {move}
    for x in data:
        model(x).mean().backward()
        {step}  #!
"""


def _text(
    made: str = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
    between: str = "rate = 2",
    move: str = "model.to(device)",
    step: str = "optimizer.step()",
) -> str:
    return TEXT.format(made=made, between=between, move=move, step=step)


@pytest.mark.parametrize(
    ("made", "move"),
    [
        ("optimizer = torch.optim.SGD(model.parameters(), lr=0.1)", "model.to(device)"),
        ("optimizer = torch.optim.Adam(model.parameters())", "model = model.to(device)"),
        ("optimizer = torch.optim.Adam([{'params': model.parameters()}])", "model.to(device, d)"),
        (
            "optimizer = torch.optim.Adam(\n        model.parameters(),  # all\n    )",
            "model.to('xla')",
        ),
    ],
)
def test_it_is_made_below_the_move(made: str, move: str) -> None:
    after = fixed(KIND, _text(made, move=move))
    assert f"    rate = 2\n    {move}\n    {made}\n    for x" in after
    assert after.count("torch.optim") == 1
    assert change(KIND, _text(made, move=move)).behaviour == "the model is trained"


def test_at_the_top_of_the_module() -> None:
    assert fixed(
        KIND,
        """
        from torch import nn, optim
        model = nn.Linear(3, 1)
        sgd = optim.SGD(model.parameters())
        model.to(device)
        sgd.step()  #!
        """,
    ) == expected(
        """
        from torch import nn, optim
        model = nn.Linear(3, 1)
        model.to(device)
        sgd = optim.SGD(model.parameters())
        sgd.step()
        """
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"step": "self.optimizer.step()"},
        {"step": "optimizer.zero_grad()"},
        {"step": "scaler.step(optimizer)"},
        {"step": "update(optimizer)"},
        {"step": "optimizer.step(); x = 1"},
        {"step": "other.step()"},
        {"made": "optimizer = Adam(model.parameters())"},
        {"made": "optimizer = make(model.parameters())"},
        {"made": "optimizer = torch.optim.SGD(parameters)"},
        {"made": "optimizer = torch.optim.SGD(self.model.parameters())"},
        {"made": "optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()])"},
        {"made": "optimizer = first = torch.optim.SGD(model.parameters())"},
        {"made": "optimizer, x = torch.optim.SGD(model.parameters()), 1"},
        {"made": "optimizer = torch.optim.SGD(model.parameters()); x = 1"},
        {"made": "if device: optimizer = torch.optim.SGD(model.parameters())"},
        {"made": "(optimizer := torch.optim.SGD(model.parameters()))"},
        {"between": "schedule = StepLR(optimizer, 1)"},
        {"between": "optimizer.load_state_dict(state)"},
        {"between": "optimizer = torch.optim.SGD(model.parameters())"},
        {"between": "register(lambda: optimizer)"},
        {"made": "optimizer = torch.optim.SGD(model.parameters(), lr=rate)"},
        {"between": "model.to(device)"},
        {"move": "model.half()"},
        {"move": "moved = model.to(device)"},
        {"move": "other.to(device)"},
        {"move": "if device: model.to(device)"},
        {"move": "with device: model.to(device)"},
        {"move": "move = lambda: model.to(device)"},
        {"move": "model.to(device); x = 1"},
        {"move": "model.encoder.to(device)"},
        {"move": "pass"},
    ],
)
def test_refused(changed: dict[str, str]) -> None:
    assert refusal(KIND, _text(**changed))


def test_an_optimizer_of_the_module_that_a_function_steps() -> None:
    after = fixed(
        KIND,
        """
        import torch
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters())
        model.to(device)

        def train():
            optimizer.step()  #!

        train()
        """,
    )
    assert "model.to(device)\noptimizer = torch.optim.SGD(model.parameters())\n" in after
