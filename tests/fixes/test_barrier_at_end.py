from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "barrier_at_end"


def test_the_barrier_is_the_last_statement_of_the_body() -> None:
    assert fixed(
        KIND,
        """
        import torch
        import torch_xla

        def train(data):
            for x in data:  #! loop
                loss = model(x)  # keep this
                loss.backward()

                # about the optimizer
                optimizer.step()
            return loss
        """,
    ) == expected(
        """
        import torch
        import torch_xla

        def train(data):
            for x in data:
                loss = model(x)  # keep this
                loss.backward()

                # about the optimizer
                optimizer.step()
                torch_xla.sync()
            return loss
        """
    )


def test_below_a_block_with_its_own_indentation() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla as tx
        for x in data:  #! loop
        \tstep(x)
        \tif x:
        \t\tlog(x)
        """,
    )
    assert after.endswith("\tif x:\n\t\tlog(x)\n\ttx.sync()\n")


def test_torch_xla_is_imported_where_it_was_not() -> None:
    after = fixed(
        KIND,
        '''
        """A program."""
        from __future__ import annotations
        import torch
        import torch_xla.core.xla_model as xm

        for x in data:  #! loop
            step(x)
        ''',
    )
    assert "import torch_xla.core.xla_model as xm\nimport torch_xla\n\nfor" in after


def test_a_continue_of_an_inner_loop_is_no_obstacle() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        for x in data:  #! loop
            for y in x:
                if y:
                    continue
                step(y)
        """,
    )
    assert after.endswith("        step(y)\n    torch_xla.sync()\n")


def test_the_file_may_end_without_a_newline_and_with_other_line_ends() -> None:
    from tests.fixes.harness import FILE, case
    from xladoctor.fixes import registry
    from xladoctor.fixes.case import Case
    from xladoctor.fixes.compose import applied
    from xladoctor.fixes.source import Source

    given = case("import torch_xla\nfor x in data:  #! loop\n    step(x)")
    text = "import torch_xla\r\nfor x in data:\r\n    step(x)"
    source = Source(FILE, text)
    change = registry.kind(KIND)(Case(given.finding, source, "torch_xla"))
    assert applied(text, change.edits) == text + "\r\n    torch_xla.sync()"


@pytest.mark.parametrize(
    "body",
    [
        "    if x: continue\n    step(x)",
        "    with a:\n        if x:\n            continue\n    step(x)",
        "    try:\n        step(x)\n    except E:\n        continue",
        "    step(x)\n    torch_xla.sync()",
        "    step(x)\n    if x:\n        xm.mark_step()",
        "    xm.optimizer_step(optimizer, barrier=True)",
        "    step(x)\n    return x",
        "    step(x)\n    break",
        "    step(x)\n    raise E",
    ],
)
def test_refused(body: str) -> None:
    loop = "for x in data:  #! loop\n" + body
    head = "import torch_xla\nimport torch_xla.core.xla_model as xm\ndef train(data):\n"
    indented = "\n".join(f"    {line}" for line in loop.splitlines())
    assert refusal(KIND, head + indented)


def test_a_loop_on_one_line_is_refused() -> None:
    assert "on one line" in refusal(KIND, "import torch_xla\nfor x in data: step(x)  #! loop")
