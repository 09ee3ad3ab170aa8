"""Runs a program's text in this process, and keeps all that it leaves behind.

Tensors and arrays are real, on the CPU. Calls of torch_xla are stubs: what it does to devices and
graphs does not change what a program computes. A copy to another device is a copy here too.
"""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import os
import random
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from tests.differential.lab import jax_lab, torch_lab
from tests.differential.stubs import imported, on_torch

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_DEPTH = 6  # of lists in lists
_DEEP = 60  # nodes of a gradient's history: more are as many


@dataclass
class Outcome:
    """What a run has left.

    Attributes:
        state: the program's variable ``result``, as plain values.
        line: of the program, in which the error was raised.
        races: arrays of NumPy that changed while a function of JAX may still have read them.
    """

    printed: list[str] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    state: Any = None
    raised: tuple[str, str] | None = None
    line: int = 0
    random: Any = None
    races: int = 0


def run(text: str, frontend: str, count: int, real: bool = False) -> Outcome:
    """Run a program with so many batches, by stubs of its framework or the framework itself."""
    outcome, printed = Outcome(), io.StringIO()
    space: dict[str, Any] = {"__name__": "__main__", "__file__": "train.py"}
    lab = (jax_lab if frontend == "jax" else torch_lab)(count)
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        folder = Path(enter(tempfile.TemporaryDirectory()))
        enter(contextlib.chdir(folder))
        enter(imported({"lab": lab}))
        enter(mock.patch.dict(os.environ))
        enter(contextlib.redirect_stdout(printed))
        enter(_logged(printed))
        enter(_seeded())
        races = enter(_jax(lab) if frontend == "jax" else on_torch(real))
        try:
            exec(compile(text, "train.py", "exec", dont_inherit=True), space)
        except Exception as error:
            outcome.raised = type(error).__name__, _ADDRESS.sub("", str(error))
            frames = traceback.extract_tb(error.__traceback__)
            outcome.line = [each.lineno or 0 for each in frames if each.filename == "train.py"][-1]
        outcome.state = plain(space.get("result"))
        outcome.random = _drawn()
        outcome.races = races()
        outcome.files = {
            str(each.relative_to(folder)): _contents(each)
            for each in sorted(folder.rglob("*"))
            if each.is_file()
        }
    outcome.printed = _ADDRESS.sub("", printed.getvalue()).splitlines()
    return outcome


def plain(value: Any, depth: int = 0) -> Any:
    """A value as numbers, texts, tuples and dicts; of a tensor also how long its history is."""
    if depth > _DEPTH or value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    kind, parts = type(value).__name__, value
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return kind, *_array(value)
    if hasattr(value, "state_dict") and hasattr(value, "training"):
        parts = {"training": value.training, **value.state_dict()}
    elif hasattr(value, "__dict__") and not callable(value):
        parts = vars(value)
    if isinstance(parts, dict):
        return kind, {str(key): plain(each, depth + 1) for key, each in parts.items()}
    if isinstance(parts, (list, tuple, set)):
        return kind, tuple(plain(each, depth + 1) for each in parts)
    return kind


def _array(value: Any) -> tuple[Any, ...]:
    if hasattr(value, "grad_fn"):
        array = value.detach().cpu().numpy()
        return str(value.dtype), array, value.requires_grad, _history(value)
    return str(value.dtype), np.asarray(value)


class History(int):
    """How many operations a gradient would go back through."""


def _history(tensor: Any) -> History:
    pending, seen = [tensor.grad_fn], set[Any]()
    while pending and len(seen) < _DEEP:
        node = pending.pop()
        if node is not None and node not in seen:
            seen.add(node)
            pending += [each for each, _ in node.next_functions]
    return History(len(seen))


def _contents(file: Path) -> list[str]:
    if file.suffix == ".pt":
        import torch

        return [repr(torch.load(file, weights_only=False))]
    return file.read_text("utf-8", "replace").splitlines()


@contextlib.contextmanager
def _logged(stream: io.StringIO) -> Iterator[None]:
    """Records of loggers and warnings among what is printed."""
    handler = logging.StreamHandler(stream)
    handler.addFilter(lambda record: record.filename == "train.py")
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    root.handlers, root.level = [handler], logging.INFO
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.handlers, root.level = handlers, level


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    import jax.numpy  # noqa: F401 - draws when it is imported, which a program may do
    import torch._dynamo

    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        torch.set_rng_state(kept[2])


def _drawn() -> Any:
    """The states of the generators of random numbers."""
    import torch

    state: Any = np.random.get_state()
    return hash(random.getstate()), state[1].tobytes(), state[2], bytes(torch.get_rng_state())


# -- JAX -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _jax(lab: ModuleType) -> Iterator[Callable[[], int]]:
    import jax
    from jax._src.array import ArrayImpl

    pending: list[tuple[Any, Any]] = []
    races = 0

    def waited() -> int:
        nonlocal races
        races += sum(not np.array_equal(array, copy) for array, copy in pending)
        pending.clear()
        return races

    real, ready, method = jax.jit, jax.block_until_ready, ArrayImpl.block_until_ready

    def watched(compiled: Any) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            pending.extend((each, each.copy()) for each in given if isinstance(each, np.ndarray))
            return compiled(*given, **named)

        return called

    def jit(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return functools.partial(jit, **kwargs)
        return functools.wraps(args[0])(watched(real(*args, **kwargs)))

    def all_ready(value: Any) -> Any:
        waited()
        return ready(value)

    def is_ready(self: Any) -> Any:
        waited()
        return method(self)

    with (
        mock.patch.object(jax, "jit", jit),
        mock.patch.object(lab, "step_of", watched(lab.step_of)),
        mock.patch.object(jax, "block_until_ready", all_ready),
        mock.patch.object(ArrayImpl, "block_until_ready", is_ready),
    ):
        try:
            yield waited
        finally:
            for name in ("jax_debug_nans", "jax_check_tracer_leaks"):
                jax.config.update(name, False)
