from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "read_where_used"


def test_the_read_is_where_the_value_is_printed() -> None:
    assert fixed(
        KIND,
        """
        for step, x in enumerate(data):
            loss = model(x).mean()
            value = loss.item()  #!
            loss.backward()
            optimizer.step()
            torch_xla.sync()
            if step % 100 == 0:
                print(step, value)
                log(value)
        """,
    ) == expected(
        """
        for step, x in enumerate(data):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            torch_xla.sync()
            if step % 100 == 0:
                value = loss.item()
                print(step, value)
                log(value)
        """
    )


def test_the_last_value_is_read_below_the_loop() -> None:
    text = """
        for x in data:
            w, loss = step(w, x)
            action = int(act(w))  #!
        print(action)
        """
    after = fixed(KIND, text, frontend="jax")
    assert after.endswith("    action = act(w)\naction = int(action)\nprint(action)\n")
    text = text.replace("int(act(w))", "loss.cpu().item()")
    after = fixed(KIND, text)
    kept = "    action = loss.detach().clone()\n"
    assert after.endswith(f"{kept}action = action.item()\nprint(action)\n")


@pytest.mark.parametrize(
    "text",
    [
        "for x in data:\n    loss = f(x)\n    v = loss.item()  #!\n",
        "v = 0\nfor x in data:\n    loss = f(x)\n    v = loss.item()  #!\nprint(v)\n",
        "for x in data:\n    loss += f(x)\n    v = loss.item()  #!\nprint(v)\n",
        "for x in data:\n    loss = f(x)\n    v = round(loss.item())  #!\nprint(v)\n",
        "for x in data:\n    loss = f(x)\n    v = loss.item()  #!\nelse:\n    print(v)\n",
        "for x in data:\n    loss = f(x)\n    v = loss.item()  #!\nf = lambda: v\n",
        "for x in data:\n    for y in x:\n        loss = f(x)\n        v = loss.item()  #!\n"
        "        while v: pass\n",
    ],
)
def test_values_that_are_not_only_used_below_the_loop(text: str) -> None:
    assert refusal(KIND, text)


def loop(
    statement: str = "value = loss.item()",
    between: str = "optimizer.step()",
    branch: str = "if step % 9 == 0:",
    after: str = "pass",
    loss: str = "model(x).mean()",
) -> str:
    return f"""
def train(data, best):
    for step, x in enumerate(data):
        loss = {loss}
        {statement}  #!
        {between}
        {branch}
            print(value)
    {after}
"""


def test_the_plain_form_is_not_refused() -> None:
    assert "            value = loss.item()\n            print(value)\n" in fixed(KIND, loop())


def test_a_value_that_may_change_meanwhile_is_copied_where_it_was_read() -> None:
    after = fixed(KIND, loop(loss="model.bias[0]"))
    assert "        value = loss.detach().clone()\n        optimizer.step()\n" in after
    assert "            value = value.item()\n            print(value)\n" in after


def test_a_value_that_another_call_takes_stays() -> None:
    reason = refusal(KIND, loop("value = meter.update(loss.item())"))
    assert reason == "`meter.update(loss.item())` may do more than compute a value (line 4)"


@pytest.mark.parametrize(
    "text",
    [
        loop(between="loss += 1"),
        loop(between="best = value"),
        loop(between="print(value)"),
        loop(between="def f(): return value"),
        loop(between="yield value"),
        loop("value = best.item()"),
        loop("value += loss.item()"),
        loop("value: float = loss.item()"),
        loop("value, n = loss.item(), 1"),
        loop("value = n = loss.item()"),
        loop("self.value = loss.item()"),
        loop("value = loss.item() + best.item()"),
        loop("value = f(y := loss.item())"),
        loop("value = loss.item(); n = 1"),
        loop("global value\n        value = loss.item()"),
        loop("if x: value = loss.item()"),
        loop(branch="if value > 3:"),
        loop(branch="if best:"),
        loop(branch="while step % 9:"),
        loop(branch="for _ in range(step % 9):"),
        loop(branch="if step % value == 0:"),
        loop(after="return value"),
        loop().replace("print(value)", "pass"),
        loop().replace("print(value)", "pass\n        else:\n            print(value)"),
        loop().replace("print(value)", "f = lambda: value"),
    ],
)
def test_refused(text: str) -> None:
    assert refusal(KIND, text)
