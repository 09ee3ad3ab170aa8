"""What kinds of fixes must leave alone, as the program would do something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fixes.harness import change, fixed, refusal
from xladoctor.fixes.compose import applied
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.source import Source

HEAD = "import random, torch, torch_xla\nimport torch.nn.functional as F\n"
METER = """
class Meter:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)
        return sum(self.values)

    @property
    def last(self):
        return self.values.pop()

"""


def step(*lines: str, loss: str = "F.mse_loss(model(x), y)", after: str = "return total") -> str:
    """A training step whose barrier follows its update, with more lines."""
    body = "".join(f"        {line}\n" for line in lines)
    return (
        f"{HEAD}{METER}def train(model, optimizer, data, names, meter, device):\n    total = 0.0\n"
        f"    losses = []\n    for step, (x, y) in enumerate(data):\n        loss = {loss}\n"
        f"        loss.backward()\n        optimizer.step()\n{body}    {after}\n"
    )


SYNC = "torch_xla.sync()  #! barrier"


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (
            "read_where_used",
            step(SYNC, "v = meter.update(loss.item())  #!", "if step % 5 == 0:", "    print(v)"),
            "`meter.update(loss.item())` may do more than compute a value (line 24)",
        ),
        (
            "sum_on_device",
            step(SYNC, "model.eval()", "total += model(x).mean().item()  #!"),
            "`model(x)` in line 25 may depend on what line 24 does",
        ),
        (
            "every_tenth_step",
            step(SYNC, "print(names.get(), loss.item())  #!"),
            "`names.get()` may do more than compute a value (line 24)",
        ),
        (
            "every_tenth_step",
            step(SYNC, "print(random.random(), loss.item())  #!"),
            "line 24 has an effect on random numbers",
        ),
        (
            "every_tenth_step",
            step(SYNC, "print(meter.last, loss.item())  #!"),
            "`meter.last` may do more than compute a value (line 24)",
        ),
        (
            "every_tenth_step",
            step(SYNC, "print(names.pop(), loss.item())  #!"),
            "`names.pop()` may do more than compute a value (line 24)",
        ),
        (
            "sum_on_device",
            step(SYNC, "try:", "    total += loss.item()  #!", "except ValueError:", "    pass"),
            "it is in the `try` in line 24",
        ),
        (
            "keep_on_device",
            step(SYNC, "losses.append(loss.item())  #!", after="f = lambda: losses"),
            "`losses` is used by an inner function in line 25",
        ),
        (
            "choose_on_device",
            f"{HEAD}def f(data, device):\n    best = torch.full((), 9.0).to(device)\n"
            "    for x in data:\n        loss = g(x)\n        if loss < best:  #!\n"
            "            best = loss\n    return depth(best)\n",
            "`best` may be used with its gradient",
        ),
        (
            "number_as_tensor",
            f"{HEAD}def f(table, x):\n    for step in range(9):\n        table[step] += x  #!\n",
            "`table[step]` is set",
        ),
        (
            "number_as_tensor",
            f"{HEAD}def f(table, x):\n    for step in range(9):\n        row = table[step]  #!\n"
            "        row += x\n",
            "`row` is changed in place",
        ),
    ],
)
def test_refused(kind: str, text: str, reason: str) -> None:
    assert refusal(kind, text) == reason


def test_a_buffer_that_is_filled_again_is_waited_for() -> None:
    text = (
        "import jax\nimport numpy as np\nbuffer = np.zeros(3)\nfor step in range(9):\n"
        "    buffer[:] = step\n    y = f(buffer)\n    jax.block_until_ready(y)  #!\n"
    )
    reason = "`buffer` is changed in line 5, while the device may still use it"
    assert refusal("wait_below_loop", text, "jax") == reason


def test_a_part_of_a_parameter_is_copied_before_it_is_kept() -> None:
    after = fixed("keep_on_device", step(SYNC, "losses.append(loss.item())  #!", loss="model.b[0]"))
    assert "        losses.append(loss.detach().clone())\n" in after


def test_a_value_may_have_any_number_of_dimensions() -> None:
    after = fixed("sum_on_device", step(SYNC, "total += loss.item()  #!", loss="model(x)"))
    assert "        total += loss.detach().reshape(())\n" in after


def test_an_argument_named_as_a_device_may_be_a_text() -> None:
    after = fixed("sum_on_device", step(SYNC, "total += loss.item()  #!"))
    assert "    total = torch.zeros(1).to(torch_xla.device())\n" in after
    moved = fixed("sum_on_device", step("x = x.to(device)", SYNC, "total += loss.item()  #!"))
    assert "    total = torch.zeros(1).to(device)\n" in moved


def test_another_rounding_and_what_is_kept_are_said() -> None:
    assert change("sum_on_device", step(SYNC, "total += loss.item()  #!")).behaviour
    assert change("keep_on_device", step(SYNC, "losses.append(loss.item())  #!")).behaviour


def test_a_choice_keeps_no_history() -> None:
    after = fixed(
        "choose_on_device",
        f"{HEAD}def f(data, device):\n    best = torch.full((), 9.0).to(device)\n"
        "    for x in data:\n        loss = g(x)\n        if loss < best:  #!\n"
        "            best = loss\n    return best.item()\n",
    )
    assert "best = torch.where(loss < best, loss.detach(), best)\n" in after


def test_a_read_below_a_loop_that_may_not_run_stays_with_its_use() -> None:
    text = "def f(data):\n    for x in data:\n        v = h(x).item()  #!\n    g()\n    return v\n"
    assert "    g()\n    v = v.item()\n    return v\n" in fixed("read_where_used", text)
    assert refusal("read_where_used", text.replace("return v", "if data: return v"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("µ = 1\n", "Python reads `µ` in line 1 as `μ`"),
        ("from x import *\n", "`from x import *` in line 1 may give any name another meaning"),
        ("x = 1\nexec(y)\n", "`exec(…)` in line 2 may use any variable"),
    ],
)
def test_a_file_in_which_names_or_positions_are_not_certain(text: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        Source(Path("/project/train.py"), text)
    assert refused.value.reason == reason


def test_edits_are_at_the_lines_that_python_sees() -> None:
    text = "PAGE = 'a\fb\u2028c\x1d'\nx = 1\ny = 2\n"
    source = Source(Path("/project/train.py"), text)
    assert applied(text, [source.delete(source.module.body[1])]) == text.replace("x = 1\n", "")
    marked = Source(Path("/project/train.py"), "\ufeff" + text)
    edit = marked.replace(marked.module.body[0], "z")
    assert applied(marked.text, [edit]) == "\ufeffz\nx = 1\ny = 2\n"


@pytest.mark.parametrize(
    "head",
    [
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n",
        '#!/usr/bin/env python\n"""Trains."""\nfrom __future__ import annotations\n',
    ],
)
def test_an_import_is_below_what_has_to_be_first(head: str) -> None:
    source = Source(Path("/project/train.py"), f"{head}x = 1\n")
    name, edits = source.import_of("torch_xla")
    assert name == "torch_xla"
    assert applied(source.text, edits) == f"{head}import torch_xla\nx = 1\n"


def test_an_import_that_the_file_has_under_try_is_used() -> None:
    text = "try:\n    import torch_xla\nexcept ImportError:\n    raise\nx = 1\n"
    assert Source(Path("/project/train.py"), text).import_of("torch_xla") == ("torch_xla", ())


def test_a_name_that_means_something_else_is_no_module() -> None:
    source = Source(Path("/project/train.py"), "def f(torch):\n    return torch\n")
    with pytest.raises(Refused, match="`torch` is a name of the program"):
        source.import_of("torch")


def test_a_data_set_that_fills_a_cache_of_the_module_has_no_workers() -> None:
    text = """
        from torch.utils.data import DataLoader, Dataset
        CACHE = {}

        class Squares(Dataset):
            def __getitem__(self, index):
                return CACHE.setdefault(index, index * index)

        loader = DataLoader(Squares(), 3)  #!
        """
    assert "`CACHE`" in refusal("loader_workers", text)


@pytest.mark.parametrize("body", ["v + np.random.rand()", "print('step') or v"])
def test_what_happens_whenever_a_loop_is_traced_is_not_left_to_the_first_time(body: str) -> None:
    text = f"""
        import jax
        import numpy as np

        def train(w, data):
            for x in data:
                w = jax.lax.fori_loop(0, 3, lambda i, v: {body}, w)  #!
        """
    assert "traced" in refusal("jit_around_control_flow", text, "jax")


def test_a_view_of_what_the_loop_changes_is_sent_each_time() -> None:
    text = """
        import torch
        TABLE = torch.ones(4)
        ARRAY = TABLE.numpy()
        for x in data:
            sent = torch.from_numpy(ARRAY).to(device)  #!
            use(sent)
            TABLE[0] += 1
        """
    assert "`TABLE`" in refusal("send_once", text)


def test_a_product_that_may_not_fit_into_32_bits_stays_static() -> None:
    text = """
        import jax
        from functools import partial

        @partial(jax.jit, static_argnums=1)
        def update(w, n):
            return w * (n * 70000) * 70000

        for step in range(9):
            w = update(w, step)  #!
        """
    cause = {"argument": "n", "compiled": "update", "was": "1", "now": "2"}
    assert "32 bits" in refusal("argument_not_static", text, "jax", **cause)


def test_a_property_of_an_attribute_is_not_left_out() -> None:
    text = """
        import torch
        from counts import Count

        class Model(torch.nn.Module):
            def __init__(self):
                self.count = Count()

            def forward(self, x):
                print(self.count.following)  #!
                return x
        """
    assert "count.following" in refusal("without_print", text, "torch")


def test_a_data_set_that_the_loop_changes_has_no_workers() -> None:
    text = """
        from torch.utils.data import DataLoader, Dataset

        class Squares(Dataset):
            def __getitem__(self, index):
                return self.rate * index

        data = Squares()
        loader = DataLoader(data, 3)  #!
        for batch in loader:
            data.rate = 2
        """
    assert "changed in line" in refusal("loader_workers", text)


def test_what_a_loop_of_the_module_sets_is_an_argument_of_what_is_compiled() -> None:
    text = """
        import jax
        w = start()
        for x in data:
            w = jax.lax.scan(lambda c, r: (c + r, None), w, x)[0]  #!
        """
    assert "def run_scan(w, x):" in fixed("jit_around_control_flow", text, "jax")


def _reason_of_roll(line: str) -> str:
    return refusal("number_as_tensor", f"import torch\nx = torch.ones(4)\n{line}  #!\n")


@pytest.mark.parametrize(
    "line",
    [
        "y = [torch.roll(x, n, 0) for n in range(3)]",
        "y = lambda n: torch.roll(x, n, 0)",
        "y = torch.roll(x, n, 0) if n else x",
        "y = (x := x + 1).sum() + torch.roll(x, n, 0)",
    ],
)
def test_places_of_a_roll_are_computed_where_it_is_called_once(line: str) -> None:
    assert _reason_of_roll(line) == "its places cannot be computed before its statement"


def test_a_power_of_a_number_is_no_tensor() -> None:
    text = (
        "import torch\ngamma = 0.9\nfor step, x in enumerate(data):\n    y = x * gamma**step  #!\n"
    )
    assert refusal("number_as_tensor", text) == "`gamma` is a number"


def test_a_variable_that_other_functions_see_is_more_than_read() -> None:
    text = (
        f"{HEAD}def f(data, device):\n    global best\n    best = torch.full((), 9.0).to(device)\n"
        "    for x in data:\n        loss = g(x)\n        if loss < best:  #!\n"
        "            best = loss\n    return best.item()\n"
    )
    assert refusal("choose_on_device", text) == "`best` may be used with its gradient"
    text = (
        f"{HEAD}total = 0.0\ndef f(data):\n    global total\n    for x in data:\n"
        "        loss = g(x)\n        loss.backward()\n        total += loss  #!\n"
    )
    assert change("detached_state", text).behaviour


@pytest.mark.parametrize(
    "lines", ["every = 5\n    if step % every == 0:\n        g()", "seen = 0\n    seen += 1"]
)
def test_a_condition_is_known_where_it_is_asked(lines: str) -> None:
    text = f"for step, x in enumerate(data):\n    print(x.item())  #!\n    {lines}\n"
    assert "if step % 10 == 0:" in fixed("every_tenth_step", text)
    text = f"for x in data:\n    print(x.item())  #!\n    {lines.replace('step', 'len(x)')}\n"
    assert "if step % 10 == 0:" in fixed("every_tenth_step", text)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("every_tenth_step", "assert x.item() > 0"),
        ("without_print", "warnings.warn('odd')"),
        (
            "unchecked_norm",
            "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)",
        ),
    ],
)
def test_an_error_that_is_caught_is_raised(kind: str, line: str) -> None:
    text = (
        "import torch, warnings\ndef f(data, model):\n    for x in data:\n        try:\n"
        f"            {line}  #!\n        except Exception:\n            break\n"
    )
    assert refusal(kind, text) == "it is in the `try` in line 4"


def test_a_sum_is_not_made_of_a_type_that_is_an_argument() -> None:
    text = step("x = x.to(kind)", SYNC, "total += loss.item()  #!").replace("device)", "kind)", 1)
    assert "torch.zeros(1).to(torch_xla.device())" in fixed("sum_on_device", text)


def test_a_loss_that_is_not_reduced_by_place_has_dimensions() -> None:
    loss = "F.mse_loss(model(x), y, None, None, 'none')"
    after = fixed("sum_on_device", step(SYNC, "total += loss.item()  #!", loss=loss))
    assert "total += loss.detach().reshape(())\n" in after


def test_a_condition_that_sets_a_variable_stays() -> None:
    text = (
        "import torch_xla\nn = 0\nfor x in data:  #! loop\n    f(x)\n"
        "    if (n := n + 1) % 2 == 0:\n        torch_xla.sync()\n"
    )
    assert refusal("barrier_at_end", text) == "nothing else is in its block"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("if x < 1:\n        torch.save(state, 'best.pt')  #!", "line 3 decides"),
        ("torch.save(state, 'a.pt')  #!\n    f(torch.load('a.pt'))", "loads"),
    ],
)
def test_what_is_saved_by_a_condition_or_loaded_is_not_saved_by_the_clock(
    lines: str, reason: str
) -> None:
    assert reason in refusal("save_by_clock", f"import torch\nfor x in data:\n    {lines}\n")


LOADER = (
    "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Samples(Dataset):\n"
    "    count, last = 0, None\n    def __len__(self):\n        return 6\n"
    "    def __getitem__(self, i):\n        {}\n        return torch.tensor(i)\n{}"
    "samples = Samples()\nloader = DataLoader(samples, batch_size=2)  #!\n{}"
)
NET = (
    "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.turns = {}\n    def forward(self, x):\n"
    "        self.turns += 1  #!\n        return x * self.turns\n{}net = Net()\n{}"
)
TURNS = {"argument": "self.turns"}


@pytest.mark.parametrize(
    ("kind", "text", "reason", "cause"),
    [
        (
            "loader_workers",
            LOADER.format("self.add()", "    def add(self):\n        self.count += 1\n", ""),
            "`self.add()` in line 8 changes something for each sample",
            {},
        ),
        (
            "loader_workers",
            LOADER.format("self.last = i", "", "print(samples.last)\n"),
            "line 12 uses what its data set keeps, which workers do not send",
            {},
        ),
        (
            "loader_workers",
            LOADER.format("pass", "", "same = samples\n"),
            "its data set has another name in line 12",
            {},
        ),
        (
            "loader_workers",
            LOADER.format("pass", "", "loader.dataset.count = 2\n"),
            "line 12 uses the data set of the loader, which workers have copies of",
            {},
        ),
        (
            "attribute_as_tensor",
            NET.format("0", "", "print(len(list(net.buffers())))\n"),
            "line 10 looks at the buffers of a module",
            TURNS,
        ),
        (
            "attribute_as_tensor",
            NET.format("0.5", "", "net.bfloat16()\n"),
            "line 10 may change the type of the buffer",
            TURNS,
        ),
        (
            "attribute_as_tensor",
            NET.format("0", "    def rate(self):\n        return self.turns * 0.1\n", ""),
            "line 10 returns a number from it, in rate()",
            TURNS,
        ),
        (
            "attribute_as_tensor",
            NET.format(
                "0", "    def show(self):\n        k = self.turns * 2\n        print(k)\n", ""
            ),
            "line 11 may need a number from it",
            TURNS,
        ),
        (
            "setting_removed",
            "import os, subprocess\nos.environ['XLA_IR_DEBUG'] = '1'  #!\n",
            "line 1 may start a process that looks at XLA_IR_DEBUG",
            {"setting": "XLA_IR_DEBUG", "works": False},
        ),
        (
            "optimizer_after_move",
            "import torch\nrates = iter([0.1, 0.2])\ndef f(device, model):\n"
            "    optimizer = torch.optim.SGD(model.parameters(), lr=next(rates))\n"
            "    decay = next(rates)\n    model.to(device)\n"
            "    for x in range(2):\n        optimizer.step()  #!\n",
            "`next(rates)` may do more than compute a value (line 4)",
            {},
        ),
    ],
)
def test_what_others_see_of_a_change_is_refused(
    kind: str, text: str, reason: str, cause: dict[str, Any]
) -> None:
    assert refusal(kind, text, **cause) == reason


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (
            "jit_function",
            "def update(w, x):\n    n = len(x)  #!\n    return w - x.mean(), n\n"
            "for x in data:\n    w, n = update(w, x)\n",
            "line 4 returns a number of Python, which becomes an array",
        ),
        (
            "jit_function",
            "def update(w, x):\n    x *= 0.5  #!\n    return w - x.mean()\n"
            "for x in data:\n    w = update(w, x)\n",
            "update changes its argument in line 3",
        ),
        (
            "jit_loop_body",
            "for x in data:\n    x *= 0.5  #!\n    w = w - 0.1 * x.mean()\n",
            "`x *= 0.5` may change the batch in place",
        ),
        (
            "wait_below_loop",
            "import numpy as np\nbuffer = np.zeros(4)\nfor step in range(9):\n"
            "    buffer.fill(step)\n    y = f(buffer)\n    y.block_until_ready()  #!\n",
            "`buffer` may be changed in line 5, while the device may use it",
        ),
        (
            "jit_before_loop",
            "for x in data:\n    f = jax.jit(lambda w: w * 2)  #!\n    w = f(w)\n"
            "print(callable(f))\n",
            "f is used after the loop, which may not run",
        ),
    ],
)
def test_what_jax_would_compute_otherwise_is_refused(kind: str, text: str, reason: str) -> None:
    assert refusal(kind, f"import jax\n{text}", "jax") == reason
