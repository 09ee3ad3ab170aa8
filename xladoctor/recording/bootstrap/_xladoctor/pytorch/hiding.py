"""Keeps the capture's own code out of what ``torch.compile`` compiles.

After a graph break Dynamo compiles each frame that the program calls, wrappers included: other
frames, compile ids and warnings than without us. And a method of tensors that is called through
its class is known by what it is, which a wrapper is not.
"""

from __future__ import annotations

import functools
import os
from types import FunctionType
from typing import Any, Iterable

from ..call_site import CallSites
from ..events import Events
from ..import_hook import when_imported
from ..patches import Patches
from ..recorder import Recorder

#: What wrappers call besides the original: there and below, nothing is the program's.
_OURS = (CallSites, Events, Recorder)
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def hide_from_dynamo(methods: Iterable[Any], patches: Patches, note: Any) -> None:
    """Now, or once the program imports Dynamo, which takes seconds.

    Args:
        methods: wrappers of tensor methods, which Dynamo is to take for these methods.
        patches: of the wrappers.
        note: see :meth:`.calls.Calls.note`.
    """
    own = frozenset(methods)

    def hide(rules: Any) -> None:
        if _HERE not in rules.SKIP_DIRS:
            rules.SKIP_DIRS.append(_HERE)
            rules._recompile_re()
        if own:
            patches.replace(rules, "get_tensor_method", _with(own))
        skip_with_all_below(value for kind in _OURS for value in vars(kind).values())

    when_imported("torch._dynamo.trace_rules", functools.partial(note, hide))


def _with(own: frozenset[Any]) -> Any:
    def make(original: Any) -> Any:
        return functools.cache(lambda: original() | own)

    return make


def skip_with_all_below(functions: Iterable[Any]) -> None:
    """Dynamo never compiles these, nor what they call; it has been imported."""
    from torch._C._dynamo.eval_frame import set_code_exec_strategy
    from torch._dynamo.types import FrameAction, FrameExecStrategy

    for function in functions:
        if isinstance(function, FunctionType):
            set_code_exec_strategy(
                function.__code__, FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP)
            )
