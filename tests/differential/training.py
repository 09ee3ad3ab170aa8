"""Programs that train in a loop, for kinds that change a statement of it or its barriers."""

from __future__ import annotations

from tests.differential.grammar import Kind, Rules

PLACES = {
    "place": "2* $function | $top | $method | $generator",
    "function": "def train():\n    $body\n    return ($SHOWN,)\n\n\nresult = train()",
    "top": "$body\nresult = ($SHOWN,)",
    "method": "class Trainer:\n    def train(self):\n        $body\n        return ($SHOWN,)\n\n\n"
    "result = Trainer().train()",
    "generator": "def train():\n    $body\n    yield ($SHOWN,)\n\n\nresult = list(train())",
}
LOOP: Rules = PLACES | {
    "program": "$imports\n$MODULE\n$module\n\n$place",
    "imports": "import torch\nimport torch_xla\n"
    "from lab import Bar, Count, Meter, make, names, weights",
    "imports_jax": "import jax\nimport jax.numpy as jnp\nimport numpy as np\n"
    "from lab import Bar, Count, Meter, make, names, step_of",
    "body": "$make\n$STARTS\n$start\n$above\n$around\n$after",
    "make": "device = torch_xla.device()\nmodel, optimizer, data = make(device)",
    "make_jax": "w, data = make()",
    "around": """
        3* $loop | if True:\n    $loop | for epoch in range(2):\n    $loop |
        try:\n    $loop\nexcept ValueError as error:\n    print('failed', error) |
        try:\n    $loop\nfinally:\n    print('over', $shown) | while True:\n    $loop\n    break
    """,
    "loop": "$head\n    $turn",
    "head": """
        2* for step, x in enumerate(data):$MARK | for step, x in enumerate(Bar(data)):$MARK |
        for step in range(len(data)):$MARK\n    x = data[step] |
        step = -1\nfor x in data:$MARK\n    step += 1 |
        step = -1\nwhile step + 1 < len(data):$MARK\n    step += 1\n    x = data[step]
    """,
    "turn": """
        2* $step\n$sync\n$between\n$target\n$last\n$more |
        $step\n$between\n$target\n$sync\n$last\n$more | $step\n$between\n$target\n$last\n$more
    """,
    "turn_jax": "$step\n$between\n$target\n$last\n$more",
    "step": "loss = $loss\n$early\nloss.backward()\n$update\noptimizer.zero_grad()",
    "step_jax": "$early\nw, loss = step_of(w, x)",
    "sync": "torch_xla.sync()  #! barrier",
    "update": "optimizer.step()",
    "loss": """
        2* (model(x) - 1).pow(2).mean() | (model(x) - 1).pow(2).mean(dim=(0, 1), keepdim=True) |
        (model(x) - 1).pow(2).sum() | (model(x) - 1).abs().max()
    """,
    "early": "14* | $EFFECT",
    "between": "6* | $EFFECT",
    "more": "6* | $EFFECT",
    "above": "18* | $CALM",
    "EFFECT": "2* $CALM | 3* $INSIDE | 2* $OWN",
    "CALM": """
        rate = 0.1 | lucky = random.random() | draws.append(random.random()) | counted() |
        print(queue.get()) | count() | print(count.following) | seen = {n: n for n in range(2)}
    """,
    "INSIDE": """
        print('step', step) | steps.append(step) | file.write(f'{step}\\n') | log.info('%d', step) |
        if step == 2:\n    break | if step % 3 == 1:\n    continue | loss = loss * 2 |
        if step == 3:\n    raise ValueError('step 3') | if loss > 1:\n    print('high') |
        if loss > 2:\n    raise ValueError('high') | if (n := 2 * step) > 5:\n    print(n) |
        meter.update(float(loss))
    """,
    "OWN": """
        model.eval() | model.train() | v = model.weight.data\nviews.append(v[0]) |
        model.weight.data.mul_(0.9) | noise = torch.rand(1) | x = x * 2 | loss = loss.detach() |
        table[0] += loss.detach().sum()
    """,
    "OWN_jax": "x[:] = 0 | buffer[:] = step | w, old = w * 0.5, w",
    "always": "weights(model)",
    "always_jax": "w",
    "shown": "0",
}
_BOTH = "2* torch_xla | jax"
_LOSS = "loss.item() | loss.item() | float(loss) | x.mean().item() | (x > 0).sum().item()"
_KEPT = "total += loss.item() | kept.append(loss.detach()) | print(loss.item()) | "


def _loop(**rules: str) -> Rules:
    return LOOP | rules


SUM = {
    "target": "$added  #!",
    "added": """
        6* total += loss.item() | total += $term | total += loss.item() * x.shape[0] |
        total += loss.item() / 2 | total += int((x > 0).sum()) | total += loss.item() * step |
        total += loss.detach().cpu().item() | total += $weight.mean().item()
    """,
    "term": _LOSS,
    "weight": "model.weight",
    "weight_jax": "w",
    "start": "4* total = 0.0 | total = 0 | total, n = 0.0, 0 | total = 1.5",
    "last": """
        5* | if step % 5 == 4:\n    print(step, total)\n    total = 0.0 |
        bar.set_postfix(total=total) | print(step, total) |
        if step % 2 == 0:\n    print(round(total, 3)) |
        if total > 3:\n    break
    """,
    "after": """
        2* | print(total / 4) | print(total, total) | print(f'{total=}') |
        mean = total / max(len(data), 1)\nprint(round(mean, 4))
    """,
    "shown": "total",
}
_LIST = {
    "target": """
        losses.append($read)  #! | view = $view\nlosses.append(view[0].item())  #! | $added  #!
    """,
    "read": f"{_LOSS} | x[0, 0].item()",
    "view": "model.bias | model.weight[0] | model.bias.data",
    "view_jax": "w",
    "start": "total = 0.0\nlosses = $empty",
    "empty": "4* [] | list() | [0.5]",
    "last": "5* | print(losses[-1]) | if step % 2 == 0:\n    print(losses)",
    "after": "2* | print(losses) | print(max([*losses, 0]), len(losses))",
    "shown": "losses, total",
}
_READ = {
    "target": "value = $read  #!\n$used",
    "read": """
        2* loss.item() | float(loss) | round(loss.item(), 3) | x.mean().item() |
        loss.item() + len(queue.get()) | meter.update(loss.item())
    """,
    "used": """
        if step % 5 == 0:\n    print(step, value) | if step % 2 == 0:\n    print(round(value, 3)) |
        if step % 2 == 1:\n    kept.append(value) | 2* |
        if step % 2 == 0 and value > 0.5:\n    print('high') |
        if step % 2 == 0:\n    x = x * 0\n    loss = loss * 2\n    print(value)
    """,
    "start": "6* | value = None",
    "after": "2* | print(value) | print(f'{value:.3f}')",
}
_REPLAYED = {
    "target": "$replayed  #!",
    "replayed": """
        total += (loss.cpu() > 0.5).sum().item() | total += x.sum().cpu().item() |
        meter.update(loss.detach().cpu().mean()) | meter.update(loss.cpu().sum().item()) |
        meter.update(model.bias.cpu().sum().item()) | kept.append(x.cpu().sum()) |
        meter.update((model(x).mean() + 1).cpu().item())
    """,
    "replayed_jax": """
        total += (np.asarray(loss) > 0.5).sum() | total += float(np.asarray(loss).mean()) |
        total += np.asarray(x).sum() | meter.update(float(loss)) |
        meter.update(np.asarray(w).sum()) | kept.append(np.asarray(loss)) |
        meter.update(np.asarray(loss) + np.random.rand())
    """,
    "start": "total = 0",
    "shown": "total",
    "last": "6* | print(total) | if step % 2 == 0:\n    x = x * 0",
}
_SHOWN = {
    "target": "$line  #!",
    "line": """
        print(step, loss.item()) | print(f'{step} {loss.item():.4f}') | assert float(loss) >= 0 |
        log.info('loss %.3f', float(loss)) | print(queue.get(), round(loss.item(), 3)) |
        print(meter.update(loss.item())) | bar.set_postfix(loss=float(loss)) |
        print(next(numbers), float(loss)) | print(steps.pop() if steps else 0, float(loss)) |
        print(cache.get(step), float(loss)) | print(count.following, float(loss))
    """,
    "last": "3* | if step % 5 == 0:\n    print('fifth', step)",
}
_CHOSEN = {
    "target": """
        2* if loss < best:  #!\n    best = $copy | if loss < best:  #!\n    best = loss |
        if loss < best:  #!\n    best = $copy\nelse:\n    best = abs(best) |
        if loss > best:  #!\n    best = $copy\nelse:\n    best = best |
        if loss < 0.5:  #!\n    best = $copy\nelse:\n    best = $copy * 0.5\n$use |
        if loss < 0.5:  #!\n    best = $copy\nelse:\n    best = 0.0\n$use |
        if loss.max() < 0.5:  #!\n    best = x\nelse:\n    best = x * 2\n$use |
        if counted() and loss < best:  #!\n    best = $copy
    """,
    "copy": "loss.detach()",
    "copy_jax": "loss",
    "use": " | kept.append(best)",
    "start": "best = torch.full((), 1e9, device=device) | best = torch.zeros((), device=device)",
    "start_jax": "best = jnp.full((), 1e9) | best = jnp.zeros(())",
    "shown": "best",
}
_STATE = {
    "module": """
        def cell(x, state):
            state = (state + x.mean()) * 0.5
            return state * 2, state
    """,
    "start": "state = model.bias.sum() * 0\ntotal = $zero",
    "zero": "0.0 | 0 | torch.zeros((), device=device)",
    "step": """
        loss = $loss\n$early\nloss.backward()\n$trained\ntotal += loss  #! |
        out, state = cell(x, state)  #!\n$error\n$early\n$back\n$trained
    """,
    "trained": "optimizer.step()\noptimizer.zero_grad()",
    "error": "loss = ((model(x) - out) ** 2).mean()",
    "back": "loss.backward(retain_graph=True)",
    "last": "3* | print(float(total)) | kept.append(loss.detach())",
    "after": "2* | print(float(total)) | if len(data):\n    (model.bias * total).sum().backward()",
    "shown": "float(total), float(state)",
}
_WAITED = {
    "module": "total_of = jax.jit(lambda each: each.sum())",
    "target": """
        loss.block_until_ready()  #! | jax.block_until_ready(loss)  #! |
        jax.block_until_ready(w)  #! | w, loss = jax.block_until_ready(step_of(w, x))  #! |
        y = step_of(w, x)[1].block_until_ready()  #! | y = total_of(x)\ny.block_until_ready()  #! |
        buffer[:] = step\ny = total_of(buffer)\njax.block_until_ready(y)  #! |
        y = total_of(x)\ny.block_until_ready()  #!\nx[:] = step
    """,
    "last": "2* | kept.append(loss) | del loss",
}
_SENT = {
    "module": "TABLE = torch.ones(4)\nNUMBERS, ARRAY = [1.0, 2.0], TABLE.numpy()\n\n\n$change",
    "module_jax": "TABLE = np.ones(4, np.float32)\n\n\n@jax.jit\ndef use(w, each):\n"
    "    return w + 0.1 * each.sum()\n\n\n$change",
    "change": "def change(each):\n    each[1] += 1\n",
    "target": """
        sent = TABLE.to(device)  #!\n$used | sent = torch.tensor(NUMBERS).to(device)  #!\n$used |
        sent = torch.from_numpy(ARRAY).float().to(device)  #!\n$used
    """,
    "target_jax": """
        sent = jax.device_put(TABLE)  #!\n$use | sent = jnp.asarray(local)  #!\n$use |
        w = use(w, TABLE)  #! | w = use(w, local)  #! | sent = jnp.array(x)  #!\n$use
    """,
    "use": "w = use(w, sent)",
    "start": "local = TABLE",
    "start_jax": "local = np.ones(4, np.float32)",
    "used": "kept.append(sent.sum()) | kept.append(sent) | sent.add_(1)\nkept.append(sent.mean())",
    "last": "4* | TABLE[0] = step | change(TABLE) | change(local)",
    "after": "3* | print(sent.sum())",
}
_UNBARRED = {"turn": "$step\n$target\n$between\n$last\n$more", "start": "total = 0.0"}
_ENDED = _UNBARRED | {
    "mark": "loop",
    "target": "pass  #!",
    "last": f"{_KEPT} | if loss.item() < 0.01:\n    break",
}
_REMOVED = {
    "turn": "$step\n$other\n$between\n$target\n$last\n$more",
    "other": " | $sync",
    "target": """
        2* torch_xla.sync()  #! | xm.mark_step()  #! | if step % 2:\n    torch_xla.sync()  #! |
        for _ in range(2):\n    torch_xla.sync()  #! | torch_xla.sync(); print(step)  #!
    """,
    "start": "total = 0.0",
    "last": _KEPT,
    "shown": "total",
}
_STEPPED = _UNBARRED | {
    "update": """
        2* xm.optimizer_step(optimizer)  #! | xm.optimizer_step(optimizer, optimizer_args={})  #! |
        xm.optimizer_step(\n    optimizer,  #!\n) | xm.optimizer_step(optimizer, False)  #!
    """,
    "last": _KEPT,
    "shown": "total",
}
_EAGER = _UNBARRED | {
    "module": "import torch_xla.experimental\n$on",
    "on": " | torch_xla.experimental.eager_mode($true)",
    "start": "total = 0.0\n$also",
    "also": " | torch_xla.experimental.eager_mode(True)",
    "true": "3* True | enable=True | False",
    "update": "optimizer.step()  #!",
    "last": _KEPT,
    "shown": "total",
}
_CLIPPED = {
    "module": "from torch.nn.utils import clip_grad_norm_",
    "update": """
        norm = $clip, $checked)  #!\noptimizer.step() | $clip, $checked)  #!\noptimizer.step() |
        norm = $clip, norm_type=2.0, $checked)  #!\noptimizer.step()
    """,
    "clip": """
        clip_grad_norm_(model.parameters(), 1.0 | clip_grad_norm_(model.parameters(), max_norm=0.5 |
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5
    """,
    "checked": "error_if_nonfinite=True",
    "loss": "2* (model(x) - 1).pow(2).mean() | (model(x) / 0).sum() | (model(x) - 1).pow(2).sum()",
    "last": " | print(float(loss)) | total += loss.item()",
    "start": "total = 0.0",
    "shown": "total",
}
_SAVED = {
    "target": "3* $call($what, $name)  #! | if step % 2 == 0:\n    $call($what, $name)  #!",
    "call": "torch.save | xm.save",
    "what": "3* model.state_dict() | (model.state_dict(), step)",
    "name": "3* 'model.pt' | f'model_{step}.pt' | path",
    "start": "path, total = 'last.pt', 0.0",
    "last": " | print(loss.item()) | total += loss.item()",
    "shown": "total",
}
_MOVED = {
    "make": "device, rate, ready = torch_xla.device(), 0.1, True\n_, _, data = make(device)\n"
    "model = torch.nn.Linear(4, 1)\noptimizer = $optimizer(model.parameters(), lr=$rate)\n"
    "$passed\n$move",
    "optimizer": "torch.optim.SGD | torch.optim.Adam",
    "rate": "0.1 | rate | 0.01",
    "passed": """
        4* | rate = 0.2 | print(type(optimizer).__name__) | lucky = torch.rand(1) |
        torch.nn.init.ones_(model.weight) | model.weight = torch.nn.Parameter(torch.ones(1, 4))
    """,
    "move": "2* model.to(device) | 2* model = model.to(device) | if ready:\n    model.to(device)",
    "update": "optimizer.step()  #!",
    "last": " | print(loss.item())",
}
_LOADED = {
    "head": "for x in data: | for x in loader: | for x in data[:]:",
    "start": "loader, step, total = data, 0, 0.0",
    "turn": "x = x.to(device)  #!\n$step\n$between\n$last\ntorch_xla.sync()",
    "between": "10* | $EFFECT",
    "last": "2* | print(loss.item()) | total += loss.item() | data[-1].mul_(2)",
    "shown": "total",
}
_COMMON = dict.fromkeys(("types", "shapes"), "of the type and shape")
KINDS = {
    "sum_on_device": Kind(
        _loop(**SUM), _BOTH, declared={"lines": "only if", "types": "0.0 rather than 0"}
    ),
    "keep_on_device": Kind(_loop(**(SUM | _LIST)), _BOTH),
    "read_where_used": Kind(_loop(**_READ), _BOTH),
    "replay_below_loop": Kind(_loop(**_REPLAYED), _BOTH),
    "every_tenth_step": Kind(
        _loop(**_SHOWN), _BOTH, counts=(4, 11, 23, 1, 0), declared={"lines": "only if"}
    ),
    "choose_on_device": Kind(_loop(**_CHOSEN), _BOTH, declared=_COMMON),
    "detached_state": Kind(
        _loop(**_STATE), declared={"numbers": "gradient", "RuntimeError": "gradient"}
    ),
    "wait_below_loop": Kind(_loop(**_WAITED), "jax"),
    "send_once": Kind(_loop(**_SENT), _BOTH),
    "barrier_at_end": Kind(_loop(**_ENDED)),
    "barrier_removed": Kind(_loop(**_REMOVED)),
    "optimizer_barrier": Kind(_loop(**_STEPPED)),
    "eager_mode_off": Kind(_loop(**_EAGER)),
    "unchecked_norm": Kind(_loop(**_CLIPPED), declared={"RuntimeError": "raises no error"}),
    "save_by_clock": Kind(_loop(**_SAVED), declared={"files": "is saved every"}),
    "optimizer_after_move": Kind(_loop(**_MOVED), declared={"numbers": "model is trained"}),
    "device_loader": Kind(_loop(**_LOADED)),
}
