from __future__ import annotations

import pytest

from tests.fixes.harness import change, fixed, refusal

KIND = "detached_state"


def loop(*lines: str, after: str = "pass") -> str:
    body = "\n".join(f"        {line}" for line in lines)
    return (
        f"import torch\ndef train(data, state, total):\n    for x in data:\n{body}\n    {after}\n"
    )


def test_a_state_is_carried_over_without_its_history() -> None:
    text = loop("y, state = model(x, state)  #!", "loss = f(y)", "loss.backward()")
    assert "y, state = model(x, state.detach())\n" in fixed(KIND, text)
    assert "gradients" in change(KIND, text).behaviour


def test_a_sum_of_losses_is_one_of_numbers() -> None:
    text = loop("loss = f(x)", "loss.backward()", "total += loss  #!", after="return total.item()")
    assert "total += loss.detach()\n" in fixed(KIND, text)
    assert not change(KIND, text).behaviour


def test_where_the_finding_names_another_line_the_loop_is_searched() -> None:
    text = loop("state = cell(x, state)", "loss = f(state)", "loss.backward()")
    after = fixed(KIND, text + "def cell(x, s):\n    return s * x  #!\n")
    assert "state = cell(x, state.detach())" in after


@pytest.mark.parametrize(
    "lines",
    [
        ["y, state = model(x, state.detach())  #!", "y.backward()"],
        ["y, state = model(x, state)  #!"],
        ["y, state = model(x, s=2 * state)  #!", "y.backward()"],
        ["y, state = model(x, *state)  #!", "y.backward()"],
        ["y, self.state = model(x, self.state)  #!", "y.backward()"],
        ["y, state[0] = model(x, other)  #!", "y.backward()"],
        ["a, b = model(a, b)  #!", "a.backward()"],
        ["state = state * x  #!", "state.sum().backward()"],
        ["state = 0.5 * model(state)  #!", "state.sum().backward()"],
        ["total += loss  #!", "total.backward()"],
        ["total += loss  #!", "(loss + 0.1 * total).backward()"],
        ["total += loss  #!", "print(total)", "loss.backward()"],
        ["total += f(x)  #!", "y.backward()"],
        ["total -= loss  #!", "loss.backward()"],
        ["total[0] += loss  #!", "loss.backward()"],
        ["self.total += loss  #!", "loss.backward()"],
        ["total = total + loss  #!", "loss.backward()"],
        ["totals.append(loss)  #!", "loss.backward()"],
        ["total += loss; n += 1  #!", "loss.backward()"],
        ["y = model(x, state)  #!", "y.backward()"],
        ["y, state = model(x, lambda: state)  #!", "y.backward()"],
        ["state: object = model(state)  #!", "state.backward()"],
    ],
)
def test_refused(lines: list[str]) -> None:
    assert refusal(KIND, loop(*lines))


def test_a_sum_that_goes_backward_after_the_loop_is_refused() -> None:
    text = loop("loss.backward()", "total += loss  #!", after="(total / 8).backward()")
    assert refusal(KIND, text)
    assert refusal(KIND, loop("y, s = m(x, s)  #!", "y.backward()"), "jax")
