from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "send_once"


def test_an_array_of_numpy_is_sent_where_it_is_made() -> None:
    assert fixed(
        KIND,
        """
        import jax
        import numpy as np

        def main():
            draw = np.random.default_rng(0)
            table = draw.normal(size=(9, 9)).astype(np.float32)
            for _ in range(9):
                words = draw.integers(9, size=9)
                loss = step(table, words)  #!
            print(loss)
        """,
        frontend="jax",
    ) == expected(
        """
        import jax
        import numpy as np

        def main():
            draw = np.random.default_rng(0)
            table = draw.normal(size=(9, 9)).astype(np.float32)
            table = jax.device_put(table)
            for _ in range(9):
                words = draw.integers(9, size=9)
                loss = step(table, words)
            print(loss)
        """
    )


def test_a_statement_that_sends_goes_above_the_loop() -> None:
    assert fixed(
        KIND,
        """
        import torch
        def train(data, device):
            for x in data:
                x = x.to(device)
                table = torch.tensor(TABLE).to(device)  #!
                loss = model(x, table)
        """,
    ) == expected(
        """
        import torch
        def train(data, device):
            table = torch.tensor(TABLE).to(device)
            for x in data:
                x = x.to(device)
                loss = model(x, table)
        """
    )


def loop(statement: str, rest: str = "f(table)") -> str:
    return f"""
import jax
import jax.numpy as jnp
def train(data):
    for x in data:
        {statement}  #!
        {rest}
"""


@pytest.mark.parametrize(
    "text",
    [
        loop("table = jax.device_put(x)"),
        loop("table = jax.device_put(self.table)", "self.update(x)").replace("(data)", "(self)"),
        loop("table = jax.device_put(TABLE)", "TABLE[0] = 1"),
        loop("table = jax.device_put(TABLE)", "update(TABLE)"),
        loop("table = jax.device_put(TABLE)", "TABLE += 1"),
        loop("table = jax.device_put(TABLE)", "table = table + 1"),
        loop("table = jax.device_put(TABLE)", "table += 1"),
        loop("table = jax.device_put(TABLE)", "table.add_(1)"),
        loop("table = jax.device_put(TABLE)", "table[0] = 1"),
        loop("table = jax.device_put(load())"),
        loop("table = jax.device_put(TABLE), 1"),
        loop("table, n = jax.device_put(TABLE)"),
        loop("self.table = jax.device_put(TABLE)"),
        loop("table = jax.device_put(y := TABLE)"),
        loop("table = device_put(TABLE)"),
        loop("f(jax.device_put(TABLE))"),
        loop("if x: table = jax.device_put(TABLE)"),
        loop("table = jax.device_put(TABLE); n = 1"),
        loop("step = jax.jit(f, donate_argnums=0)\n        table = jax.device_put(TABLE)"),
        loop("f(table)\n        table = jax.device_put(TABLE)"),
        loop("f(TABLE)"),
        "table = jax.device_put(TABLE)  #!\n",
        "import numpy as np\nt = np.zeros(9)\nfor x in data:\n    t[0] = x\n    f(t)  #!\n",
        "import numpy as np\nt = np.zeros(9)\nfor x in data:\n    f(t)  #!\nprint(t.sum())\n",
        "import numpy as np\nfor x in data:\n    t = np.zeros(9)\n    f(t)  #!\n",
        "import numpy as np\nt = np.zeros(9)\nt[0] = 1\nfor x in data:\n    f(t)  #!\n",
        "t = make()\nfor x in data:\n    f(t)  #!\n",
        "t = 3\nfor x in data:\n    f(t)  #!\n",
    ],
)
def test_refused(text: str) -> None:
    assert refusal(KIND, text, frontend="jax")


def test_arguments_of_torch_are_left_alone() -> None:
    text = "import numpy as np\nt = np.zeros(9)\nfor x in data:\n    f(t)  #!\n"
    assert refusal(KIND, text, frontend="torch_xla")


@pytest.mark.parametrize("made", ["table.numpy()", "table", "torch.as_tensor(table)"])
def test_another_name_of_the_data_in_the_loop_is_refused(made: str) -> None:
    text = f"""
        import torch
        table = torch.ones(4)
        data = {made}
        local = table
        for x in batches:
            sent = torch.as_tensor(data).to(device)  #!
            y = model(x, sent)
        """
    assert fixed(KIND, text, frontend="torch_xla")
    assert "may change with `local`" in refusal(
        KIND, text + "    change(local)\n", frontend="torch_xla"
    )
