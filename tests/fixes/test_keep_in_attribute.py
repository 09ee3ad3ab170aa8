from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "keep_in_attribute"


def test_a_callback_reads_its_values_at_the_end() -> None:
    assert fixed(
        KIND,
        '''
        class History:
            def __init__(self):
                self.losses = []

            def on_step_end(self, metrics):
                self.losses.append(metrics["loss"].item())  #!

            def on_train_end(self):
                """Show them."""
                print(sum(self.losses) / len(self.losses))
        ''',
    ) == expected(
        '''
        class History:
            def __init__(self):
                self.losses = []

            def on_step_end(self, metrics):
                self.losses.append(metrics["loss"].detach().clone())

            def on_train_end(self):
                """Show them."""
                self.losses = [v if isinstance(v, (int, float)) else v.item() for v in self.losses]
                print(sum(self.losses) / len(self.losses))
        '''
    )


def history(
    statement: str = "self.losses.append(float(loss))",
    end: str = "on_train_end",
    rest: str = "",
    start: str = "self.losses = []",
) -> str:
    return f"""
import jax
class History:
    def __init__(self):
        {start}

    def on_step_end(self, loss):
        {statement}  #!

    def {end}(self):
        print(max(self.losses))
{rest}
"""


def test_arrays_of_jax_are_fetched_together() -> None:
    after = fixed(KIND, history(), frontend="jax")
    assert "        self.losses.append(loss)\n" in after
    assert "self.losses = [float(v) for v in jax.device_get(self.losses)]\n" in after


@pytest.mark.parametrize(
    "text",
    [
        history("losses.append(float(loss))"),
        history("other.losses.append(float(loss))"),
        history("self.losses.append(int(loss))"),
        history("self.losses.append(float(loss) / 2)"),
        history("self.losses.append((1, float(loss)))"),
        history("self.losses.append(*float(loss))"),
        history("self.losses.extend([float(loss)])"),
        history("self.losses += [float(loss)]"),
        history("self.losses.append(x := float(loss))"),
        history("self.losses.append(float(loss)); self.n = 1"),
        history("if loss: self.losses.append(float(loss))"),
        history("self.losses.append(float(loss))\n        print(self.losses[-1])"),
        history(end="on_epoch_end"),
        history(end="show"),
        history(end="losses_of"),
        history(rest="\n    def best(self): return min(self.losses)"),
        history(rest="\nprint(History().losses)"),
        history(rest="\nstep = jax.jit(f, donate_argnums=0)"),
        history(start="self.losses = [0.0]"),
        history(start="self.losses = deque(maxlen=9)"),
        history(start="pass"),
        history().replace("    def on_train", "    @property\n    def on_train"),
        history().replace("(self):\n        print", "(self): print"),
        "def f(self, loss):\n    self.losses.append(float(loss))  #!\n",
        "self.losses.append(float(loss))  #!\n",
    ],
)
def test_refused(text: str) -> None:
    assert refusal(KIND, text, frontend="jax")


def test_float_of_ones_own_is_no_read() -> None:
    assert refusal(KIND, history().replace("import jax", "from x import float"), frontend="jax")
