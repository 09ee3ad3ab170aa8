"""Programs for kinds that change loaders, settings, and single calls."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from tests.differential.grammar import Text, fill, program
from tests.differential.judge import Program
from tests.fixes.harness import FILE
from xladoctor.frontends.vocabulary import vocabulary

_LOADED = """
    import random
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
    from lab import Meter
    $imports

    class Squares(Dataset):
        def __init__(self, count):
            self.count, self.calls = count, 0

        def __len__(self):
            return self.count

        def __getitem__(self, index):
            $first
            $sample

    $helpers
    data = $data
    $loader
    kept = []
    for epoch in range($epochs):
        for batch in loader:  $mark
            kept.append(batch)
            $inside
    result = (kept, $shown)
    """


def _loaded(text: Text, call: str, sample: str = "", **parts: str) -> str:
    """A program with a loader."""
    samples = sample or text.pick("""
        return torch.full((2,), index * 1.0) | return torch.ones(2) * index, index |
        return torch.tensor(index)
    """)
    given = {
        "imports": "",
        "first": "",
        "sample": samples,
        "helpers": "\n".join(text.helpers),
        "data": text.pick("""
            Squares(7) | Squares(7) | Squares(count=8) | TensorDataset(torch.ones(9, 2))
        """),
        "loader": f"loader = {call}  #! made",
        "epochs": text.pick("1 | 2 | 0"),
        "mark": "#!",
        "inside": text.maybe("print(len(kept)) | if len(kept) == 2:\n    break", 2),
        "shown": "0",
    }
    return fill(_LOADED, **(given | parts)) + "\n"


def _size(text: Text) -> str:
    more = text.maybe(
        """
        , shuffle=True | , shuffle=False | , drop_last=True | , sampler=[3, 1, 2]
    """,
        1,
    )
    size = text.pick("batch_size=3 | 3 | batch_size=4 | batch_size=2 | batch_size=5 | batch_size=1")
    return f"data, {size}{more}"


def drop_last(text: Text) -> Program:
    name = "test_data" if text.chance(6) else "data"
    call = f"DataLoader({_size(text).replace('data', name, 1)})"
    helpers = "test_data = Squares(8)" if name == "test_data" else ""
    made = _loaded(text, call, helpers=helpers)
    line = (
        made.splitlines().index(next(each for each in made.splitlines() if "#! made" in each)) + 1
    )
    where = {"file": str(FILE), "line": line}
    return program(text, made, "torch_xla", 0, ("numbers", "lines", "parts"), loaders=[where])


_SAMPLES = (
    *(["return torch.full((2,), index * 1.0)"] * 4),
    "self.calls += 1\nreturn torch.tensor(self.calls)",
    "self.seen = index\nreturn torch.tensor(index)",
    "return torch.rand(2) + index",
    "return torch.tensor(random.random())",
    "return torch.tensor(np.random.rand())",
    "SEEN.append(index)\nreturn torch.tensor(index)",
    "print('sample', index)\nreturn torch.tensor(index)",
    "return torch.tensor(len(CACHE.setdefault(index, [1]) + list(CACHE)))",
    "return torch.tensor(self.rate * index)",
    "if index == 5:\n    raise ValueError('bad sample')\nreturn torch.tensor(index)",
)


def loader_workers(text: Text) -> Program:
    text.helpers.append("SEEN, CACHE = [], {}\nSquares.rate = 1.0")
    inside = text.maybe("print(len(kept)) | Squares.rate = 2.0 | data.rate = len(kept)", 2)
    made = _loaded(
        text,
        f"DataLoader({_size(text)})",
        text.one_of(*_SAMPLES),
        inside=inside,
        shown="SEEN, sorted(CACHE), vars(data).get('calls')",
    )
    made = made.replace("  #! made", "  #!").replace(
        "for batch in loader:  #!", "for batch in loader:"
    )
    return program(text, made, "torch_xla", 0, ("numbers",))


def more_workers(text: Text) -> Program:
    count = text.pick("2 | 1 | 4 | 2 | 8")
    made = _loaded(text, f"DataLoader({_size(text)}, num_workers={count})", text.one_of(*_SAMPLES))
    made = made.replace("data = ", "SEEN, CACHE = [], {}\nSquares.rate = 1.0\ndata = ", 1)
    return program(text, made, "torch_xla", 0, ("numbers",))


def samples_in_threads(text: Text) -> Program:
    text.helpers.append("SEEN, CACHE = [], {}\nSquares.rate = 1.0")
    made = _loaded(
        text,
        f"DataLoader({_size(text)})",
        text.one_of(*_SAMPLES),
        data="Squares(7)",
        shown="sorted(SEEN), sorted(CACHE), data.calls",
    )
    made = made.replace("  #! made", "  #!").replace(
        "for batch in loader:  #!", "for batch in loader:"
    )
    return program(text, made, "jax", 0)


_PADDED = """
    import torch
    from torch.nn.utils.rnn import pad_sequence
    PAD = 7
    SEEN = []

    def collate(batch):  #! collated
        $first
        $padded
        $last
        return x

    kept = []
    for n in range($count):
        batch = [torch.ones(n + k + 1$rank) for k in range(3)]
        x = collate(batch)  #!
        kept.append($shown)
    result = (kept, SEEN)
    """


def padded_to_buckets(text: Text) -> Program:
    rank = text.chance(2)
    padded = text.one_of(
        "x = pad_sequence(batch, batch_first=True)",
        "x = pad_sequence(batch, batch_first=True, padding_value=PAD)",
        "longest = max(len(each) for each in batch)\nx = torch.stack([torch.nn.functional.pad("
        f"each, ({'0, 0, ' * rank}0, longest - len(each))) for each in batch])",
        "SEEN.append(pad_sequence(batch, batch_first=True).shape[0])\nx = torch.zeros(3)",
        "x = pad_sequence(batch, batch_first=True) * 2",
    )
    made = fill(
        _PADDED,
        first=text.maybe("SEEN.append(len(batch)) | batch = batch[:2]", 2),
        padded=padded,
        last=text.maybe("x = x * 2 | x = x.sum()", 2),
        count=text.pick("3 | 2 | 0"),
        rank=", 2" if rank else "",
        shown=text.pick("x.sum() | x.sum() | x.mean()"),
    )
    shape = "f32[3,5,2]" if rank else "f32[3,5]"
    return program(
        text,
        made + "\n",
        "torch_xla",
        0,
        ("numbers",),
        kind="input_shape",
        to_shape=shape,
        dimension=1,
    )


_CALLBACK = """
    import torch
    $imports
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
    $after
    for step in range($count):
        loss = $loss
        history.on_step_end(loss)
        $change
    history.$end()
    result = (history.n, $result)
    """


def keep_in_attribute(text: Text) -> Program:
    made = fill(
        _CALLBACK,
        imports="",
        start=text.pick("[] | [] | [] | [] | [] | [] | [] | [0.0] | list()"),
        first=text.maybe("self.n += 1 | print('step')", 2),
        read=text.pick("""
            loss.item() | loss.item() | float(loss) | int(loss) | loss.mean().item()
        """),
        more=text.maybe("print(self.losses[-1]) | print(len(self.losses))", 7),
        end=text.pick("""
            on_train_end | on_train_end | on_fit_end | on_train_end | on_epoch_end
        """),
        shown=text.pick("""
            print(sum(self.losses)) | print(self.losses) | self.n = list(self.losses) |
            print(max(self.losses, default=0))
        """),
        after=text.maybe("alias = history.losses | seen = vars(history)", 5),
        count=text.pick("3 | 3 | 0 | 5"),
        loss=text.pick("""
            torch.tensor(step * 0.5) | torch.rand(()) | state.sum() | state[0] |
            torch.tensor([step * 0.1]) | torch.tensor(step) | state.sum() > 1
        """),
        change=text.maybe("state += 1 | loss.mul_(0) | state = state + 1", 2),
        result=text.pick("0 | 0 | history.losses | list(vars(history).values())"),
    )
    return program(text, made + "\n", "torch_xla", 0)


# -- single calls ----------------------------------------------------------------------------

_VALUES = {
    "x": (
        "a",
        "a",
        "a[0]",
        "a.long()",
        "a.double()",
        "flip(a)",
        "a / 0",
        "a[:0]",
        "a.T",
        "(a + b)",
    ),
    "y": ("b", "b", "b.double()", "b[0]", "b * 2"),
    "dim": ("0", "1", "-1", "dim=0", "dim=1"),
    "indices": ("torch.tensor([1, 2, 2, 0])", "i", "i", "i[:0]", "torch.arange(4).reshape(2, 2)"),
    "n": ("4", "5", "2", "n"),
    "low": ("-1.0", "0", "0.0"),
    "high": ("1.0", "2", "1"),
    "boundaries": ("edges", "edges", "edges[:1]"),
    "some": ("torch.tensor([1, 2])", "i[:2]", "torch.tensor(1)"),
    "delta": ("1.0", "0.5", "n"),
    "mask": ("a > 0", "m", "a[0] > 0", "a.isfinite()"),
    "signal": ("a.reshape(1, 4, 4)", "a.reshape(1, 4, 4)[:, :, :2]"),
    "image": ("a.reshape(1, 4, 2, 2)", "b.reshape(1, 4, 2, 2)"),
    "scale": ("2", "3", "1.5", "n"),
    "size": ("2", "1", "(2, 2)"),
    "groups": ("2", "4", "1"),
    "bags": ("i.reshape(2, 2)", "i.reshape(1, 4)"),
    "table": ("b", "b.double()"),
    "matrix": ("a + torch.eye(4)", "b @ b.T + torch.eye(4)", "torch.zeros(4, 4)"),
}
_CALLS = """
    import torch
    import torch_xla
    import torch.nn.functional as F
    from torch.nn.functional import $bare
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
        $line
        return out

    result = (compute(), CALLS)
    """
#: Which no call in their templates is of.
_SELECTS = {"aten::nonzero", "aten::masked_select"}
_BARE = ("huber_loss", "glu", "embedding_bag", "interpolate", "unfold", "channel_shuffle")


def equivalent(text: Text) -> Program:
    replaced = vocabulary("torch_xla").replacements
    name = text.draw(st.sampled_from(sorted(replaced.keys() - _SELECTS)))
    each = replaced[name]
    call = _written(text, each.call)
    line = text.pick("""
        out = {}  #! | out = {}  #! | out = 2 * {}  #! | out = -{}  #! | out = ({}, n)  #! |
        out = [{} for _ in range(2)]  #! | out = flip(a), {}  #! | out = n and {}  #!
    """)
    if call.partition("(")[0] in _BARE and text.chance(2):
        call = f"F.{call}"
    made = fill(
        _CALLS,
        line=line.format(call),
        bare=", ".join(_BARE),
        taken=text.maybe("column = top = x = n | torch.n = n", 6),
    )
    cause = {"call": each.call, "instead": each.instead, "where": each.where}
    return program(text, made + "\n", "torch_xla", 0, **cause)


def _written(text: Text, template: str) -> str:
    """A template's call with arguments of the program."""

    def value(found: re.Match[str]) -> str:
        word = found[0]
        follows = template[found.end() : found.end() + 1]
        before = template[: found.start()][-1:]
        if word not in _VALUES or (before == "." and follows == "(") or follows == "=":
            return word
        chosen = str(text.one_of(*_VALUES[word]))
        chosen = chosen.partition("=")[2] if "=" in chosen and before == "=" else chosen
        return f"({chosen})" if follows == "." and " " in chosen else chosen

    return re.sub(r"(?<![\w])[a-z_]\w*", value, template).replace("dim=dim=", "dim=")


_NUMBERS = """
    import random
    import torch
    import torch_xla
    from lab import Count
    count, kept = Count(), []
    t = torch.arange(40.0).reshape(10, 4)

    def train(t, g=2):
        x = torch.ones(4) * 2
        for n in range($range):
            $first
            $line
            kept.append(y)
            $last

    $helpers
    train(t)
    result = (kept, t)
    """


def number_as_tensor(text: Text) -> Program:
    line = text.pick("""
        y = x**g  #! | y = -(x**n * 2).mean()  #! | y = torch.pow(x, n)  #! | y = t[n]  #! |
        y = t[n] * 2  #! | y = torch.roll(t, n, 0)  #! |
        y = torch.roll(x, shifts=n, dims=0)  #! | y = torch.roll(t, g, 1)  #! |
        y = x.long()**n  #! | y = x.sum()**g  #! | t[n] += 1  #!\ny = t.sum() |
        t[n] = x  #!\ny = t.sum() | y = t[n].add_(1)  #! | y = t[n, 1]  #! | y = row(t[n])  #! |
        y = s**g  #! | y = k**g  #! | y = t[n] is t  #! | y = torch.roll(t, n, -1)  #!
    """)
    starts = {"s**": "s = torch.tensor(2.0)", "k**": "k = torch.tensor([1, 2])", "row(": ""}
    first = [start for word, start in starts.items() if word in line]
    made = fill(
        _NUMBERS,
        range=text.pick("3 | 1, 4 | 0 | len(t) | 12 | 5, 0, -1 | -2, 2"),
        first="\n".join(
            [
                *filter(None, first),
                *filter(None, [text.maybe("g = n | x = x * 1.5 | n = n - 1", 2)]),
            ]
        ),
        line=line,
        last=text.maybe("if n == 2:\n    break | x = x + 1 | t[n] = 0 | y.mul_(2)", 2),
        helpers="def row(each):\n    each[0] = 9\n    return each.sum()\n"
        if "row(" in line
        else "",
    )
    return program(text, made + "\n", "torch_xla", 0, op=text.maybe("", 2))


# -- settings --------------------------------------------------------------------------------

_SET = """
    $docstring
    import os
    $imports
    $above
    $line
    $below
    def compute(x):
        return x * 2 / $by

    $more
    print(os.environ.get("OTHER", "none"))
    result = $result
    """


def _settings(
    text: Text, line: str, by: str = "3", more: str = "", imports: str = "import torch"
) -> str:
    return (
        fill(
            _SET,
            docstring=text.one_of(
                "", '"""A program."""', '"""A program."""\nfrom __future__ import annotations'
            ),
            imports=imports,
            above=text.maybe("import random | print('begins') | value = '1'", 2),
            line=line,
            below=text.maybe("os.environ['OTHER'] = '2' | random_number = 4 | # done", 2),
            by=by,
            more=more,
            result="(compute(3.0), 0)",
        )
        + "\n"
    )


def default_cache_size(text: Text) -> Program:
    name = "XLA_COMPILATION_CACHE_SIZE"
    line = text.one_of(
        f"os.environ['{name}'] = '16'",
        f"os.environ.setdefault('{name}', '16')",
        f"if True:\n    os.environ['{name}'] = '16'",
        f"os.putenv('{name}', '4')",
        f"os.environ['{name}'] = os.environ['B'] = '16'",
        f"os.environ['{name}'] = str(16)",
    )
    more = text.one_of(
        "",
        "",
        "size = 3",
        f"print(os.environ['{name}'])",
        f"size = int(os.environ['{name}'])",
        "print(len([each for each in os.environ if each.startswith('XLA')]))",
    )
    return program(
        text, _settings(text, line, more=f"compute(1)  #!\n{more}".strip()), "torch_xla", 0
    )


def setting_removed(text: Text) -> Program:
    setting, line = text.one_of(
        ("XLA_IR_DEBUG", "os.environ['XLA_IR_DEBUG'] = '1'  #!"),
        ("XLA_IR_DEBUG", "os.environ.setdefault('XLA_IR_DEBUG', '1')  #!"),
        ("XLA_SYNC_WAIT", "os.environ['XLA_SYNC_WAIT'] = value  #!"),
        ("jax_debug_nans", "jax.config.update('jax_debug_nans', True)  #!"),
        ("jax_log_compiles", "jax.config.update('jax_log_compiles', False)  #!"),
        ("XLA_IR_DEBUG", "if True:\n    os.environ['XLA_IR_DEBUG'] = '1'  #!"),
        ("XLA_IR_DEBUG", "env = os.environ\nenv['XLA_IR_DEBUG'] = '1'  #!"),
    )
    more = text.maybe(
        """
        shown = os.environ.get('XLA_IR_DEBUG', '0') | print(os.environ.get('XLA_IR_DEBUG')) |
        print(jax.numpy.log(-1.0)) | if 'XLA_IR_DEBUG' in os.environ:\n    print('on') |
        mode = os.environ['XLA_IR_DEBUG']
    """,
        2,
    )
    imports = "import jax\nimport jax.numpy\nvalue = '1'"
    made = _settings(text, line, more=more, imports=imports)
    return program(text, made, "jax", 0, ("errors",), setting=setting)
