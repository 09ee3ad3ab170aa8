from __future__ import annotations

import pytest

from tests.fixes.harness import case, change, expected, fixed, refusal
from xladoctor.fixes.compose import applied
from xladoctor.fixes.registry import kind

KIND = "every_tenth_step"


def test_behind_the_loops_counter_and_below_the_barrier() -> None:
    assert fixed(
        KIND,
        """
        import torch
        import torch_xla

        def train(data, model):
            optimizer = torch.optim.SGD(model.parameters())
            for step, (x, y) in enumerate(data):
                loss = model(x).mean()
                loss.backward()
                # shows the loss
                print(step, loss.item())  # each time  #!
                optimizer.step()
                torch_xla.sync()  #! barrier
        """,
    ) == expected(
        """
        import torch
        import torch_xla

        def train(data, model):
            optimizer = torch.optim.SGD(model.parameters())
            for step, (x, y) in enumerate(data):
                loss = model(x).mean()
                loss.backward()
                # shows the loss
                optimizer.step()
                torch_xla.sync()
                if step % 10 == 0:
                    print(step, loss.item())  # each time
        """
    )


def test_what_another_statement_may_change_stays_where_it_is() -> None:
    after = fixed(
        KIND,
        """
        for step in range(9):
            log.info("norm %f", model.weight.norm().item())  #!
            optimizer.step()
            torch_xla.sync()  #! barrier
        """,
    )
    assert after.startswith("for step in range(9):\n    if step % 10 == 0:\n        log.info(")


def test_a_loop_that_counts_nothing_is_counted() -> None:
    text = """
        step = jax.jit(f)
        for x, y in data:
            w, loss = step(w, x)
            print(f"loss {loss:.3f}")  #!
        """
    after = fixed(KIND, text, frontend="jax")
    assert "for number, (x, y) in enumerate(data):\n" in after
    assert '    if number % 10 == 0:\n        print(f"loss {loss:.3f}")\n' in after
    after = fixed(KIND, text.replace("x, y in data", "(x, y) in zip(a, b)"), frontend="jax")
    assert "for (number, (x, y)) in enumerate(zip(a, b)):\n" in after
    after = fixed(KIND, text.replace("x, y in data", "x in tqdm(data)"), frontend="jax")
    assert "for number, x in enumerate(tqdm(data)):\n" in after


def test_the_condition_of_the_loops_other_output_is_used() -> None:
    after = fixed(
        KIND,
        """
        done = 0
        while done < 100:
            loss = step()
            bar.set_postfix(loss=loss.item(), lr=schedule.get_last_lr()[0])  #!
            done += 1
            if done % 25 == 0:
                save()
        """,
        frontend="jax",
    )
    assert "    if done % 25 == 0:\n        bar.set_postfix(" in after


def test_a_counter_of_the_loops_own() -> None:
    after = fixed(
        KIND,
        """
        done = 0
        while done < 100:
            loss = step()
            assert jnp.isfinite(loss).all(), "diverged"  #!
            done += 1
        """,
        frontend="jax",
    )
    assert '    if done % 10 == 0:\n        assert jnp.isfinite(loss).all(), "diverged"\n' in after


def test_below_a_barrier_that_the_loop_is_given() -> None:
    assert fixed(
        KIND,
        """
        import torch_xla
        for i, x in enumerate(data):  #! unbarred
            loss = model(x)
            print(
                loss.item(),  #!
            )
        """,
    ) == expected(
        """
        import torch_xla
        for i, x in enumerate(data):
            loss = model(x)
            torch_xla.sync()
            if i % 10 == 0:
                print(
                    loss.item(),
                )
        """
    )


def test_it_says_that_less_is_printed() -> None:
    text = "for i in range(9):\n    print(loss)  #!\n"
    assert change(KIND, text).behaviour == (
        "it prints only if `i % 10 == 0`, not in each iteration of the loop in line 1"
    )


def loop(statement: str, head: str = "for i, x in enumerate(data)") -> str:
    return f"""
    {head}:
        loss = model(x)
        {statement}  #!
        torch_xla.sync()
"""


@pytest.mark.parametrize(
    ("shown", "title"),
    [
        ("pprint.pprint(loss.item())", "print only if `step % 10 == 0`"),
        ("jax.debug.print('{}', loss)", "print only if `step % 10 == 0`"),
        ("tqdm.tqdm.write(str(loss.item()))", "log only if `step % 10 == 0`"),
    ],
)
def test_all_functions_that_print(shown: str, title: str) -> None:
    text = f"import jax, pprint, tqdm\nfor step in range(9):\n    loss = f(step)\n    {shown}  #!\n"
    assert change(KIND, text).title == title


@pytest.mark.parametrize(
    "body",
    [
        loop("show(loss.item())"),
        loop("history.append(loss.item())"),
        loop("text = print(loss)"),
        loop("print(loss) or other()"),
        loop("print(loss), print(x)"),
        loop("print(loss); n += 1"),
        loop("print(y := loss.item())"),
        loop("print(next(values), loss)"),
        loop("print(values.pop(), loss)"),
        loop("print(train(loss))"),
        loop("print((lambda: step())())"),
        loop("await print(loss)"),
        loop("print((yield loss))"),
        loop("file.write(str(loss))"),
        loop("math.log(loss)").replace("math.log", "math.log10"),
        loop("assert check(loss)"),
        loop("assert (y := loss) > 0"),
        loop("raise Error(loss)"),
        loop("return print(loss)"),
        loop("print('''a\n    b''', loss)"),
        loop("print(loss)", "async for x in data"),
        loop("print(loss)", "while data"),
        loop("print(loss)", "for x in (a, b)"),
        loop("print(loss)", "for x in model.parameters()"),
        loop("print(loss)", "for x in metrics.items()"),
        "    print(loss)  #!\n",
        "    for i in range(99):\n        if i % 9 == 0:\n            print(i)  #!\n",
        "    for i in x:\n        if i % 9:\n            if x:\n                print(i)  #!\n",
        "    for x in data: print(x)  #!\n",
        "    for x in data:\n        for y in x:\n            print(y)  #!\n",
        "    f = [print(x) for x in data]  #!\n",
        "    with a: print(x)  #!\n",
        "    for i in range(9):\n        def f():\n            print(x)  #!\n        f()\n",
    ],
)
def test_refused(body: str) -> None:
    assert refusal(KIND, f"async def train(data):\n{body}")


def test_a_print_of_ones_own_is_refused() -> None:
    assert refusal(KIND, "def f(print):\n    for i in range(9):\n        print(x)  #!\n")
    assert refusal(KIND, "from rich import print\nfor i in range(9):\n    print(x)  #!\n")


def test_names_that_are_taken() -> None:
    text = "def enumerate(x): ...\nfor x in data:\n    step(x)\n    print(x)  #!\n"
    assert "taken" in refusal(KIND, text)
    text = "step = number = iteration = index = 0\nfor x in data:\n    step(x)\n    print(x)  #!\n"
    assert "taken" in refusal(KIND, text)


def test_a_counter_that_the_loop_changes_is_none() -> None:
    text = "for i in range(9):\n    i = step(i)\n    print(i)  #!\n"
    assert "enumerate(range(9))" in fixed(KIND, text)
    assert "enumerate(range(0, 90, 10))" in fixed(
        KIND, "for i in range(0, 90, 10):\n    f(i)\n    print(i)  #!\n"
    )


def test_it_composes_with_a_sum_that_is_read_below_the_loop() -> None:
    text = """
        import torch
        import torch_xla

        def train(data, device):
            total = 0.0
            for i, x in enumerate(data):
                loss = step(x).mean()
                {}
                {}
                torch_xla.sync()  #! barrier
            print(total)
            return total
        """
    added = case(text.format("total += loss.item()  #!", "print(loss)"))
    shown = case(text.format("total += loss.item()", "print(loss)  #!"))
    edits = [*kind("sum_on_device")(added).edits, *kind(KIND)(shown).edits]
    for order in (edits, edits[::-1]):
        assert applied(added.source.text, order).endswith(
            """
        loss = step(x).mean()
        total += loss.detach()
        torch_xla.sync()
        if i % 10 == 0:
            print(loss)
    total = total.item()
    print(total)
    return total
"""
        )


def test_loops_in_loops_have_counters_of_their_own() -> None:
    text = "for x in data:\n    for y in x:\n        f(y)\n        print(y){}\n    print(x){}\n"
    inner = fixed(KIND, text.format("  #!", ""))
    outer = fixed(KIND, text.format("", "  #!"))
    assert "for number, y in" in inner
    assert "for step, x in" in outer
