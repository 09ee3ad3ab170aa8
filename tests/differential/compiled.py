"""Programs for kinds that change functions and modules, which a framework compiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.differential.grammar import Kind, Rules
from tests.differential.training import PLACES

_MODULE: Rules = {
    "program": """
        import torch
        from lab import Count, Meter
        $MODULE

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)
                $init

            def forward(self, x):
                $first
                x = self.linear(x)
                $forward
                $last

        $module
        model = Model()
        model = $compiled
        kept = []
        for step in range($count):
            x = torch.arange(16.0).reshape(4, 4) / (step + 1)
            $before
            y = model(x)
            kept.append(y)
            $after
        result = (kept, $shown)
    """,
    "compiled": "torch.compile(model) | model | torch.compile(model, dynamic=True)",
    "count": "2* 3 | 1 | 0 | 5",
    "first": "3* | print('forward', tuple(x.shape)) | x = x * 2",
    "last": "2* return x | return x.sum() | return x.detach()",
    "after": "3* | print(step) | if step == 1:\n    break",
    "shown": "dict(model.state_dict())",
}
_ATTRIBUTE = {
    "init": "self.n = 0 | self.n = 1 | self.n = 0.5 | self.n = 2\nself.m = 3",
    "forward": """
        x = x * self.n\nself.n += 1  #! | self.n += 1  #!\nx = x / self.n | x = x * self.n  #! |
        self.n = self.n + 1  #!\nx = x - self.n | self.n *= 2  #!\nx = x + self.n * 0.5 |
        x = torch.softmax(x / (self.n + 1), dim=1)  #!\nself.n -= 1 |
        self.n += 1  #!\nx = x // self.n | n = self.n + 1  #!\nx = x * n\nself.n = n |
        self.n += 1  #!\nx = x[: self.n + 1] | y = 7 / (self.n + 1)  #!\nx = x + y\nself.n += 1 |
        x = x * (self.n + 1)  #!\nself.n += 1\nprint(self.n + 0)
    """,
    "after": "9* | model.n = step * 2 | print(model.n) | model.n += 1",
    "shown": "5* 0 | dict(model.state_dict()) | model.n + 1",
}
_EXTREME = {
    "init": "2* self.top = 0.0 | self.top = 0 | self.top = -1.5 | self.top = float('-inf')",
    "forward": """
        self.top = $choice(self.top, $read.item())  #! |
        self.top = $choice($read.item(), self.top)  #!
    """,
    "choice": "max | min",
    "read": """
        2* x.amax() | x.amin() | x[0].sum() | x.amax(0)[0] | x.amax((0, 1), keepdim=True) |
        x.argmax()
    """,
    "after": "3* | print(model.top) | if step == 1:\n    break",
    "shown": "5* 0 | model.top",
}
_PRINTED = {
    "init": "self.count, self.seen, self.verbose = Count(), [1, 2, 3, 4, 5, 6], True",
    "forward": """
        3* $line  #! | if self.verbose:\n    $line  #! | if self.count() > 2:\n    $line  #! |
        if self.count.following > 1:\n    $line  #! | for row in x:\n    $line  #!
    """,
    "line": """
        2* print('mean', x.mean().item()) | 2* print(f'{x.sum():.3f}', x.shape) |
        log.info('sum %s', x.sum()) | log.warning('odd') | print(self.count(), x.max()) |
        print(self.seen.pop(), x.max()) | print(self.count.following) | print(x.mul_(2).sum()) |
        print(*map(self.seen.append, [1])) | print(torch.rand(1)) | print(self.seen[9]) |
        print(x.sum(), file=open('out.txt', 'a', buffering=1))
    """,
    "module": "import logging\n\nlog = logging.getLogger('model')",
    "shown": "model.count.number, model.seen",
}
_FREE = {
    "module": "FIXED = False",
    "forward": "x = x.relu()  #!",
    "compiled": """
        2* torch.compile(model, dynamic=False) | torch.compile(model, dynamic=False, mode=None) |
        torch.compile(model, mode=None, dynamic=False) | torch.compile(dynamic=False)(model) |
        torch.compile(\n    model,\n    dynamic=False,\n) | torch.compile(model, dynamic=FIXED) |
        torch.compile(model, **{'dynamic': False})
    """,
    "before": " | x = x[: step + 1]",
}
_MASKED = {
    "forward": "y = x.roll(1, 0)\n$bad\n$named\n$changed\nx = $reduced  #!",
    "named": "mask = $test",
    "test": """
        6* x > 0 | 2* x.isfinite() | ~(x < 0) | (x > -1) & (x < 1) | y > 0 | x[0] > 0 | x > 99 |
        x != x
    """,
    "given": "mask | $test",
    "reduced": """
        2* x[$given].sum() | x[$given].mean() | x.masked_select($given).mean() |
        2 ** x[$given].mean() | x[$given].max() | F.mse_loss(x[$given], y[$given]) |
        F.l1_loss(x[$given], y[$given], reduction='sum') |
        F.smooth_l1_loss(x[$given], y[$given], beta=0.5)
    """,
    "bad": """
        4* | x = x / 0 | x = x.double() | x = x[:3] | x = x[0] | x = x * 1e38 * 10 | y = y[:1] |
        y = y.double()
    """,
    "changed": "4* | x = x + 1",
    "last": "return x",
    "module": "import torch.nn.functional as F",
}

# -- functions of JAX ------------------------------------------------------------------------

_LOOP: Rules = PLACES | {
    "program": """
        import jax
        import jax.numpy as jnp
        import numpy as np
        from functools import partial
        from lab import Meter, make
        $MODULE
        $module

        $place
    """,
    "place": "2* $function | $top",
    "body": """
        w, data = make()
        kept = []
        $start
        for step, x in enumerate(data):
            $first
            $target
            $extra
            kept.append(w)
            $late
        $after
    """,
    "first": "5* | print(step) | x = x * 2 | w = w + 1",
    "late": "5* | if step == 1:\n    break | x = x + 1",
    "always": "w, kept",
}
_BEFORE = {
    "module": "RATE = 0.5\n\n\ndef update(w, x):\n    return w - 0.1 * RATE * x.mean()\n",
    "start": "scale, scales = 0.5, [0.5]",
    "target": """
        f = jax.jit(update)  #!\nw = f(w, x) | w = jax.jit(update)(w, x)  #! |
        f = jax.jit(lambda w: update(w, x))  #!\nw = f(w) |
        w = jax.jit(lambda w: w * scale + x.sum())(w)  #! |
        f = jax.jit(lambda w, x: w * step)  #!\nw = f(w, x) |
        f = jax.jit(lambda w, x: w * scales[0])  #!\nw = f(w, x) |
        f = jax.jit(lambda w, x: w * scales[-1])  #!\nw = f(w, x)\nscales.append(step) |
        @jax.jit  #!\ndef f(w):\n    return w + x.mean()\nw = f(w) |
        @jax.jit  #!\ndef f(w):\n    print('traced')\n    return w + x.mean()\nw = f(w) |
        f = jax.jit(update)  #!\ntwice = f\nw = twice(w, x) |
        f = jax.jit(update if step % 2 else jnp.add)  #!\nw = f(w, x[0]) |
        f = jax.jit(lambda w: w + len(kept))  #!\nw = f(w)
    """,
    "extra": "6* | scale = scale * 2 | scales[0] = step | f = None",
    "after": "9* | print(callable(f))",
}
_CONTROL = {
    "module": "K = 3\n\n\ndef body(c, r):\n    return c + r.mean(), c\n",
    "start": "rates, n = [0.5], 3",
    "target": """
        w, _ = jax.lax.scan(lambda c, r: (0.9 * c + r.mean(), None), w, x)  #! |
        w, seen = jax.lax.scan(body, w, x)  #! |
        w = jax.lax.fori_loop(0, K, lambda i, v: v * 0.5, w)  #! |
        w = jax.lax.fori_loop(0, n, lambda i, v: v * 0.5 + x[0, 0], w)  #! |
        w = jax.lax.cond(w[0] > 0.9, lambda v: v * 0.5, lambda v: v + 1, w)  #! |
        w = jax.lax.cond(step > 1, lambda v: v * 0.5, lambda v: v + 1, w)  #! |
        w = jax.lax.while_loop(lambda v: v.sum() < 9, lambda v: v + 1, w)  #! |
        w, _ = jax.lax.scan(lambda c, r: (c * rates[-1], None), w, x)  #!\nrates.append(0.1) |
        w = jax.lax.cond(w[0] > 0, lambda v: v, lambda v: print('traced') or v, w)  #! |
        w = jax.lax.fori_loop(0, K, lambda i, v: v + np.random.rand(), w)  #! |
        w, _ = jax.lax.scan(body, w, x, length=len(x))  #! |
        w, _ = jax.lax.scan(body, w, data[0])  #!
    """,
}
_FUNCTION = {
    "module": """
        RATE, STATE, CALLS = 0.5, [1.0], []

        def helper(x):
            return jnp.mean(x) * RATE

        def update(w, x):
            y = $computed  #!
            $effect
            return $returned
    """,
    "computed": """
        jnp.tanh(w) + x.mean() | jnp.where(w > 0, w, 0) - jnp.sum(x, axis=0) | w * STATE[0] |
        w.at[0].set(x[0, 0]) | w * jnp.arange(4) * RATE | w + helper(x) | w + np.sum(x) |
        w * float(x.sum())
    """,
    "effect": """
        5* | print('called') | CALLS.append(1) | y = y if y[0] > 0 else -y | STATE[0] += 1 |
        y = y + np.random.rand() | assert y.ndim == 1
    """,
    "returned": "2* y | y * 2 | y.sum() + y | (y, None)[0]",
    "target": """
        2* w = update(w, x) | w = update(w, jnp.asarray(x)) | w = update(w, x) * 1.5 |
        w = update(w, x)\nSTATE[0] = STATE[0] * 2
    """,
    "shown": "len(CALLS)",
}
_BODY = {
    "module": """
        RATE, CALLS = 0.5, []

        def loss_of(w, x):
            return ((x @ w - 1) ** 2).mean()

        gradient = jax.grad(loss_of)
    """,
    "start": "m, total = jnp.zeros(4), jnp.zeros(())",
    "first": "",
    "target": "g = $g  #!\n$moved\n$stepped\n$more",
    "g": "jax.grad(loss_of)(w, x) | gradient(w, x) | jnp.sin(w) * RATE | w * step | w / len([1])",
    "moved": "m = 0.9 * m + g | m, old = m * 0.9 + g, m | m += g | m = m + np.random.rand() | ",
    "stepped": "2* w = w - 0.1 * m | w -= 0.1 * g | w = jnp.where(w > 0, w, m)",
    "more": "2* | total += g.sum() | CALLS.append(total) | print(float(w[0]))",
    "shown": "m, total",
}
_VALUE = {
    "module": """
        MADE = []

        class Config:
            def __init__(self, rate):
                $noted
                self.rate = rate

        @partial(jax.jit, static_argnums=2)
        def step_by(w, x, config):
            return config(w) if callable(config) else w * config.rate
    """,
    "noted": "2* | MADE.append(rate)",
    "start": "scale, scales = 0.5, [0.5]",
    "target": """
        w = step_by(w, x, $value)  #! | c = $value\nw = step_by(w, x, c)  #! |
        w = step_by(w, x, config=$value)  #! |
        c = $value\nw = step_by(w, x, c)  #!\nprint(type(c).__name__)
    """,
    "value": """
        Config(0.5) | Config(rate=0.5) | lambda v: jnp.tanh(v) | partial(jnp.add, 1.0) |
        Config(step) | Config(scale) | lambda v: v * scale | lambda v: v * scales[-1] |
        Config(len(kept)) | type('C', (), {'rate': 0.5})() | Config(np.random.rand())
    """,
    "extra": "6* | scale = scale * 2 | scales.append(step) | c = None",
    "shown": "len(MADE)",
}
_STATIC = {
    "module": """
        $decorator
        def update(w, x, n, k=1):
            rate = $rate
            return w - rate * x.mean() * k
    """,
    "decorator": """
        @partial(jax.jit, static_argnums=2) | @partial(jax.jit, static_argnames='n') |
        @partial(jax.jit, static_argnames=('n',)) | @jax.jit(static_argnums=(2,)) |
        @partial(jax.jit, static_argnums=(2, 3))
    """,
    "rate": """
        0.05 / (1 + n) | 0.1 * n | jnp.exp(-n) | n ** 2 | n // 2 | n % 3 | 0.1 if n > 1 else 0.2 |
        sum(range(n)) | jnp.ones(4)[n] | x[:n].sum() | 2 ** n | int(n) | 10.0 ** n | -n / 7 |
        jnp.maximum(n, 2) | 1 / n | (n * 70000) * 70000 / 1e9 | n and 1
    """,
    "target": """
        2* w = update(w, x, step)  #! | w = update(w, x, n=step)  #! |
        w = update(w, x, step, 2)  #! | w = update(w, x, step * 0.5)  #! |
        w = update(w, x, step - 2)  #!
    """,
}
_CAPTURED = {
    "module": """
        table = $made
        order = jnp.array([2, 0, 1])

        def helper():
            return table[0]

        $decorator
        def update(w, x$more):
            $before
            return w + 0.1 * $read
    """,
    "made": """
        3* jnp.arange(12.0).reshape(3, 4) | jnp.ones((3, 4))[:, ::-1] * 0.5 |
        np.arange(12.0, dtype=np.float32).reshape(3, 4) | [jnp.arange(4.0)]
    """,
    "decorator": """
        3* @jax.jit | @partial(jax.jit, donate_argnums=()) | @jax.jit(static_argnums=()) |
        @partial(jax.jit, static_argnames='k') | @partial(jax.jit, static_argnums=-1)
    """,
    "more": "5* | , k=2 | , *rest",
    "before": """
        4* | half = table * 0.5 | rows = len(table) | if table[0, 0] > 1:\n    w = w + 1 |
        table = x | row = [each for each in table][0] | print('traced')
    """,
    "read": """
        2* table.sum(0) | table[order[0]] | table[order].mean() * x.mean() | helper() |
        jnp.take(table, order, axis=0)[1] | float(table[0, 0]) | np.asarray(table).sum() |
        table.shape[0] | jnp.zeros(4) + table[1] | table[int(order[1])] | (lambda: table[2])()
    """,
    "target": """
        4* w = update(w, x)  #! | w = update(w, x=x)  #! | w = update(*(w, x))  #! |
        f = update\nw = f(w, x)  #! | w = update(update(w, x), x)  #! | w = [update][0](w, x)  #!
    """,
    "extra": "6* | table = None | kept = [*kept]",
}
_TYPED = {
    "module": "@jax.jit\ndef mean_of(mean, x):\n    return 0.9 * mean + x.mean()\n",
    "start": """
        mean = 0.0  #! | mean = 0  #! | mean = -1  #! | mean = jnp.asarray(0.5)  #! |
        mean: float = 1e-3  #! | mean = jnp.full(4, 0.1)  #! | mean = jnp.array(3)  #! |
        mean, n = 0.0, w  #! | mean = 0.1 + 0.2  #! | mean = n = 0.5  #!
    """,
    "target": "2* mean = mean_of(mean, x) | mean = mean_of(mean, x)\nw = w * mean",
    "after": "3* | print(float(jnp.sum(mean))) | print(mean) | print(f'{mean:.2f}')",
    "shown": "2* jnp.asarray(mean) | mean",
}


def cause(**given: Any) -> Callable[[Mapping[str, str]], dict[str, Any]]:
    """A finding's cause that is always the same."""

    def always(_: Mapping[str, str]) -> dict[str, Any]:
        return given

    return always


_COUNTS = (3, 3, 1, 0, 4)
_BOTH = "torch | torch_xla"
_DIVIDED, _ARRAY = {"ZeroDivisionError": "division by zero"}, {"types": "is an array"}
_OF_STATIC = cause(argument="n", compiled="update", was="1", now="2")
_OF_VALUE = cause(argument="config", compiled="step_by")
KINDS = {
    "attribute_as_tensor": Kind(_MODULE | _ATTRIBUTE, _BOTH, cause=cause(argument="self.n")),
    "extreme_on_device": Kind(_MODULE | _EXTREME, "torch"),
    "without_print": Kind(
        _MODULE | _PRINTED, _BOTH, declared={"lines": "no longer prints"}, needs={}
    ),
    "free_shapes": Kind(_MODULE | _FREE, "torch"),
    "masked_reduction": Kind(_MODULE | _MASKED),
    "jit_before_loop": Kind(_LOOP | _BEFORE, "jax", _COUNTS, needs={}),
    "jit_around_control_flow": Kind(_LOOP | _CONTROL, "jax", _COUNTS, needs={}),
    "jit_function": Kind(_LOOP | _FUNCTION, "jax", _COUNTS, needs={}),
    "jit_loop_body": Kind(_LOOP | _BODY, "jax", _COUNTS, needs={}),
    "value_before_loop": Kind(_LOOP | _VALUE, "jax", _COUNTS, cause=_OF_VALUE, needs={}),
    "argument_not_static": Kind(_LOOP | _STATIC, "jax", _COUNTS, _DIVIDED, _OF_STATIC, {}),
    "captured_as_argument": Kind(
        _LOOP | _CAPTURED, "jax", _COUNTS, cause=cause(compiled="update", arguments=["table"])
    ),
    "typed_state": Kind(_LOOP | _TYPED, "jax", _COUNTS, _ARRAY, cause(argument="mean"), {}),
}
