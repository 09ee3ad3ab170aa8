"""Kinds of fixes that change loaders."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixes.harness import change, fixed, refusal

HEAD = "import torch\nfrom torch.utils.data import DataLoader, Dataset, IterableDataset\n"
DATA = """
class Recordings(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return read(index)
"""
LOADERS: dict[str, Any] = {"loaders": [{"file": "train.py", "line": 4}], "full": 8}


def test_the_last_batch_is_left_out() -> None:
    text = f"{HEAD}\nloader = DataLoader(data, batch_size=8, shuffle=True)\n"
    after = text.replace("True)", "True, drop_last=True)")
    assert fixed("drop_last", text, **LOADERS) == after
    assert "drops" in change("drop_last", text, **LOADERS).behaviour


@pytest.mark.parametrize(
    ("loops", "passes"),
    [
        ("for x in loader:\n    step(x)\n", "once"),
        ("for n, x in enumerate(loader):\n    step(x)\n", "once"),
        ("for epoch in range(9):\n    for x in loader:\n        step(x)\n", "often"),
        ("for x in loader:\n    step(x)\nfor x in loader:\n    test(x)\n", "often"),
        ("train(loader)\n", "often"),
        ("def train():\n    for x in loader:\n        step(x)\n", "often"),
    ],
)
def test_workers_that_are_kept_draw_less_in_later_passes(loops: str, passes: str) -> None:
    text = f"{HEAD}{DATA}\nloader = DataLoader(Recordings(), shuffle=True)  #!\n{loops}"
    behaviour = change("loader_workers", text).behaviour
    assert ("start with different random numbers" in behaviour) == (passes == "often")


@pytest.mark.parametrize(
    "line",
    [
        "loader = DataLoader(data, 8, drop_last=False)",
        "loader = DataLoader(data, 8, False, None, None, 0, None, False, False)",
        "loader = DataLoader(data, **given)",
        "loader = DataLoader(*given)",
        "loader = DataLoader(data, batch_sampler=sampler)",
        "loader = DataLoader(data, batch_size=None)",
        "loader = DataLoader(data, batch_size=1)",
        "test_loader = DataLoader(data, 8)",
        "loader = DataLoader(test_data, 8)",
        "self.valLoader = DataLoader(data, 8)",
        "loaders = [DataLoader(each, 8) for each in (training, validation)]",
        "def evaluate(): return DataLoader(data, 8)",
        "a, b = DataLoader(data, 8), DataLoader(data, 8)",
        "loader = Loader(data, 8)",
        "loader = self.DataLoader(data, 8)",
        "loader = tf.data.DataLoader(data, 8)",
        "loader = partial(DataLoader, data, 8)",
        "loader = make_loader(data, 8)",
        "loader = DataLoader",
        "batch = data[:8]",
    ],
)
def test_drop_last_is_refused(line: str) -> None:
    assert refusal("drop_last", f"{HEAD}\n{line}\n", **LOADERS)


@pytest.mark.parametrize(
    "loaders",
    [
        [],
        [{"file": "train.py", "line": 4}, {"file": "train.py", "line": 5}],
        [{"file": "data.py", "line": 4}],
        [{"file": "train.py", "line": 1}],
    ],
)
def test_drop_last_is_refused_for_other_loaders(loaders: list[dict[str, Any]]) -> None:
    assert refusal("drop_last", f"{HEAD}\nloader = DataLoader(data, 8)\n", loaders=loaders)


@pytest.mark.parametrize("name", ["device_data", "values", "intervals", "contest"])
def test_names_that_only_begin_so_are_no_evaluation(name: str) -> None:
    assert fixed("drop_last", f"{HEAD}\nloader = DataLoader({name}, 8)\n", **LOADERS)


def test_workers_are_added() -> None:
    text = f"{HEAD}{DATA}\nfor x in DataLoader(Recordings(), batch_size=8):  #!\n    step(x)\n"
    assert fixed("loader_workers", text).endswith(
        "for x in DataLoader(Recordings(), batch_size=8, num_workers=8, persistent_workers=True):\n"
        "    step(x)\n"
    )
    assert "num_workers=2, " in fixed("loader_workers", text, "torch", most=2)


def test_workers_for_a_data_set_in_a_variable() -> None:
    text = f"""{HEAD}{DATA}
def main():
    data = Recordings()
    loader = DataLoader(  #!
        data,
        batch_size=8,
    )
"""
    assert "        batch_size=8,\n        num_workers=8, persistent_workers=True,\n" in fixed(
        "loader_workers", text
    )


def test_workers_draw_from_generators_of_their_own() -> None:
    text = f"{HEAD}{DATA}\nfor x in DataLoader(Recordings()):  #!\n    step(x)\n"
    drawing = text.replace("read(index)", "torch.randn(3)")
    assert not change("loader_workers", text).behaviour
    assert "generator" in change("loader_workers", drawing).behaviour


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (DATA, "loader = DataLoader(Recordings(), num_workers=0)"),
        (DATA, "loader = DataLoader(Recordings(), 8, False, None, None, 0)"),
        (DATA, "loader = DataLoader(Recordings(), **given)"),
        (DATA, "loader = DataLoader(other, 8)"),
        (DATA, "loader = DataLoader(Other(), 8)"),
        (DATA, "loader = DataLoader(make(), 8)"),
        (DATA, "loader = DataLoader(self.data, 8)"),
        (DATA, "data = Recordings()\ndata = other\nloader = DataLoader(data, 8)"),
        (DATA, "loader = Loader(Recordings(), 8)"),
        (DATA, "a, b = DataLoader(Recordings()), DataLoader(Recordings())"),
        (DATA, "loader = 1"),
        (DATA.replace("(Dataset)", "(IterableDataset)"), "loader = DataLoader(Recordings())"),
        (
            DATA.replace("(Dataset)", "(torch.utils.data.IterableDataset)"),
            "loader = DataLoader(Recordings())",
        ),
        (DATA.replace("__getitem__", "__iter__"), "loader = DataLoader(Recordings())"),
        (DATA.replace("__getitem__", "get"), "loader = DataLoader(Recordings())"),
        (DATA.replace("read(index)", "x.to(device)"), "loader = DataLoader(Recordings())"),
        (DATA.replace("read(index)", "x.cuda()"), "loader = DataLoader(Recordings())"),
        (
            DATA.replace("return read", "self.count += 1; return read"),
            "loader = DataLoader(Recordings())",
        ),
        (
            DATA.replace("return read", "seen[index] += 1; return read"),
            "loader = DataLoader(Recordings())",
        ),
        (
            DATA.replace("return read", "global seen; return read"),
            "loader = DataLoader(Recordings())",
        ),
    ],
)
def test_workers_are_refused(data: str, line: str) -> None:
    lines = line.splitlines()
    lines[-1] += "  #!"
    assert refusal("loader_workers", f"{HEAD}{data}\n" + "\n".join(lines) + "\n")
    assert refusal("loader_workers", f"{HEAD}{data}\n" + "\n".join(lines) + "\n", "torch")


def test_workers_are_refused_beside_threads_of_the_framework() -> None:
    text = f"{HEAD}{DATA}\nloader = DataLoader(Recordings())  #!\n"
    assert "fork" in refusal("loader_workers", text, "jax")


def test_samples_in_threads() -> None:
    text = f"{HEAD}{DATA}\nloader = DataLoader(Recordings(), batch_size=8)  #!\n"
    head = (
        HEAD + "from concurrent.futures import ThreadPoolExecutor\n\npool = ThreadPoolExecutor(8)\n"
    )
    data = DATA + (
        "\n    def __getitems__(self, indices):\n"
        "        return list(pool.map(self.__getitem__, indices))\n"
    )
    assert fixed("samples_in_threads", text, "jax") == (
        f"{head}{data}\nloader = DataLoader(Recordings(), batch_size=8)\n"
    )


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("class Recordings(Dataset)", "@register\nclass Other(Dataset)"),
        ("def __getitem__", "def __getitems__"),
        ("def __getitem__", "def __iter__"),
        ("    def __getitem__", "    @cache\n    def __getitem__"),
        ("return read(index)", "self.last = index; return read(index)"),
        ("return read(index)", "seen[index] = 1; return read(index)"),
        ("return read(index)", "self.count += 1; return read(index)"),
        ("return read(index)", "global seen; return read(index)"),
        ("return read(index)", "return torch.randn(3)"),
        ("return read(index)", "return random.random()"),
        ("return read(index)", "return pool.get(index)"),
        ("Recordings(), batch_size=8", "Recordings(), batch_size=1"),
        ("Recordings(), batch_size=8", "Recordings(), batch_size=None"),
        ("Recordings(), batch_size=8", "other, batch_size=8"),
        ("Recordings(), batch_size=8", "*given"),
        ("DataLoader(Recordings(), batch_size=8)", "make(Recordings())"),
    ],
)
def test_samples_in_threads_are_refused(was: str, now: str) -> None:
    text = f"{HEAD}{DATA}\nloader = DataLoader(Recordings(), batch_size=8)  #!\n"
    assert refusal("samples_in_threads", text.replace(was, now), "jax")


def test_samples_in_threads_are_refused_where_workers_can_be_forked() -> None:
    text = f"{HEAD}{DATA}\nloader = DataLoader(Recordings(), batch_size=8)  #!\n"
    assert "fork" in refusal("samples_in_threads", text)


def test_a_loader_that_cannot_keep_up_has_more_workers() -> None:
    text = (
        f"{HEAD}loader = DataLoader(data, 8, num_workers=1)  #! made\nfor x in loader: pass  #!\n"
    )
    after = text.replace("=1", "=8").replace("  #! made", "").replace("  #!", "")
    assert fixed("more_workers", text) == after
    assert "random" in change("more_workers", text).behaviour


@pytest.mark.parametrize(
    "given",
    [
        "num_workers=8",
        "num_workers=32",
        "num_workers=0",
        "num_workers=count",
        "num_workers=2 * 2",
        "num_workers=args.workers",
        "num_workers=len(os.sched_getaffinity(0))",
        "shuffle=True",
        "False, None, None, 1",
        "**given",
        "*given",
    ],
)
def test_other_numbers_of_workers_stay(given: str) -> None:
    text = f"{HEAD}loader = DataLoader(data, 8, {given})  #! made\n"
    assert refusal("more_workers", text)


@pytest.mark.parametrize(
    "line",
    [
        "a, b = DataLoader(x, num_workers=1), DataLoader(y, num_workers=1)  #! made",
        "loader = MyLoader(data, num_workers=1)  #! made",
        "loader = make(num_workers=1)  #! made",
        "for x in loader: pass  #!",
    ],
)
def test_other_makers_of_loaders_are_refused(line: str) -> None:
    assert refusal("more_workers", f"{HEAD}{line}\n")
