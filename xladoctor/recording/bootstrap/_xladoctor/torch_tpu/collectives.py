"""Records collectives that split what ``torch.compile`` compiles.

TorchTPU runs each collective of a compiled function by itself, and the parts around it as
executables of their own, unless the program says that all ranks run the function alike
(``torch.tpu.distributed.spmd_safe``).
"""

from __future__ import annotations

import re
import threading
from traceback import FrameSummary
from typing import Any, Iterator

from ..calls import Calls
from ..facts import Split
from ..pytorch.breaks import place

_FRAME = re.compile(r'File "(.+)", line (\d{1,9}), in (.+)')
_ALIKE = "spmd_safe"  # in the metadata of operators
_WAIT = "wait_tensor"  # of a collective, which does not split
_MOST = 100  # of a function


def install(calls: Calls, module: Any) -> None:
    """Wrap what compiles graphs, and what loads them from the cache on disk.

    Args:
        module: TorchTPU's, which splits graphs at collectives.

    Raises:
        AttributeError: another release of TorchTPU has other names.
    """
    collectives = _Collectives(calls, module)
    calls.hooks.replace(module.SplitCompiler, "_compile_graph", collectives.compiling)
    loaded = calls.after(collectives.loaded)
    calls.hooks.replace(module._SplitCompiledExecutable, "__init__", loaded)


class _Collectives:
    """The wrappers."""

    def __init__(self, calls: Calls, module: Any) -> None:
        self._calls = calls
        self._is_collective = module.collective_ops.is_collective_op
        self._part = module._WrapperModule
        self._local = threading.local()
        self._compiled: set[int | None] = set()  # sites whose code was compiled, and is copied then

    def compiling(self, original: Any) -> Any:
        """Wrap the method that compiles a graph."""

        def _compile_graph(compiler: Any, graph_module: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("materialize_collectives", True):
                self._calls.note(self._record, graph_module)
            self._local.compiles = True
            try:
                return original(compiler, graph_module, *args, **kwargs)
            finally:
                self._local.compiles = False

        return _compile_graph

    def loaded(self, _: Any, target: Any, *__: Any, **___: Any) -> None:
        """Called when an executable has been made, from a graph or from the cache."""
        if not getattr(self._local, "compiles", False):
            self._record_loaded(target)

    def _record(self, graph_module: Any) -> None:
        called_at = self._calls.line(4)
        self._compiled.add(called_at)
        for operator, text in _splits(graph_module, self._is_collective):
            at = place(self._calls.sites, _frames(text), called_at)
            self._calls.recorder.log_fact(Split(site=called_at, place=at, operator=operator))

    def _record_loaded(self, target: Any) -> None:
        """Of code from the cache only the number of its parts is known."""
        parts = sum(isinstance(part, self._part) for part in target.children())
        called_at = self._calls.line(4)
        for _ in range(0 if called_at in self._compiled else min(parts // 2, _MOST)):
            split = Split(site=called_at, place=called_at, operator="")
            self._calls.recorder.log_fact(split)


def _splits(graph_module: Any, is_collective: Any) -> Iterator[tuple[str, str]]:
    """The collectives at which a graph is split, each with the stack that called it, as text."""
    for node in graph_module.graph.nodes:
        target = getattr(node.target, "overloadpacket", node.target)
        name = getattr(target, "__name__", str(target)).rpartition(".")[2]
        if node.op != "call_function" or name == _WAIT or not is_collective(target):
            continue
        if not (node.meta.get("custom") or {}).get(_ALIKE):
            yield name, node.stack_trace or ""


def _frames(text: str) -> list[FrameSummary]:
    return [
        FrameSummary(file, int(line), name, lookup_line=False, line="")
        for file, line, name in _FRAME.findall(text)
    ]
