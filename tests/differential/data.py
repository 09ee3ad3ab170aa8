"""Programs for kinds that change loaders, settings and single calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.differential.compiled import cause
from tests.differential.grammar import Kind, Rules
from tests.fixes.harness import FILE
from xladoctor.frontends.vocabulary import vocabulary

_LOADED: Rules = {
    "program": """
        import random
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
        SEEN, CACHE = [], {}

        class Squares(Dataset):
            rate = 1.0

            def __init__(self, count):
                self.count, self.calls = count, 0

            def __len__(self):
                return self.count

            def __getitem__(self, index):
                $sample

        data = $data
        loader = $call  $role
        kept = []
        for epoch in range($epochs):
            for batch in loader:
                kept.append(batch)
                $inside
        result = (kept, sorted(SEEN), sorted(CACHE), getattr(data, "calls", 0))
    """,
    "data": "3* Squares(7) | Squares(count=8) | TensorDataset(torch.ones(9, 2))",
    "call": "DataLoader(data, $size$more)",
    "size": "batch_size=3 | 3 | batch_size=4 | batch_size=2 | batch_size=5 | batch_size=1",
    "more": "2* | , shuffle=True | , shuffle=False | , drop_last=True | , sampler=[3, 1, 2]",
    "role": "#!",
    "epochs": "2* 1 | 2 | 0",
    "inside": "4* | print(len(kept)) | if len(kept) == 2:\n    break | data.rate = len(kept)",
    "sample": """
        5* return torch.full((2,), index * 1.0) | return torch.ones(2) * index, index |
        self.calls += 1\nreturn torch.tensor(self.calls) | return torch.rand(2) + index |
        self.seen = index\nreturn torch.tensor(index) | return torch.tensor(self.rate * index) |
        return torch.tensor(random.random()) | return torch.tensor(np.random.rand()) |
        SEEN.append(index)\nreturn torch.tensor(index) | print(index)\nreturn torch.tensor(index) |
        return torch.tensor(len(CACHE.setdefault(index, [1]) + list(CACHE))) |
        if index == 5:\n    raise ValueError('bad')\nreturn torch.tensor(index)
    """,
}
_DROPPED = {"more": "6* | , shuffle=True | , drop_last=True"}
_WORKERS = {"call": "DataLoader(data, $size$more, num_workers=$count)", "count": "2* 2 | 1 | 4 | 8"}
_PADDED: Rules = {
    "program": """
        import torch
        import torch.nn.functional as F
        from torch.nn.utils.rnn import pad_sequence
        PAD, SEEN = 7, []

        def collate(batch):  #! collated
            $first
            $padded
            $last
            return x

        kept = []
        for n in range($count):
            batch = [torch.ones(n + k + 1) for k in range(3)]
            x = collate(batch)  #!
            kept.append($shown)
        result = (kept, SEEN)
    """,
    "first": "2* | SEEN.append(len(batch)) | batch = batch[:2]",
    "padded": """
        x = pad_sequence(batch, batch_first=True) | x = pad_sequence(batch, batch_first=True) * 2 |
        x = pad_sequence(batch, batch_first=True, padding_value=PAD) | $stacked |
        SEEN.append(pad_sequence(batch, batch_first=True).shape[0])\nx = torch.zeros(3, 5)
    """,
    "stacked": "longest = max(len(each) for each in batch)\n"
    "x = torch.stack([F.pad(each, (0, longest - len(each))) for each in batch])",
    "last": "2* | x = x * 2 | x = x.sum()",
    "count": "3 | 2 | 0",
    "shown": "2* x.sum() | x.mean()",
}
_CALLBACK: Rules = {
    "program": """
        import torch

        class History:
            def __init__(self):
                self.losses = $start
                self.n = 0

            def on_step_end(self, loss):
                $first
                self.losses.append($read)  #!
                $more

            def $end(self):
                $shown

        history = History()
        state = torch.ones(2)
        $alias
        for step in range($count):
            loss = $loss
            history.on_step_end(loss)
            $change
        history.$end()
        result = (history.n, $result)
    """,
    "start": "7* [] | [0.0] | list()",
    "first": "2* | self.n += 1 | print('step')",
    "read": "3* loss.item() | 2* float(loss) | int(loss) | loss.mean().item()",
    "more": "7* | print(self.losses[-1]) | print(len(self.losses))",
    "end": "8* on_train_end | on_fit_end | on_epoch_end",
    "shown": """
        print(sum(self.losses)) | print(self.losses) | self.n = list(self.losses) |
        print(max(self.losses, default=0))
    """,
    "alias": "9* | same = history.losses | seen = vars(history)",
    "count": "2* 3 | 0 | 5",
    "loss": """
        torch.tensor(step * 0.5) | torch.rand(()) | state.sum() | state[0] | state.sum() > 1 |
        torch.tensor([step * 0.1]) | torch.tensor(step)
    """,
    "change": "2* | state += 1 | loss.mul_(0) | state = state + 1",
    "result": "6* 0 | history.losses | list(vars(history).values())",
}

# -- single calls ----------------------------------------------------------------------------

_REPLACED = vocabulary("torch_xla").replacements
#: Which no call in their templates is of.
_SELECTS = {"aten::nonzero", "aten::masked_select"}
_OPERATORS = sorted(_REPLACED.keys() - _SELECTS)
_BARE = "huber_loss, glu, embedding_bag, interpolate, unfold, channel_shuffle"
_VALUES: Rules = {
    "X": "3* a | a[0] | a.double() | flip(a) | a[:0] | a.T | (a + b)",
    "Y": "2* b | b.double() | b[0] | b * 2",
    "DIM": "0 | 1 | -1",
    "INDICES": "2* i | i[:0] | torch.arange(4).reshape(2, 2)",
    "N": "4 | 5 | 2 | n",
    "LOW": "-1.0 | 0 | 0.0",
    "HIGH": "1.0 | 2 | 1",
    "BOUNDARIES": "2* edges | edges[:1]",
    "SOME": "torch.tensor([1, 2]) | i[:2] | torch.tensor(1)",
    "SIGNAL": "a.reshape(1, 4, 4) | a.reshape(1, 4, 4)[:, :, :2]",
    "IMAGE": "a.reshape(1, 4, 2, 2) | b.reshape(1, 4, 2, 2)",
    "SCALE": "2 | 3 | 1.5 | n",
    "SIZE": "2 | 1 | (2, 2)",
    "GROUPS": "2 | 4 | 1",
    "BAGS": "i.reshape(2, 2) | i.reshape(1, 4)",
    "TABLE": "b | b.double()",
    "MATRIX": "a + torch.eye(4) | b @ b.T + torch.eye(4) | torch.zeros(4, 4)",
}


def _call(operator: str) -> str:
    """The template of an operator's call, with names of values for its arguments."""

    def value(found: re.Match[str]) -> str:
        word = found[0].upper()
        return f"${word}" if word in _VALUES else found[0]

    return re.sub(r"\b[a-z]+\b(?![(=])", value, _REPLACED[operator].call)


_CALLS: Rules = _VALUES | {
    "program": f"""
        import torch
        import torch_xla
        import torch.nn.functional as F
        from torch.nn.functional import {_BARE}
        CALLS = []

        def flip(x):
            CALLS.append(1)
            return x.flip(0)

        def compute(n=4):
            torch.manual_seed(n)
            a, b = torch.randn(4, 4), torch.randn(4, 4)
            i, m = torch.tensor([0, 3, 1, 1]), torch.rand(4, 4) > 0.5
            edges = torch.tensor([-1.0, 0.0, 1.0])
            $taken
            out = $out  #!
            return out

        result = (compute(), CALLS)
    """,
    "taken": "6* | column = top = x = n | torch.n = n",
    "out": """
        3* $called | 2 * $called | -$called | ($called, n) | flip(a), $called | n and $called |
        [$called for _ in range(2)]
    """,
    "called": " | ".join(f"${name.rpartition('::')[2]}" for name in _OPERATORS),
    **{name.rpartition("::")[2]: _call(name) for name in _OPERATORS},
}


def _of_call(parts: Mapping[str, str]) -> dict[str, Any]:
    name = next(each for each in _OPERATORS if each.rpartition("::")[2] in parts)
    found = _REPLACED[name]
    return found.model_dump()


_NUMBERS: Rules = {
    "program": """
        import torch
        import torch_xla
        kept = []
        t = torch.arange(40.0).reshape(10, 4)
        s, k = torch.tensor(2.0), torch.tensor([1, 2])

        def row(each):
            each[0] = 9
            return each.sum()

        def train(t, g=2):
            x = torch.ones(4) * 2
            for n in range($range):
                $first
                $line
                kept.append(y)
                $last

        train(t)
        result = (kept, t)
    """,
    "range": "2* 3 | 1, 4 | 0 | len(t) | 12 | 5, 0, -1 | -2, 2",
    "first": "3* | g = n | x = x * 1.5 | n = n - 1",
    "line": """
        y = x**g  #! | y = -(x**n * 2).mean()  #! | y = torch.pow(x, n)  #! | y = 2 * t[n]  #! |
        y = torch.roll(t, n, 0)  #! | y = torch.roll(x, shifts=n, dims=0)  #! | y = t[n]  #! |
        y = torch.roll(t, g, 1)  #! | y = x.long()**n  #! | y = x.sum()**g  #! | y = row(t[n])  #! |
        t[n] += 1  #!\ny = t.sum() | t[n] = x  #!\ny = t.sum() | y = t[n].add_(1)  #! |
        y = t[n, 1]  #! | y = s**g  #! | y = k**g  #! | y = torch.roll(t, n, -1)  #!
    """,
    "last": "3* | if n == 2:\n    break | x = x + 1 | t[n] = 0 | y.mul_(2)",
}

# -- settings --------------------------------------------------------------------------------

_SET: Rules = {
    "program": """
        $docstring
        import os
        import jax
        import jax.numpy
        value = '1'
        $above
        $line
        $below
        def compute(x):
            return x * 2 / 3

        compute(1)  $role
        $more
        print(os.environ.get("OTHER", "none"))
        result = (compute(3.0), 0)
    """,
    "docstring": '2* | """A program.""" | """A program."""\nfrom __future__ import annotations',
    "above": "2* | import random | print('begins')",
    "below": "2* | os.environ['OTHER'] = '2' | random_number = 4 | # done",
    "role": "",
}
_CACHE = {
    "role": "#!",
    "name": "'XLA_COMPILATION_CACHE_SIZE'",
    "line": """
        2* os.environ[$name] = '$size' | os.environ.setdefault($name, '16') |
        os.putenv($name, '$size') |
        if True:\n    os.environ[$name] = '16' | os.environ[$name] = os.environ['B'] = '16' |
        os.environ[$name] = str(16)
    """,
    "size": "16 | 4 | 64",
    "more": """
        4* | size = 3 | print(os.environ[$name]) | size = int(os.environ[$name]) |
        print(len([each for each in os.environ if each.startswith('XLA')]))
    """,
}
_SETTING = {
    "line": """
        $mapping['$name'] = '1'  #! | $mapping.setdefault('$name', '1')  #! |
        $mapping['$name'] = value  #! | jax.config.update('$jax', True)  #! |
        if True:\n    os.environ['$name'] = '1'  #! | jax.config.$jax = True  #!
    """,
    "mapping": "5* os.environ | env",
    "above": "env = os.environ",
    "name": "2* XLA_IR_DEBUG | XLA_SYNC_WAIT | JAX_DEBUG_NANS",
    "jax": "jax_debug_nans | jax_check_tracer_leaks",
    "more": """
        4* | shown = os.environ.get('$name', '0') | print(os.environ.get('$name')) |
        print(jax.numpy.log(-1.0)) | mode = os.environ['$name'] |
        if '$name' in os.environ:\n    print('on')
    """,
}


def _of_setting(parts: Mapping[str, str]) -> dict[str, Any]:
    return {"setting": parts["jax"] if "jax." in parts["line"] else parts["name"]}


def _of_loader(parts: Mapping[str, str]) -> dict[str, Any]:
    lines = parts["program"].split("\n")
    line = next(number for number, each in enumerate(lines, 1) if "#!" in each)
    return {"loaders": [{"file": str(FILE), "line": line}]}


_UNCHECKED = dict.fromkeys(("FloatingPointError", "lines"), "report nothing and raise no error")
_SHAPE = cause(kind="input_shape", to_shape="f32[3,5]", dimension=1)
_LEFT_OUT = dict.fromkeys(("numbers", "lines", "parts", "ValueError"), "drops the samples")
_DRAWN = {"numbers": "random numbers", "ahead": "make samples ahead"}
KINDS = {
    "drop_last": Kind(_LOADED | _DROPPED, declared=_LEFT_OUT, cause=_of_loader, needs={}),
    "loader_workers": Kind(_LOADED, declared=_DRAWN, needs={}),
    "more_workers": Kind(_LOADED | _WORKERS, declared=_DRAWN, needs={}),
    "samples_in_threads": Kind(_LOADED, "jax", needs={}),
    "padded_to_buckets": Kind(_PADDED, declared={"numbers": "padding"}, cause=_SHAPE, needs={}),
    "keep_in_attribute": Kind(_CALLBACK, needs={}),
    "equivalent": Kind(_CALLS, declared={"parts": "not counted"}, cause=_of_call, needs={}),
    "number_as_tensor": Kind(_NUMBERS, needs={}),
    "default_cache_size": Kind(_SET | _CACHE, needs={}),
    "setting_removed": Kind(_SET | _SETTING, "jax", (), _UNCHECKED, _of_setting, {}),
}
