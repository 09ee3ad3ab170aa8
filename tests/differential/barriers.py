"""Programs for kinds that place barriers of torch_xla, or change what a step of it does."""

from __future__ import annotations

from tests.differential.grammar import Effect, Text, program
from tests.differential.judge import Program
from tests.differential.training import COUNTS, HEADS, Target, loop

_BODY = "loss = $loss\n$first\nloss.backward()\n{}\noptimizer.zero_grad()"
_SHOWS = (
    "",
    "print(loss.item())",
    "total += loss.item()",
    "if loss.item() < 0.01:\n    break",
    "kept.append(loss.detach())",
)


def _shown(text: Text) -> None:
    text.starts += ["total = 0.0", "kept = []"]
    text.shown += ["total", "kept"]


def barrier_at_end(text: Text) -> Program:
    _shown(text)
    heads = [
        "\n".join(
            f"{line}  #! loop" if line.startswith(("for", "while")) else line
            for line in head.splitlines()
        )
        for head in HEADS
    ]
    target = Target("pass  #!", last=text.one_of(*_SHOWS))
    made = loop(text, target, barrier=("",), heads=heads)
    return program(text, made, "torch_xla", text.one_of(*COUNTS), ("numbers",))


def barrier_removed(text: Text) -> Program:
    _shown(text)
    code = text.pick("""
        torch_xla.sync()  #! | xm.mark_step()  #! | if step % 2:\n    torch_xla.sync()  #! |
        for _ in range(2):\n    torch_xla.sync()  #! | torch_xla.sync()  #!; print(step)
    """).replace("  #!; print(step)", "; print(step)  #!")
    target = Target(code, last=text.one_of(*_SHOWS), imports=_XM)
    made = loop(text, target, barrier=("above", "below", ""))
    return program(text, made, "torch_xla", text.one_of(*COUNTS), ("numbers",))


_XM = "import torch_xla.core.xla_model as xm"


def optimizer_barrier(text: Text) -> Program:
    _shown(text)
    call = (
        text.pick("""
            xm.optimizer_step(optimizer)  #! |
            xm.optimizer_step(optimizer, optimizer_args={})  #! |
            xm.optimizer_step(\n    optimizer,\n)  #! | xm.optimizer_step(optimizer, False)  #!
        """)
        .replace("(  #!", "(")
        .replace("optimizer,\n)  #!", "optimizer,  #!\n)")
    )
    target = Target("pass", last=text.one_of(*_SHOWS), imports=_XM)
    made = loop(text, target, barrier=("",), step=_BODY.format(call))
    return program(text, made, "torch_xla", text.one_of(*COUNTS), ("numbers",))


def eager_mode_off(text: Text) -> Program:
    _shown(text)
    text.imports.append("import torch_xla.experimental")
    on = text.pick("True | True | enable=True | False")
    call = f"torch_xla.experimental.eager_mode({on})"
    if text.chance(2):
        text.helpers.insert(0, call)
    else:
        text.starts.append(call)
    target = Target("pass", last=text.one_of(*_SHOWS))
    made = loop(text, target, barrier=("", "below"), step=_BODY.format("optimizer.step()  #!"))
    return program(
        text, made.replace("#! barrier", ""), "torch_xla", text.one_of(*COUNTS), ("numbers",)
    )


def unchecked_norm(text: Text) -> Program:
    _shown(text)
    norm = text.maybe("norm = ", 1)
    call = text.pick("""
        clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True) |
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5, error_if_nonfinite=True) |
        clip_grad_norm_(model.parameters(), max_norm=1.0, norm_type=2.0, error_if_nonfinite=True)
    """)
    text.imports.append("from torch.nn.utils import clip_grad_norm_")
    target = Target("pass", last="print(float(norm))" if norm else text.one_of(*_SHOWS))
    losses = ("(model(x) - 1).pow(2).mean()", "(model(x) / 0).sum()", "(model(x) - 1).pow(2).sum()")
    step = _BODY.format(f"{norm}{call}  #!\noptimizer.step()")
    made = loop(text, target, step=step, losses=losses)
    return program(text, made, "torch_xla", text.one_of(*COUNTS), ("errors",))


def save_by_clock(text: Text) -> Program:
    _shown(text)
    name = text.pick("'model.pt' | 'model.pt' | f'model_{step}.pt' | path")
    text.starts.append("path = 'last.pt'")
    what = text.pick("""
        model.state_dict() | model.state_dict() | (model.state_dict(), step)
    """)
    call = text.pick("torch.save | xm.save")
    code = f"{call}({what}, {name})  #!"
    if text.chance(3):
        code = f"if step % 2 == 0:\n    {code}"
    target = Target(code, last=text.one_of(*_SHOWS[:3]), imports=_XM)
    return program(text, loop(text, target), "torch_xla", text.one_of(*COUNTS), ("files",))


_BETWEEN = (
    Effect("rate = 0.2"),
    Effect("print(type(optimizer).__name__)"),
    Effect("lucky = torch.rand(1)"),
    Effect("torch.nn.init.ones_(model.weight)"),
    Effect("model.weight = torch.nn.Parameter(torch.ones(1, 4))"),
)


def optimizer_after_move(text: Text) -> Program:
    kind = text.pick("torch.optim.SGD | torch.optim.Adam")
    text.starts += [
        "model = torch.nn.Linear(4, 1)",
        f"optimizer = {kind}(model.parameters(), lr={text.one_of('0.1', 'rate', '0.01')})",
        text.effect(_BETWEEN, 2) or "ready = True",
        text.pick("""
            model.to(device) | model = model.to(device) | if ready:\n    model.to(device)
        """),
    ]
    text.starts.insert(0, "rate, ready = 0.1, True")
    target = Target("pass", last=text.one_of(*_SHOWS[:2]))
    make = "device = torch_xla.device()\n_, _, data = make(device)"
    made = loop(text, target, make=make, step=_BODY.format("optimizer.step()  #!"))
    return program(text, made, "torch_xla", text.one_of(*COUNTS), ("numbers",))


def device_loader(text: Text) -> Program:
    _shown(text)
    step = "x = x.to(device)  #!\n" + _BODY.format("optimizer.step()")
    heads = ("for x in data:", "for x in loader:", "for x in data[:]:")
    text.starts += ["loader = data", "step = 0"]
    shown = text.maybe("print(loss.item()) | total += loss.item() | data[-1].mul_(2)", 1)
    target = Target(f"{shown}\ntorch_xla.sync()" if shown else "torch_xla.sync()")
    made = loop(text, target, step=step, barrier=("",), heads=heads, rarely=12)
    return program(text, made, "torch_xla", text.one_of(*COUNTS), ("numbers",))
