from __future__ import annotations

import pytest

from tests.fixes.harness import change, expected, fixed, refusal

KIND = "sum_on_device"
HEAD = """\
import torch
import torch_xla
import torch_xla.core.xla_model as xm
"""


def torch_xla(body: str) -> str:
    return HEAD + "def train(model, data, device):\n" + body


def test_the_sum_is_above_the_barrier_and_read_where_it_is_used() -> None:
    assert fixed(
        KIND,
        """
        import torch
        import torch_xla

        def train(data, device):
            total, correct = 0.0, 0
            for x, y in data:
                out = model(x.to(device))
                loss = torch.nn.functional.mse_loss(out, y)
                loss.backward()
                torch_xla.sync()  #! barrier
                correct += 1
                total += loss.item()  #!
            return total / len(data)
        """,
    ) == expected(
        """
        import torch
        import torch_xla

        def train(data, device):
            total, correct = torch.zeros(1).to(device), 0
            for x, y in data:
                out = model(x.to(device))
                loss = torch.nn.functional.mse_loss(out, y)
                loss.backward()
                total += loss.detach()
                torch_xla.sync()
                correct += 1
            return total.item() / len(data)
        """
    )


def test_several_uses_are_served_by_one_read() -> None:
    assert fixed(
        KIND,
        """
        import torch
        import torch_xla
        device = torch_xla.device()
        total = 0.0
        for x in data:
            loss = step(x).mean()
            total += float(loss.cpu())  # of the epoch  #!
            torch_xla.sync()  #! barrier
        print(total)
        print(total / 2)
        """,
    ) == expected(
        """
        import torch
        import torch_xla
        device = torch_xla.device()
        total = torch.zeros(1).to(device)
        for x in data:
            loss = step(x).mean()
            total += loss.detach()  # of the epoch
            torch_xla.sync()
        total = total.item()
        print(total)
        print(total / 2)
        """
    )


def test_a_count_stays_a_whole_number() -> None:
    after = fixed(
        KIND,
        torch_xla(
            """
    correct = 0
    for x, y in data:
        x = x.to(device)
        correct += (model(x).argmax(1) == y).sum().item()  #!
        xm.mark_step()  #! barrier
    return correct
"""
        ),
    )
    assert "correct = torch.zeros(1, dtype=torch.long).to(device)\n" in after
    assert "        correct += (model(x).argmax(1) == y).sum()\n" in after
    assert after.endswith("    return correct.item()\n")


def test_a_loop_without_a_barrier_gets_one() -> None:
    after = fixed(
        KIND,
        torch_xla(
            """
    total = 0.0
    for x in data:  #! unbarred
        total += model(x).mean().item()  #!
    return total
"""
        ),
    )
    assert "total += model(x).mean().detach()\n        torch_xla.sync()\n    return" in after


def test_the_size_of_the_batch_may_be_a_factor() -> None:
    body = """
    total = 0.0
    for x in data:
        loss = model(x).mean()
        total += loss.item() * x.size(0)  #!
        torch_xla.sync()  #! barrier
    return total
"""
    assert "total += loss.detach() * x.size(0)\n" in fixed(KIND, torch_xla(body))
    assert "total += loss.detach() / 2\n" in fixed(
        KIND, torch_xla(body.replace("* x.size(0)", "/ 2"))
    )


def test_what_the_loop_shows_every_so_often_is_read_there() -> None:
    after = fixed(
        KIND,
        torch_xla(
            """
    running = 0.0
    for i, x in enumerate(data):
        loss = model(x.to(device)).mean()
        running += loss.item()  #!
        torch_xla.sync()  #! barrier
        if i % 100 == 99:
            print(f"{running / 100:.3f}")
            running = 0.0
"""
        ),
    )
    assert '        print(f"{running.item() / 100:.3f}")\n' in after
    assert after.count("running = torch.zeros(1).to(device)\n") == 2


def test_a_count_that_begins_as_a_float_of_jax_stays_one() -> None:
    text = "total = 0.0\nfor x in data:\n    total += int((x == 0).sum())  #!\nprint(total)\n"
    after = fixed(KIND, f"import jax.numpy as jnp\n{text}", frontend="jax")
    assert after.endswith("print(float(total))\n")


def test_a_loss_computed_from_itself() -> None:
    statement = "total += loss.item()"
    text = torch_xla(
        loop(statement).replace(statement, f"loss = loss.detach()\n        {statement}")
    )
    assert "total += loss.detach().reshape(())\n" in fixed(KIND, text)


SHOWN = """
    total, right = 0.0, 0
    bar = tqdm(data)
    for x in bar:  #!{}
        loss = model(x.to(device)).mean()
        loss.backward()
        {}
    return total
"""
ADDED, BAR, SYNC = (
    "total += loss.item()  #!",
    "bar.set_postfix(loss=total / (right + 1))",
    ("torch_xla.sync()  #! barrier"),
)


@pytest.mark.parametrize(
    ("mark", "statements"),
    [
        (" other", [ADDED, "right += 2", BAR, SYNC]),
        (" other", ["right += 2", SYNC, ADDED, BAR]),
        (" unbarred", [ADDED, BAR]),
    ],
)
def test_what_shows_the_sum_in_each_step_is_in_the_same_patch(
    mark: str, statements: list[str]
) -> None:
    text = torch_xla(SHOWN.format(mark, "\n        ".join(statements)))
    after = fixed(KIND, text)
    assert "    for step, x in enumerate(bar):\n" in after
    assert "        total += loss.detach()\n" in after
    assert after.count("torch_xla.sync()") == 1
    assert after.index("torch_xla.sync()") < after.index("if step")
    assert after.endswith(
        """
        if step % 10 == 0:
            bar.set_postfix(loss=total.item() / (right + 1))
    return total.item()
"""
    )
    assert "it shows only if `step % 10 == 0`" in change(KIND, text).behaviour


def test_several_sums_that_begin_anew_together() -> None:
    after = fixed(
        KIND,
        torch_xla(
            """
    right, count = 0, 0
    for i, (x, y) in enumerate(data):
        x = x.to(device)
        right += (model(x).argmax(1) == y).sum().item()  #!
        count += len(y)
        torch_xla.sync()  #! barrier
        if i % 500 == 0 and i > 0:
            print(right / count)
            right, count = 0, 0
"""
        ),
    )
    assert "            print(right.item() / count)\n" in after
    assert after.count("right, count = torch.zeros(1, dtype=torch.long).to(device), 0\n") == 2


def test_the_device_is_asked_for_where_the_program_does_not_name_it() -> None:
    text = """
        import torch
        import torch_xla.core.xla_model as xm
        def train(data):
            total = 0.0
            for x in data:
                total += step(x).item()  #!
                xm.mark_step()  #! barrier
            return total
        """
    assert "torch.zeros(1).to(xm.xla_device())" in fixed(KIND, text)
    named = text.replace("total = 0.0", "chip = xm.xla_device()\n            total = 0.0")
    assert "torch.zeros(1).to(chip)" in fixed(KIND, named)
    text = text.replace("import torch_xla.core.xla_model as xm", "import torch_xla as tx")
    assert "torch.zeros(1).to(tx.device())" in fixed(KIND, text.replace("xm.mark_step", "tx.sync"))


def test_arrays_of_jax() -> None:
    assert fixed(
        KIND,
        """
        import jax
        import jax.numpy as jnp

        def train(params, data):
            total, right = 0.0, 0
            for x, y in data:
                params, loss, out = step(params, x, y)
                right += int((out == y).sum())
                total += float(loss)  #!
            return params, total / len(data), right
        """,
        frontend="jax",
    ) == expected(
        """
        import jax
        import jax.numpy as jnp

        def train(params, data):
            total, right = jnp.zeros(()), 0
            for x, y in data:
                params, loss, out = step(params, x, y)
                right += int((out == y).sum())
                total += loss
            return params, float(total) / len(data), right
        """
    )


def test_a_count_of_jax() -> None:
    after = fixed(
        KIND,
        """
        import jax.numpy as jnp
        right = 0
        for x, y in data:
            right += int(jnp.sum(predict(x) == y))  #!
        print(right)
        """,
        frontend="jax",
    )
    assert "right = jnp.zeros((), dtype=int)\n" in after
    assert "    right += jnp.sum(predict(x) == y)\nprint(int(right))\n" in after


def loop(statement: str, start: str = "total = 0.0", after: str = "return total") -> str:
    return f"""
    {start}
    for x in data:
        loss = model(x)
        {statement}  #!
        torch_xla.sync()  #! barrier
    {after}
"""


@pytest.mark.parametrize(
    "body",
    [
        loop("total = loss.item()"),
        loop("total -= loss.item()"),
        loop("self.total += loss.item()"),
        loop("total[0] += loss.item()"),
        loop("total += loss.item() + other.item()"),
        loop("total += round(loss.item(), 2)"),
        loop("total += 1 / loss.item()"),
        loop("total += loss.item() * weight"),
        loop("total += loss.item() * total"),
        loop("total += loss.item(); n += 1"),
        loop("total += (y := loss.item())"),
        loop("total += loss.item(0)"),
        loop("total += int(loss)"),
        loop("total += float(loss) if x else 0"),
        loop("total += [loss.item() for _ in x][0]"),
        loop("total += loss.item()", "total = 1.0"),
        loop("total += loss.item()", "total = other = 0.0"),
        loop("total += loss.item()", "total: float = 0.0"),
        loop("total += loss.item()", "(total, n), m = (0.0, 0), 0"),
        loop("total += loss.item()", "total = start()"),
        loop("total += loss.item()", "pass"),
        loop("total += sum(x).item()", "total = 0"),
        loop("total += loss.item()", "total = 0.0\n    show(total)"),
        loop("total += loss.item()", "global total\n    total = 0.0"),
        loop("total += loss.item()", "total = 0.0\n    def show(): print(total)"),
        loop("total += loss.item()", "total = 0.0\n    show = lambda: total"),
        loop("total += loss.item()", "print(locals())\n    total = 0.0"),
        loop("total += loss.item()\n        meter.update(total)"),
        loop("total += loss.item()\n        n = print(total)"),
        loop("total += loss.item()\n        print(f'{total=}')"),
        loop("total += loss.item()\n        print(total); n = 1"),
        loop("total += loss.item()\n        print(total)\n        total += 1"),
        loop("total += loss.item()\n        print(total)\n        print(2 * total)"),
        loop("total += loss.item()\n        for part in x:\n            print(total)"),
        loop("total += loss.item()\n        if total > 9: break"),
        loop("total += loss.item()\n        yield total"),
        loop("total += loss.item()\n        total *= 0.9"),
        loop("total += loss.item()", after="else:\n        print(total)"),
        loop("total += loss.item()", "torch = data\n    total = 0.0"),
        "    total = 0.0\n    total += loss.item()  #!\n",
        """
    total = 0.0
    try:
        total = 0.0
        for x in data:
            total += model(x).item()  #!
            torch_xla.sync()  #! barrier
    finally:
        print(total)
""",
        """
    total = 0.0
    for x in data:
        loss = model(x)
        torch_xla.sync()  #! barrier
        loss = loss + 1
        total += loss.item()  #!
    return total
""",
        """
    total = 0.0
    for x in data:
        torch_xla.sync()  #! barrier
        if x:
            total += model(x).item()  #!
    return total
""",
        """
    total = 0.0
    for x in data:  #! unbarred
        seen(x)
        if x:
            continue
        total += model(x).item()  #!
    return total
""",
        """
    total = 0.0
    for i, x in enumerate(data):
        total += model(x).item()  #!
        if i % 10 == 0:
            print(total)
        torch_xla.sync()  #! barrier
""",
    ],
)
def test_refused(body: str) -> None:
    assert refusal(KIND, torch_xla(body))


def test_float_of_ones_own_is_no_read() -> None:
    text = torch_xla(loop("total += float(loss)")).replace("data, device", "data, float")
    assert "no .item()" in refusal(KIND, text)


def test_refused_where_a_function_ends_the_step() -> None:
    text = torch_xla(loop("total += loss.item()").replace("  #! barrier", ""))
    assert "ends in m.py:3" in refusal(KIND, text, barrier_called="m.py:3")


def test_refused_for_other_frameworks() -> None:
    assert refusal(KIND, torch_xla(loop("total += loss.item()")), frontend="torch")


def test_a_sum_that_begins_in_front_of_no_grad_is_read_below_the_loop() -> None:
    after = fixed(
        KIND,
        """
        import torch
        import torch_xla

        def test(model, device, loader):
            total, correct = 0.0, 0
            with torch.no_grad():
                for data, target in loader:
                    output = model(data.to(device))
                    total += loss_of(output, target).item()  #!
                    torch_xla.sync()
            print(f"loss {total / len(loader)}, {correct}")
        """,
    )
    assert "    total, correct = torch.zeros(1).to(device), 0\n    with torch.no_grad():\n" in after
    assert "            total += loss_of(output, target).detach().reshape(())\n" in after
    assert "            torch_xla.sync()\n        total = total.item()\n    print(" in after


def test_a_context_that_may_hide_an_exception_is_refused() -> None:
    assert refusal(
        KIND,
        """
        import contextlib
        import torch_xla

        def test(model, device, loader):
            total = 0.0
            with contextlib.suppress(ValueError):
                for data, target in loader:
                    total += loss_of(model(data), target).item()  #!
                    torch_xla.sync()
            print(total)
        """,
    )
