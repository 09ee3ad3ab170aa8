"""Programs for kinds that change a statement of a training loop."""

from __future__ import annotations

from tests.differential.grammar import Text, program
from tests.differential.judge import Program
from tests.differential.training import COUNTS, Target, loop

_TOTALS = (
    "total += loss.item()",
    "total += loss.item()",
    "total += float(loss)",
    "total += loss.item() * x.shape[0]",
    "total += loss.item() / 2",
    "total += (x > 0).sum().item()",
    "total += int((x > 0).sum())",
    "total += loss.item() * step",
    "total += loss.detach().cpu().item()",
    "total += x.mean().item()",
    "total += w.mean().item()",
)
_USES = (
    "",
    "",
    "print(total / 4)",
    "print(total, total)",
    "print(f'{total=}')",
    "mean = total / max(len(data), 1)\nprint(round(mean, 4))",
)
_INSIDE = (
    *("", "", "", ""),
    "if step % 5 == 4:\n    print(step, total)\n    total = 0.0",
    "if step % 2 == 0:\n    print(round(total, 3))",
    "if total > 3:\n    break",
    "bar.set_postfix(total=total)",
)


def _frontend(text: Text) -> str:
    return str(text.pick("torch_xla | torch_xla | jax"))


def sum_on_device(text: Text) -> Program:
    frontend, name = _frontend(text), "µ" if text.chance(12) else "total"
    code = text.one_of(*_TOTALS).replace(
        "w.mean", "model.weight.mean" * (frontend != "jax") or "w.mean"
    )
    inside = text.one_of(*_INSIDE)
    target = Target(
        f"{code}  #!",
        text.pick("""
            total = 0.0 | total = 0.0 | total = 0 | total, n = 0.0, 0 | total = 1.5
        """),
        text.one_of(*_USES),
        "total",
        inside,
    )
    if "bar." in inside:
        text.starts.append("bar = Bar(data)")
    made = loop(text, target, frontend).replace("total", name, 1 if name == "µ" else -1)
    if name == "µ":  # the sign and the letter are one identifier
        made = made.replace("total", "μ")
    return program(text, made, frontend, text.one_of(*COUNTS))


_KEPT = (
    "losses.append(loss.item())",
    "losses.append(loss.item())",
    "losses.append(float(loss))",
    "losses.append((x > 0).sum().item())",
    "losses.append(x.mean().item())",
    "losses.append(x[0, 0].item())",
    "losses.append(view[0].item())",
)


def keep_on_device(text: Text) -> Program:
    frontend = _frontend(text)
    code = text.one_of(*_KEPT)
    if "view" in code:
        view = (
            "view = w"
            if frontend == "jax"
            else text.pick("""
            view = model.bias | view = model.weight[0] | view = model.bias.data
        """)
        )
        code = f"{view}\n{code}"
    target = Target(
        f"{code}  #!",
        text.pick("losses = [] | losses = list() | losses = [0.5]"),
        text.maybe("print(losses) | print(max([*losses, 0]), len(losses))", 1),
        "losses",
        text.maybe("print(losses[-1]) | if step % 2 == 0:\n    print(losses)", 4),
    )
    if text.chance(4):
        sums = Target(
            f"{text.one_of(*_TOTALS)}  #!", text.pick("total = 0.0 | total = 3"), "", "total"
        )
        target = sums
    return program(text, loop(text, target, frontend), frontend, text.one_of(*COUNTS))


def read_where_used(text: Text) -> Program:
    frontend = _frontend(text)
    code = text.pick("""
        value = loss.item() | value = loss.item() | value = float(loss) |
        value = round(loss.item(), 3) | value = x.mean().item() |
        value = loss.item() + len(queue.get()) | value = meter.update(loss.item())
    """)
    for word, start in (("queue", "queue = names()"), ("meter", "meter = Meter()")):
        if word in code:
            text.starts.append(start)
            text.shown.append("queue.qsize()" if word == "queue" else "meter")
    below = text.chance(3)
    inside = text.pick("""
        if step % 5 == 0:\n    print(step, value) |
        if step % 2 == 0:\n    print(round(value, 3)) |
        if step % 2 == 1:\n    kept.append(value) |
        if step % 2 == 0 and value > 0.5:\n    print('high') |
        if step % 2 == 0:\n    x = x * 0\n    loss = loss * 2\n    print(value)
    """)
    if "kept" in inside:
        text.starts.append("kept = []")
        text.shown.append("kept")
    start = "value = None" if text.chance(6) else ""
    after = text.pick("print(value) | print(f'{value:.3f}')") if below else ""
    target = Target(f"{code}  #!", start, after, "", "" if below else inside)
    return program(text, loop(text, target, frontend), frontend, text.one_of(*COUNTS))


def replay_below_loop(text: Text) -> Program:
    frontend = _frontend(text)
    if frontend == "jax":
        code = text.pick("""
            right += (np.asarray(loss) > 0.5).sum() | right += float(np.asarray(loss).mean()) |
            right += np.asarray(x).sum() | meter.update(float(loss)) |
            meter.update(np.asarray(w).sum()) | meter.append(np.asarray(loss)) |
            meter.update(np.asarray(loss) + np.random.rand())
        """)
    else:
        code = text.pick("""
            right += (loss.cpu() > 0.5).sum().item() | right += x.sum().cpu().item() |
            meter.update(loss.detach().cpu().mean()) | meter.update(loss.cpu().sum().item()) |
            meter.update(model.bias.cpu().sum().item()) | meter.append(x.cpu().sum()) |
            meter.update((model(x).mean() + 1).cpu().item())
        """)
    name = "right" if "right" in code else "meter"
    start = {"right": "right = 0"}.get(
        name, "meter = []" if "append" in code else "meter = Meter()"
    )
    last = text.one_of(*([""] * 6), f"print({name})", "if step % 2 == 0:\n    x = x * 0")
    target = Target(f"{code}  #!", start, text.maybe("print('done')", 1), name, last)
    return program(text, loop(text, target, frontend), frontend, text.one_of(*COUNTS))


def every_tenth_step(text: Text) -> Program:
    frontend = _frontend(text)
    code = text.pick("""
        print(step, loss.item()) | print(f'{step} {loss.item():.4f}') |
        log.info('loss %.3f', float(loss)) | print(queue.get(), round(loss.item(), 3)) |
        print(meter.update(loss.item())) | bar.set_postfix(loss=float(loss)) |
        assert float(loss) >= 0 | print(next(numbers), float(loss)) |
        print(steps.pop() if steps else 0, float(loss)) | print(cache.get(step), float(loss))
    """)
    for word, start, shown in (
        ("log", "log = logging.getLogger('train')", ""),
        ("queue", "queue = names()", "queue.qsize()"),
        ("meter", "meter = Meter()", "meter"),
        ("bar", "bar = Bar(data)", ""),
        ("numbers", "numbers = iter(range(99))", "next(numbers)"),
        ("steps", "steps = list(range(99))", "steps"),
        ("cache", "cache = {1: 2}", "cache"),
    ):
        if word in code.split("loss")[0]:
            text.starts.append(start)
            text.shown += [shown] if shown else []
    if "log." in code:
        text.imports.append("import logging")
    last = text.maybe("if step % 5 == 0:\n    print('fifth', step)", 3)
    target = Target(f"{code}  #!", last=last)
    declared = ("lines", "errors")
    count = text.one_of(4, 11, 23, 1, 0)
    return program(text, loop(text, target, frontend), frontend, count, declared)


def choose_on_device(text: Text) -> Program:
    frontend = _frontend(text)
    zeros = "jnp.zeros(())" if frontend == "jax" else "torch.zeros((), device=device)"
    copy = "loss" if frontend == "jax" else "loss.detach()"
    start, code = text.one_of(
        (f"best = {zeros} + 9", f"if loss < best:  #!\n    best = {copy}"),
        (_full(frontend), f"if loss < best:  #!\n    best = {copy}"),
        (_full(frontend), "if loss < best:  #!\n    best = loss"),
        (_full(frontend), f"if loss < best:  #!\n    best = {copy}\nelse:\n    best = abs(best)"),
        (_full(frontend), f"if loss > best:  #!\n    best = {copy}\nelse:\n    best = best"),
        ("", f"if loss < 0.5:  #!\n    best = {copy}\nelse:\n    best = {copy} * 0.5"),
        ("", f"if loss < 0.5:  #!\n    best = {copy}\nelse:\n    best = 0.0"),
        ("", "if loss.max() < 0.5:  #!\n    best = x\nelse:\n    best = x * 2"),
        (_full(frontend), f"if loss < best:  #!\n    best = {copy}.clone()"),
        (_full(frontend), f"if counted() and loss < best:  #!\n    best = {copy}"),
    )
    if "counted" in code:
        text.helpers.append("def counted():\n    print('counted')\n    return True\n")
    target = Target(code, start, "", "best")
    if not start:
        target = Target(code, "best = None", "", "best", text.maybe("kept.append(best)", 1))
        text.starts.append("kept = []")
        text.shown.append("kept")
    return program(text, loop(text, target, frontend), frontend, text.one_of(*COUNTS))


def _full(frontend: str) -> str:
    if frontend == "jax":
        return "best = jnp.full((), 1e9)"
    return "best = torch.full((), 1e9, device=device)"


def detached_state(text: Text) -> Program:
    code = text.pick("""
        total += loss  #! | total += loss  #! | out, state = cell(x, state)  #! |
        state = cell(x, state)  #!
    """)
    if "state" in code:
        two = "out, " in code
        text.helpers.append(
            "def cell(x, state):\n    state = (state + x.mean()) * 0.5\n"
            f"    return {'state * 2, state' if two else 'state'}\n"
        )
        step = (
            f"{code}\nloss = ((model(x) - {'out' if two else 'state'}) ** 2).mean()\n$first\n"
            "loss.backward(retain_graph=True)\noptimizer.step()\noptimizer.zero_grad()"
        )
        target = Target("pass", "state = model.bias.sum() * 0", "", "state.detach()")
        made = loop(text, target, step=step)
        return program(text, made, "torch_xla", text.one_of(*COUNTS), ("numbers", "errors"))
    start = text.pick("""
        total = 0.0 | total = 0 | total = torch.zeros(()) | total = loss = 0
    """)
    after = text.maybe(
        """
        print(float(total)) | if len(data):\n    (model.bias * total).sum().backward()
    """,
        1,
    )
    target = Target(code, start, after, "float(total)", text.maybe("print(float(total))", 2))
    made = loop(text, target)
    return program(text, made, "torch_xla", text.one_of(*COUNTS), ("numbers",))


def wait_below_loop(text: Text) -> Program:
    code = text.pick("""
        loss.block_until_ready()  #! | jax.block_until_ready(loss)  #! |
        jax.block_until_ready(w)  #! | w, loss = jax.block_until_ready(step_of(w, x))  #! |
        y = step_of(w, x)[1].block_until_ready()  #! |
        y = total_of(buffer)\njax.block_until_ready(y)  #! |
        y = total_of(x)\ny.block_until_ready()  #!
    """)
    if "total_of" in code:
        text.imports.append("total_of = jax.jit(lambda each: each.sum())")
        text.starts.append("buffer = np.zeros(4, np.float32)")
        if text.chance(2):
            code = f"buffer[:] = step\n{code}" if "buffer" in code else f"{code}\nx[:] = step"
    target = Target(code, "", "", "", text.maybe("kept.append(loss) | del loss", 2))
    text.starts.append("kept = []")
    text.shown.append("kept")
    return program(text, loop(text, target, "jax"), "jax", text.one_of(*COUNTS))


def send_once(text: Text) -> Program:
    frontend = text.pick("jax | torch_xla")
    if frontend == "jax":
        code = text.pick("""
            table = jax.device_put(TABLE)  #! | table = jnp.asarray(TABLE)  #! |
            w = use(w, TABLE)  #! | table = jnp.array(x)  #!
        """)
        text.helpers.append("@jax.jit\ndef use(w, table):\n    return w + 0.1 * table.sum()\n")
        made, use = "TABLE = np.ones(4, np.float32)", "w = use(w, table)"
    else:
        code = text.pick("""
            table = TABLE.to(device)  #! | table = torch.tensor(NUMBERS).to(device)  #! |
            table = torch.from_numpy(ARRAY).float().to(device)  #!
        """)
        made = "TABLE, NUMBERS = torch.ones(4), [1.0, 2.0]\nARRAY = TABLE.numpy()"
        use = text.pick("kept.append(table.sum()) | kept.append(table) | table.add_(1)")
        use += "\nkept.append(table.mean())"
    where = "device_put" not in code or text.chance(3)
    if where and text.chance(2):
        text.helpers.append(made + "\n")
    else:
        text.starts.append(made)
    if text.chance(4):
        name = "ARRAY" if frontend == "torch_xla" else "TABLE"
        use += f"\n{text.one_of(f'{name}[0] = step', f'change({name})', f'{name} = {name} * 2')}"
        text.helpers.append("def change(table):\n    table[1] += 1\n")
    text.starts.append("kept = []")
    text.shown.append("kept")
    after = text.maybe("print(table.sum())", 2) if "table =" in code else ""
    return program(
        text,
        loop(text, Target(code, last=use if "table =" in code else "", after=after), frontend),
        frontend,
        text.one_of(*COUNTS),
    )
