"""A checkpoint that is saved every ten minutes."""

from __future__ import annotations

import pytest

from tests.fixes.harness import change, expected, fixed, refusal


def test_a_save_waits_for_the_clock() -> None:
    text = """
        import torch

        def train(model):
            for step in range(100):
                update(model)
                if step % 2 == 0:
                    torch.save(model.state_dict(), "model.pt")  #!
            return model
    """
    assert fixed("save_by_clock", text) == expected("""
        import torch
        import time

        def train(model):
            last_saved = time.monotonic()
            for step in range(100):
                update(model)
                if step % 2 == 0:
                    if time.monotonic() - last_saved >= 600:
                        torch.save(model.state_dict(), "model.pt")
                        last_saved = time.monotonic()
            torch.save(model.state_dict(), "model.pt")
            return model
    """)
    assert "every 10 minutes" in change("save_by_clock", text).behaviour


def test_the_outermost_loop_is_the_one_that_ends_with_a_save() -> None:
    text = """
        import time
        import torch_xla.core.xla_model as xm

        for epoch in range(3):
            for batch in loader:
                update(batch)
                xm.save(
                    state(),
                    "model.pt",
                )  #!
    """
    assert fixed("save_by_clock", text) == expected("""
        import time
        import torch_xla.core.xla_model as xm

        last_saved = time.monotonic()
        for epoch in range(3):
            for batch in loader:
                update(batch)
                if time.monotonic() - last_saved >= 600:
                    xm.save(
                        state(),
                        "model.pt",
                    )
                    last_saved = time.monotonic()
        xm.save(
            state(),
            "model.pt",
        )
    """)


@pytest.mark.parametrize(
    "body",
    [
        "    torch.save(model, f'model-{step}.pt')  #!",
        "    torch.save(state, path(step))  #!",
        "    loss = train(); torch.save(loss, 'loss.pt')  #!",
        "    loss = train()\n    torch.save(loss, 'loss.pt')  #!",
        "    state = model.state_dict()\n    torch.save(state, 'model.pt')  #!",
        "    with open(path, 'wb') as file:\n        torch.save(model, file)  #!",
        "    saved = [torch.save(model, 'model.pt')]  #!",
        "    if torch.save(model, 'model.pt'): pass  #!",
        "    save(model, 'model.pt')  #!",
        "    model.save('model.pt')  #!",
        "    torch.save(model, 'model.pt')  #!\n    if over(): break",
        "    if over(): break\n    torch.save(model, 'model.pt')  #!",
        "    torch.save(model, 'model.pt')  #!\nelse:\n    finish()",
        "    last_saved = 1\n    torch.save(model, 'model.pt')  #!",
        "    torch = other\n    torch.save(model, 'model.pt')  #!",
        "    time = 3\n    torch.save(model, 'model.pt')  #!",
        "    pickle.dump(model, file)  #!",
        "    import torch; torch.save(model, 'model.pt')  #!",
        "    x = lambda: torch.save(model, 'model.pt')  #!",
        "    torch.save((best := model), 'model.pt')  #!",
    ],
)
def test_other_forms_are_refused(body: str) -> None:
    assert refusal("save_by_clock", f"import torch\nfor step in range(9):\n{body}\n")


def test_a_save_outside_of_a_loop_is_refused() -> None:
    assert refusal("save_by_clock", "import torch\ntorch.save(model, 'model.pt')  #!\n")


def test_a_loop_of_the_caller_is_not_this_function_s() -> None:
    text = """
        import torch
        for step in range(9):
            def save():
                torch.save(model, "model.pt")  #!
    """
    assert refusal("save_by_clock", text)
