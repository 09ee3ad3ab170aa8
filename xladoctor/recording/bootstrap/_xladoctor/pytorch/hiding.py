"""Keeps the capture's own code out of what ``torch.compile`` compiles.

After a graph break Dynamo compiles each frame that the program calls, including wrappers, which
would change its frames, compile ids and warnings. And it recognises a tensor method that is called
through its class by identity, which a wrapper does not have.
"""

from __future__ import annotations

import functools
import os
from types import FunctionType
from typing import Any, Iterable

from ..call_site import CallSites
from ..calls import Calls
from ..events import Events
from ..import_hook import when_imported
from ..recorder import Recorder

#: What wrappers call besides the original: nothing in there is the program's.
_OURS = (CallSites, Events, Recorder)
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def hide_from_dynamo(methods: Iterable[Any], calls: Calls) -> None:
    """Hide the wrappers now, or once the program imports Dynamo, which takes seconds.

    Args:
        methods: wrappers of tensor methods, which Dynamo shall treat as the methods themselves.
    """
    own = frozenset(methods)

    def hide(rules: Any) -> None:
        if _HERE not in rules.SKIP_DIRS:
            rules.SKIP_DIRS.append(_HERE)
            rules._recompile_re()
        if own:
            calls.hooks.replace(rules, "get_tensor_method", _with(own))
        skip_with_all_below(value for kind in _OURS for value in vars(kind).values())

    when_imported("torch._dynamo.trace_rules", functools.partial(calls.note, hide))


def _with(own: frozenset[Any]) -> Any:
    def make(original: Any) -> Any:
        return functools.cache(lambda: original() | own)

    return make


def skip_with_all_below(functions: Iterable[Any]) -> None:
    """Have Dynamo never compile these functions, nor what they call. It must be imported."""
    from torch._C._dynamo.eval_frame import set_code_exec_strategy
    from torch._dynamo.types import FrameAction, FrameExecStrategy

    for function in functions:
        if isinstance(function, FunctionType):
            set_code_exec_strategy(
                function.__code__, FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP)
            )
