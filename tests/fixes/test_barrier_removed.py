from __future__ import annotations

import pytest

from tests.fixes.harness import change, expected, fixed, refusal

KIND = "barrier_removed"
HEAD = "import torch_xla\nimport torch_xla.core.xla_model as xm\n"


def test_its_line_is_deleted_with_the_comment_on_it() -> None:
    assert fixed(
        KIND,
        """
        import torch_xla
        for x in data:
            # the forward pass
            loss = model(x)
            torch_xla.sync()  #!
            loss.backward()
            torch_xla.sync()  #! due
        """.replace("sync()  #!\n", "sync()  # runs it  #!\n"),
    ) == expected(
        """
        import torch_xla
        for x in data:
            # the forward pass
            loss = model(x)
            loss.backward()
            torch_xla.sync()
        """
    )


def test_one_of_an_inner_loop_is_put_at_the_end_of_the_outer_one() -> None:
    assert fixed(
        KIND,
        """
        import torch_xla
        class Lion:
            def step(self):
                for p in self.parameters:
                    p.sub_(p.grad)
                    torch_xla.sync()  #!
        def train(data):
            for x in data:  #! loop
                model(x).backward()
                optimizer.step()
        """,
        inner=8,
    ) == expected(
        """
        import torch_xla
        class Lion:
            def step(self):
                for p in self.parameters:
                    p.sub_(p.grad)
        def train(data):
            for x in data:
                model(x).backward()
                optimizer.step()
                torch_xla.sync()
        """
    )


def test_the_outer_loop_has_no_second_one() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        for x in data:  #! loop
            for y in x:
                step(y)
                torch_xla.sync()  #!
            torch_xla.sync()
        """,
        inner=4,
    )
    assert after.count("sync()") == 1


def test_an_outer_loop_around_the_inner_one() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        for x in data:  #! loop
            for y in x:
                step(y)
                torch_xla.sync()  #!
        """,
        inner=4,
    )
    assert after.endswith("    for y in x:\n        step(y)\n    torch_xla.sync()\n")


@pytest.mark.parametrize(
    "body",
    [
        "loss = step(x); torch_xla.sync()  #!",
        "if debug: torch_xla.sync()  #!",
        "if debug:\n    torch_xla.sync()  #!",
        "with profile():\n    torch_xla.sync()  #!",
        "try:\n    torch_xla.sync()  #!\nfinally:\n    pass",
        "done = torch_xla.sync()  #!",
        "sync()  #!",
        "self.sync()  #!",
        "barrier()  #!",
        "torch_xla.sync  #!",
        "torch.cuda.synchronize()  #!",
        "xm.wait_device_ops()  #!",
        "xm.optimizer_step(optimizer, barrier=True)  #!",
        "with torch_xla.step():  #!\n    step(x)",
        "step(x) or torch_xla.sync()  #!",
        "print(torch_xla.sync())  #!",
        "end = lambda: torch_xla.sync()  #!",
        "[torch_xla.sync() for _ in x]  #!",
        "atexit.register(torch_xla.sync)  #!",
        "def end(): torch_xla.sync()  #!",
        "return torch_xla.sync()  #!",
        "yield torch_xla.sync()  #!",
        "(now := torch_xla.sync())  #!",
    ],
)
def test_refused(body: str) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    assert refusal(KIND, f"{HEAD}def sync(): pass\ndef step(x):\n    a()\n{lines}\n    b()")


def test_random_numbers_of_the_device_become_others() -> None:
    text = f"{HEAD}layer = nn.Dropout(0.1)\nxm.mark_step()  #!\n"
    assert "random numbers" in change(KIND, text).behaviour
