"""Programs for kinds that change functions and modules, which a framework compiles."""

from __future__ import annotations

from tests.differential.grammar import Text, fill, program
from tests.differential.judge import Program

_TORCH = "import torch\nfrom lab import Count, Meter"
_JAX = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom lab import Meter, make"
_MODULE = """
    $imports

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

    $helpers

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
    """


def _module(text: Text, init: str, forward: str, frontend: str, **more: str) -> str:
    """A program that runs a module of torch some times; more are parts of the template."""
    used = text.pick("torch.compile(model) | model | torch.compile(model, dynamic=True)")
    parts = {
        "imports": "\n".join([_TORCH, *text.imports]),
        "init": init,
        "first": text.maybe("print('forward', tuple(x.shape)) | x = x * 2", 3),
        "forward": forward,
        "last": text.pick("return x | return x | return x.sum() | return x.detach()"),
        "helpers": "\n".join(text.helpers),
        "compiled": used,
        "count": text.pick("3 | 3 | 1 | 0 | 5"),
        "before": "",
        "after": text.maybe("print(step) | if step == 1:\n    break", 2),
        "shown": "dict(model.state_dict())",
    }
    del frontend
    return fill(_MODULE, **(parts | more)) + "\n"


def attribute_as_tensor(text: Text) -> Program:
    init = text.pick("self.n = 0 | self.n = 1 | self.n = 0.5 | self.n = 2\nself.m = 3")
    forward = text.pick("""
        x = x * self.n\nself.n += 1  #! | self.n += 1  #!\nx = x / self.n |
        self.n = self.n + 1  #!\nx = x - self.n | self.n *= 2  #!\nx = x + self.n * 0.5 |
        x = torch.softmax(x / (self.n + 1), dim=1)  #!\nself.n -= 1 | x = x * self.n  #! |
        self.n += 1  #!\nx = x // self.n | n = self.n + 1  #!\nx = x * n\nself.n = n |
        self.n += 1  #!\nx = x[: self.n + 1] |
        kept = 7 / (self.n + 1)  #!\nx = x + kept\nself.n += 1 |
        x = x * (self.n + 1)  #!\nself.n += 1\nprint(self.n + 0)
    """)
    after = text.maybe("model.n = step * 2 | print(model.n) | model.n += 1", 9)
    shown = text.pick("dict(model.state_dict()) | 0 | 0 | 0 | 0 | model.n + 1")
    frontend = text.pick("torch | torch_xla")
    made = _module(text, init, forward, frontend, after=after, shown=shown)
    return program(text, made, frontend, 0, argument="self.n")


def extreme_on_device(text: Text) -> Program:
    name, other = text.one_of(("max", "amax"), ("min", "amin"))
    init = text.pick("""
        self.top = 0.0 | self.top = 0 | self.top = -1.5 | self.top = float('-inf')
    """)
    read = text.one_of(
        f"x.{other}().item()",
        f"x.{other}().item()",
        "x[0].sum().item()",
        f"x.{other}(0)[0].item()",
        f"x.{other}(keepdim=True).item()",
        "x.argmax().item()",
    )
    both = text.one_of(f"self.top, {read}", f"{read}, self.top")
    forward = f"self.top = {name}({both})  #!"
    after = text.maybe("print(model.top) | if step == 1:\n    break", 3)
    made = _module(text, init, forward, "torch", after=after, shown=text.pick("0 | 0 | model.top"))
    return program(text, made, "torch", 0)


def without_print(text: Text) -> Program:
    text.imports.append("import logging\nlog = logging.getLogger('model')")
    line = text.pick("""
        print('mean', x.mean().item())  #! | print(f'{x.sum():.3f}', x.shape)  #! |
        log.info('sum %s', x.sum())  #! | logging.warning('odd')  #! |
        print(self.count(), x.max())  #! | print(self.seen.pop(), x.max())  #! |
        print(self.count.following)  #! | print(x.mul_(2).sum())  #! |
        print(*self.shown(x))  #! | print(torch.rand(1))  #! | print(self.seen[9])  #! |
        print(x.sum(), file=self.file)  #!
    """)
    where = text.one_of(
        line,
        line,
        f"if self.verbose:\n    {line}",
        f"if self.count() > 2:\n    {line}",
        f"if self.count.following > 1:\n    {line}",
        f"for row in x:\n    {line}",
    )
    init = "self.count, self.seen, self.verbose = Count(), [1, 2, 3, 4, 5, 6], True"
    if "file" in line:
        init += "\nself.file = open('out.txt', 'a', buffering=1)"
    if "shown" in line:
        text.helpers.append("def shown(self, x):\n    yield self.count()\nModel.shown = shown")
    made = _module(text, init, where, "torch", shown="model.count.number, model.seen")
    frontend = text.pick("torch | torch_xla")
    return program(text, made, frontend, 0, ("lines", "errors"))


def free_shapes(text: Text) -> Program:
    call = text.pick("""
        torch.compile(model, dynamic=False) |
        torch.compile(model, dynamic=False, fullgraph=True) |
        torch.compile(model, backend='eager', dynamic=False) |
        torch.compile(\n    model,\n    dynamic=False,\n) | torch.compile(model, dynamic=FIXED) |
        torch.compile(dynamic=False)(model) | torch.compile(model, **{'dynamic': False})
    """)
    text.imports.append("FIXED = False")
    before = text.maybe("x = x[: step + 1]", 1)
    made = _module(text, "", "x = x.relu()  #!", "torch", compiled=call, before=before)
    return program(text, made, "torch", 0)


def masked_reduction(text: Text) -> Program:
    mask = text.pick("""
        x > 0 | x.isfinite() | ~(x < 0) | (x > -1) & (x < 1) | y > 0 | x[0] > 0 | x > 99 | x != x
    """)
    named = text.chance(2)
    given = "mask" if named else mask
    call = text.one_of(
        f"x[{given}].sum()",
        f"x[{given}].mean()",
        f"x.masked_select({given}).mean()",
        f"2 ** x[{given}].mean()",
        f"x[{given}].max()",
        f"torch.nn.functional.mse_loss(x[{given}], y[{given}])",
        f"torch.nn.functional.l1_loss(x[{given}], y[{given}], reduction='sum')",
        f"torch.nn.functional.smooth_l1_loss(x[{given}], y[{given}], beta=0.5)",
    )
    bad = text.maybe(
        """
        x = x / 0 | x = x.long() | x = x.double() | x = x[:3] | x = x[0] | x = x * 1e38 * 10 |
        y = y[:1] | y = y.double()
    """,
        2,
    )
    lines = [
        "y = x.roll(1, 0)",
        bad,
        f"mask = {mask}" if named else "",
        text.maybe("x = x + 1", 3) if named else "",
        f"x = {call}  #!",
    ]
    if "long()" in bad and "mean" in call:  # fails before
        lines[1] = ""
    made = _module(text, "", "\n".join(filter(None, lines)), "torch_xla", last="return x")
    return program(text, made, "torch_xla", 0)


# -- functions of JAX ------------------------------------------------------------------------

_LOOP = """
    $imports
    $helpers

    $module

    def train():
        w, data = make()
        kept = []
        $start
        for step, x in enumerate(data):
            $first
            $body
            kept.append(w)
            $last
        $after
        return kept, $shown


    result = train()
    """


def _trained(text: Text, body: str, **parts: str) -> str:
    given = {
        "imports": "\n".join([_JAX, *text.imports]),
        "helpers": "",
        "module": "\n".join(text.helpers),
        "start": "\n".join(text.starts),
        "first": text.maybe("print(step) | x = x * 2 | w = w + 1", 5),
        "body": body,
        "last": text.maybe("if step == 1:\n    break | x = x + 1", 5),
        "after": "",
        "shown": ", ".join(["w", *text.shown]),
    }
    code = fill(_LOOP, **(given | parts)) + "\n"
    return code if text.chance(2) else _at_the_top(code)


def _at_the_top(code: str) -> str:
    """The same without a function."""
    head, _, body = code.partition("def train():\n")
    lines = [line.removeprefix("    ") for line in body.partition("\n\n\nresult")[0].splitlines()]
    return head + "\n".join(lines).replace("\nreturn ", "\nresult = ") + "\n"


_COUNTS = (3, 3, 1, 0, 4)


def jit_before_loop(text: Text) -> Program:
    text.helpers += ["RATE = 0.5", "def update(w, x):\n    return w - 0.1 * RATE * x.mean()\n"]
    text.starts.append("scale, scales = 0.5, [0.5]")
    body = text.pick("""
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
    """)
    extra = text.maybe("scale = scale * 2 | scales[0] = step | f = None", 6)
    body = f"{body}\n{extra}" if extra else body
    after = text.maybe("print(f)", 6) if "f = jax" in body else ""
    return program(text, _trained(text, body, after=after), "jax", text.one_of(*_COUNTS))


def jit_around_control_flow(text: Text) -> Program:
    text.helpers += ["K = 3", "def body(c, r):\n    return c + r.mean(), c\n"]
    text.starts.append("rates, n = [0.5], 3")
    body = text.pick("""
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
    """)
    return program(text, _trained(text, body), "jax", text.one_of(*_COUNTS))


def jit_function(text: Text) -> Program:
    line = text.pick("""
        y = jnp.tanh(w) + x.mean()  #! | y = jnp.where(w > 0, w, 0) - jnp.sum(x, axis=0)  #! |
        y = w.at[0].set(x[0, 0])  #! | y = w * jnp.arange(4) * RATE  #! | y = w * STATE[0]  #! |
        y = w + helper(x)  #! | y = w + np.sum(x)  #! | y = w * float(x.sum())  #!
    """)
    extra = text.maybe(
        """
        print('called') | CALLS.append(1) | y = y if y[0] > 0 else -y |
        y = y + np.random.rand() | STATE[0] += 1 | assert y.ndim == 1
    """,
        5,
    )
    returned = text.pick("y | y | y * 2 | y.sum() + y | (y, None)[0]")
    lines = [line, extra, f"return {returned}"]
    inner = "\n".join(f"    {each}" for each in lines if each)
    text.helpers += [
        "RATE, STATE, CALLS = 0.5, [1.0], []",
        "def helper(x):\n    return jnp.mean(x) * RATE\n",
        f"def update(w, x):\n{inner}\n",
    ]
    text.shown.append("len(CALLS)")
    body = text.pick("""
        w = update(w, x) | w = update(w, jnp.asarray(x)) | w = update(w, x) * 1.5 |
        w = update(w, x)\nSTATE[0] = STATE[0] * 2
    """)
    return program(text, _trained(text, body), "jax", text.one_of(*_COUNTS))


def jit_loop_body(text: Text) -> Program:
    text.helpers += [
        "RATE, CALLS = 0.5, []",
        "def loss_of(w, x):\n    return ((x @ w - 1) ** 2).mean()\n",
        "gradient = jax.grad(loss_of)",
    ]
    text.starts.append("m, total = jnp.zeros(4), jnp.zeros(())")
    lines = [
        text.pick("""
            g = jax.grad(loss_of)(w, x)  #! | g = gradient(w, x)  #! |
            g = jnp.sin(w) * RATE  #! | g = w * step  #! | g = w / len(kept + [1])  #!
        """),
        text.pick("""
            m = 0.9 * m + g | m, old = m * 0.9 + g, m | m += g | m = m + np.random.rand() |
        """),
        text.pick("""
            w = w - 0.1 * m | w = w - 0.1 * m | w -= 0.1 * g | w = jnp.where(w > 0, w, m)
        """),
        text.maybe("total += g.sum() | CALLS.append(total) | print(float(w[0]))", 2),
    ]
    text.shown += ["m", "total"]
    body = "\n".join(filter(None, lines))
    return program(text, _trained(text, body, first=""), "jax", text.one_of(*_COUNTS))


def value_before_loop(text: Text) -> Program:
    noted = "MADE.append(rate); " if text.chance(3) else ""
    text.helpers += [
        "from functools import partial\nMADE = []",
        f"class Config:\n    def __init__(self, rate):\n        {noted}self.rate = rate\n",
        "@partial(jax.jit, static_argnums=2)\ndef step_by(w, x, config):\n"
        "    return config(w) if callable(config) else w * config.rate\n",
    ]
    text.starts.append("scale, scales = 0.5, [0.5]")
    value = text.pick("""
        Config(0.5) | Config(rate=0.5) | lambda v: jnp.tanh(v) | partial(jnp.add, 1.0) |
        Config(step) | Config(scale) | lambda v: v * scale | lambda v: v * scales[-1] |
        Config(len(kept)) | type('C', (), {'rate': 0.5})() | Config(np.random.rand())
    """)
    body = text.one_of(
        f"w = step_by(w, x, {value})  #!",
        f"c = {value}\nw = step_by(w, x, c)  #!",
        f"w = step_by(w, x, config={value})  #!",
        f"c = {value}\nw = step_by(w, x, c)  #!\nprint(type(c).__name__)",
    )
    extra = text.maybe("scale = scale * 2 | scales.append(step) | c = None", 6)
    body = f"{body}\n{extra}" if extra else body
    text.shown.append("len(MADE)")
    made = _trained(text, body)
    return program(text, made, "jax", text.one_of(*_COUNTS), argument="config", compiled="step_by")


def argument_not_static(text: Text) -> Program:
    decorator = text.pick("""
        @partial(jax.jit, static_argnums=2) | @partial(jax.jit, static_argnames='n') |
        @partial(jax.jit, static_argnames=('n',)) | @jax.jit(static_argnums=(2,)) |
        @partial(jax.jit, static_argnums=(2, 3))
    """)
    line = text.pick("""
        rate = 0.05 / (1 + n) | rate = 0.1 * n | rate = jnp.exp(-n) | rate = n ** 2 |
        rate = n // 2 | rate = n % 3 | rate = 0.1 if n > 1 else 0.2 | rate = sum(range(n)) |
        rate = jnp.ones(4)[n] | rate = x[:n].sum() | rate = 2 ** n | rate = int(n) |
        rate = 10.0 ** n | rate = -n / 7 | rate = jnp.maximum(n, 2) | rate = 1 / n |
        rate = (n * 70000) * 70000 / 1e9 | rate = n and 1
    """)
    text.helpers += [
        "from functools import partial",
        f"{decorator}\ndef update(w, x, n, k=1):\n    {line}\n    return w - rate * x.mean() * k\n",
    ]
    body = text.pick("""
        w = update(w, x, step)  #! | w = update(w, x, n=step)  #! |
        w = update(w, x, step * 0.5)  #! | w = update(w, x, step, 2)  #! |
        w = update(w, x, step - 2)  #!
    """)
    cause = {"argument": "n", "compiled": "update", "was": "1", "now": "2"}
    return program(text, _trained(text, body), "jax", text.one_of(*_COUNTS), **cause)


def typed_state(text: Text) -> Program:
    text.helpers.append("@jax.jit\ndef mean_of(mean, x):\n    return 0.9 * mean + x.mean()\n")
    start = text.pick("""
        mean = 0.0  #! | mean = 0  #! | mean = -1  #! | mean = jnp.asarray(0.5)  #! |
        mean: float = 1e-3  #! | mean = jnp.full(4, 0.1)  #! | mean = jnp.array(3)  #! |
        mean, n = 0.0, w  #! | mean = 0.1 + 0.2  #! | mean = n = 0.5  #!
    """)
    text.starts.append(start)
    body = text.one_of(
        "mean = mean_of(mean, x)",
        "mean = mean_of(mean, x)\nw = w * mean",
        "mean = mean_of(mean, x)\nprint(float(mean.sum()))"
        if "full" in start
        else "mean = mean_of(mean, x)",
    )
    after = text.maybe(
        """
        print(float(jnp.sum(mean))) | print(mean) | print(f'{mean:.2f}')
    """,
        3,
    )
    text.shown.append(text.pick("jnp.asarray(mean) | mean"))
    made = _trained(text, body, after=after)
    return program(text, made, "jax", text.one_of(*_COUNTS), argument="mean")
