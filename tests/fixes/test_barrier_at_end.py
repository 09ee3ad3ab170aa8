from __future__ import annotations

from typing import Any

import pytest

from tests.fixes.harness import change, expected, fixed, refusal

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


def test_what_reads_yields_or_leaves_stays_below_the_barrier() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        def losses(data):
            for step, x in enumerate(data):  #! loop
                if step < start:
                    continue
                loss = train(x)
                if step % 10 == 0:
                    print(loss.item())
                yield loss
                if step == last:
                    break
        """,
        shown=[7],
    )
    assert "train(x)\n        torch_xla.sync()\n        if step % 10" in after


def test_reads_below_what_computes_stay_below_the_barrier() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        for x in data:  #! loop
            loss = train(x)
            bar.update_to(meter.smoothed(loss.item()))
        """,
        read_below=[4],
    )
    assert "train(x)\n    torch_xla.sync()\n    bar.update_to" in after


@pytest.mark.parametrize(
    "body",
    [
        "    step(x)\n    if x: continue\n    step(x)",
        "    if log(x): continue\n    if x: continue\n    step(x)",
        "    if x:\n        step(x)\n        continue\n    step(x)",
        "    step(x)\n    if x:\n        break\n    step(x)",
        "    step(x)\n    for y in x:\n        return y\n    step(x)",
        "    if x:\n        break",
        "    yield x",
        "    with torch_xla.step():\n        step(x)",
        "    with tx.step() as s:\n        step(x)",
        "    step(x); torch_xla.sync()",
        "    end = lambda: xm.mark_step()\n    step(x)\n    end()",
        "    xm.optimizer_step(optimizer, True)",
        "    step(x)\n    xm.optimizer_step(optimizer, barrier=is_last)",
        "    try:\n        step(x)\n    finally:\n        xm.mark_step()",
        "    def inner():\n        sync()\n    inner()",
        "    with a:\n        if x:\n            continue\n    step(x)",
        "    try:\n        step(x)\n    except E:\n        continue",
        "    step(x)\n    torch_xla.sync()",
        "    step(x)\n    if f(x):\n        xm.mark_step()",
        "    step(x)\n    if x:\n        xm.mark_step()\n    else:\n        y()",
        "    step(x)\n    if x:\n        xm.mark_step()\n    torch_xla.sync()",
        "    step(x)\n    if x:\n        with y:\n            xm.mark_step()",
        "    xm.optimizer_step(optimizer, barrier=True)",
        "    step(x)\n    return x",
        "    step(x)\n    break",
        "    step(x)\n    raise E",
    ],
)
def test_refused(body: str) -> None:
    loop = "for x in data:  #! loop\n" + body
    head = (
        "import torch_xla\nimport torch_xla as tx\nimport torch_xla.core.xla_model as xm\n"
        "from torch_xla import sync\ndef train(data):\n"
    )
    indented = "\n".join(f"    {line}" for line in loop.splitlines())
    assert refusal(KIND, head + indented)


def test_a_loop_on_one_line_is_refused() -> None:
    assert "on one line" in refusal(KIND, "import torch_xla\nfor x in data: step(x)  #! loop")


@pytest.mark.parametrize(
    "loop",
    [
        "for x in MpDeviceLoader(data, device):",
        "for i, x in enumerate(MpDeviceLoader(data, device)):",
        "loader = pl.MpDeviceLoader(data, device)\nfor x in loader:",
        "loader = pl.MpDeviceLoader(data, device)\nfor i, x in enumerate(tqdm(loader), 1):",
        "loader = pl.ParallelLoader(data, [device])\nfor x in loader.per_device_loader(device):",
    ],
)
def test_a_loader_that_ends_each_step_is_refused(loop: str) -> None:
    head = (
        "import torch_xla.distributed.parallel_loader as pl\n"
        "from torch_xla.distributed.parallel_loader import MpDeviceLoader\n"
    )
    assert "loader" in refusal(KIND, f"{head}{loop}  #! loop\n    step(x)")


def test_one_of_some_turns_becomes_one_of_all() -> None:
    text = """
        import torch_xla
        for i, x in enumerate(data):  #! loop
            loss(x).backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
                torch_xla.sync()
    """
    assert fixed(KIND, text) == expected(
        """
        import torch_xla
        for i, x in enumerate(data):
            loss(x).backward()
            if (i + 1) % 4 == 0:
                optimizer.step()
            torch_xla.sync()
        """
    )
    alone = fixed(KIND, text.replace("                optimizer.step()\n", ""))
    assert alone.endswith("    loss(x).backward()\n    torch_xla.sync()\n")


def test_an_update_without_a_barrier_is_none() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        import torch_xla.core.xla_model as xm
        for x in data:  #! loop
            xm.optimizer_step(optimizer, barrier=False)
            xm.optimizer_step(other)
        """,
    )
    assert after.endswith("(other)\n    torch_xla.sync()\n")


def test_loops_in_it_that_read_get_one_of_their_own() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        for x in data:  #! loop
            for y in x:
                total += step(y).item()
            update()
        """,
        inner_loops=[{"line": 3, "last_line": 4}],
    )
    assert after.endswith(
        "step(y).item()\n        torch_xla.sync()\n    update()\n    torch_xla.sync()\n"
    )


def test_the_loop_around_a_line_of_its_turns() -> None:
    after = fixed(
        KIND,
        """
        import torch_xla
        def iterations(images):
            for level in levels:
                images = images - level * model(images)
                yield images
        class Model:
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)  #!
        """,
        turn={"file": "train.py", "line": 4},
    )
    assert "model(images)\n        torch_xla.sync()\n        yield images" in after


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ({"turn": {"file": "train.py", "line": 1}}, "no loop"),
        ({"turn": {"file": "train.py", "line": 4}}, "no loop"),
        ({"turn": {"file": "other.py", "line": 3}}, "another file"),
        ({"loop": {"file": "other.py", "line": 3}}, "another file"),
        ({"loop": {"file": "train.py", "line": 1}}, "no loop"),
        ({}, "does not name"),
    ],
)
def test_refused_where_the_loop_is_not_here(cause: dict[str, Any], reason: str) -> None:
    text = """
    step(1)
    for x in data:
        def f():
            g(x)
    """
    assert reason in refusal(KIND, text, **cause)


@pytest.mark.parametrize(
    "read",
    [
        "total += loss.item()",
        "history.append(float(loss.detach()))",
        "print(f'loss {loss.item():.3f}', flush=True)",
        "if x: log.info('%s', loss.item())",
        "bar.set_postfix(loss=loss.item())",
    ],
)
def test_what_only_reads_stays_below_the_barrier(read: str) -> None:
    text = f"import torch_xla\nfor x in data:  #! loop\n    loss = step(x)\n    {read}"
    assert fixed(KIND, text).endswith(f"step(x)\n    torch_xla.sync()\n    {read}\n")


@pytest.mark.parametrize(
    "statement",
    [
        "losses.append(mse_loss(model(x), y).item())",
        "total += loss.detach()",
        "print(evaluate(model))",
        "schedule.step()",
        "(lambda: loss.item())()",
    ],
)
def test_what_computes_stays_above_the_barrier(statement: str) -> None:
    text = f"import torch_xla\nfor x in data:  #! loop\n    loss = step(x)\n    {statement}"
    assert fixed(KIND, text).endswith(f"{statement}\n    torch_xla.sync()\n")


CLOSURE = """
import torch_xla
def train():
    def closure():  #! closure
        optimizer.zero_grad()
        {body}
    optimizer.step(closure)  #!
"""


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("loss.backward()\n        return loss", "torch_xla.sync()\n        return loss"),
        ("loss.backward()", "loss.backward()\n        torch_xla.sync()"),
    ],
)
def test_at_the_end_of_an_optimizers_function(body: str, after: str) -> None:
    assert after in fixed(KIND, CLOSURE.format(body=body))


@pytest.mark.parametrize(
    "body",
    [
        "if x: return 1\n        return loss",
        "torch_xla.sync()\n        return loss",
        "return backward(loss)",
        "yield loss",
    ],
)
def test_an_optimizers_function_is_refused(body: str) -> None:
    assert refusal(KIND, CLOSURE.format(body=body))


def test_an_optimizers_function_on_one_line_is_refused() -> None:
    text = "import torch_xla\nclosure = lambda: loss()  #! closure\noptimizer.step(closure)  #!"
    assert "no function" in refusal(KIND, text)


def test_random_numbers_of_the_device_become_others() -> None:
    text = "import torch_xla\nfor x in data:  #! loop\n    step(dropout(x))"
    assert "random numbers" in change(KIND, text).behaviour
    assert change(KIND, text.replace("dropout(x)", "torch.randn(3, device=d)")).behaviour
    assert not change(KIND, text.replace("dropout(x)", "torch.randn(3).to(d)")).behaviour


@pytest.mark.parametrize(
    ("drawn", "on_device"),
    [
        ("policy(x).sample()", True),
        ("Normal(x, 1).rsample()", True),
        ("torch.multinomial(x, 1)", True),
        ("random.sample(x, 3)", False),
        ("np.random.multinomial(3, x)", False),
        ("sample(x)", False),
        ("x.samples()", False),
    ],
)
def test_what_is_sampled_on_the_device_becomes_another(drawn: str, on_device: bool) -> None:
    head = "import random\nimport numpy as np\nimport torch\nimport torch_xla\n"
    text = f"{head}for x in data:  #! loop\n    step({drawn})"
    assert bool(change(KIND, text).behaviour) is on_device


def test_what_grows_from_turn_to_turn_is_refused() -> None:
    text = "import torch_xla\nfor x in data:  #! loop\n    y = torch.cat([y, step(y)])  #!"
    assert "different size" in refusal(KIND, text, kind="appended")
