"""Records collectives that split what ``torch.compile`` compiles.

TorchTPU runs each collective of a compiled function by itself, and the parts around it as
executables of their own, unless the program says that all ranks run the function alike
(``torch.tpu.distributed.spmd_safe``).
"""

from __future__ import annotations

import re
from traceback import FrameSummary
from typing import Any, Iterator

from ..calls import Calls
from ..facts import Split
from ..patches import Patches
from ..pytorch.breaks import place

_FRAME = re.compile(r'File "(.+)", line (\d{1,9}), in (.+)')
_ALIKE = "spmd_safe"  # in the metadata of operators
_WAIT = "wait_tensor"  # of a collective, which does not split


def install(calls: Calls, patches: Patches, module: Any) -> None:
    """Wrap what compiles a graph.

    Args:
        module: TorchTPU's, which splits graphs at collectives.

    Raises:
        AttributeError: another release of TorchTPU has other names.
    """
    is_collective = module.collective_ops.is_collective_op

    def wrap(original: Any) -> Any:
        def _compile_graph(self: Any, graph_module: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("materialize_collectives", True):
                calls.note(record, graph_module)
            return original(self, graph_module, *args, **kwargs)

        return _compile_graph

    def record(graph_module: Any) -> None:
        called_at = calls.line(4)
        for operator, text in _splits(graph_module, is_collective):
            calls.recorder.log_fact(
                Split(
                    site=called_at,
                    place=place(calls.sites, _frames(text), called_at),
                    operator=operator,
                )
            )

    patches.replace(module.SplitCompiler, "_compile_graph", wrap)


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
