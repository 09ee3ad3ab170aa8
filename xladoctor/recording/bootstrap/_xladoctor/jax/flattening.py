"""How long JAX takes, in each call of a compiled function, to flatten its arguments.

The extension module does that without a Python frame of its own, so it is done once more here, by
itself: with the arguments as they are, and with their leaves in a tuple. JAX also compares the tree
with that of the call that compiled. A class that the program or a library has registered
has a flatten function in Python, which is called for each of its objects.
"""

from __future__ import annotations

from typing import Any, Callable

from .. import clock
from ..argument_facts import Flattening

AT_LAUNCH = 8  # of a line: warm-up is over, and the arguments are as in the steps to come
_LEAST_NS = 50_000
_TIMES = 3  # of which the fastest counts

_clock = clock.perf_counter_ns


def flattening(
    tree_util: Any, function: Any, args: Any, kwargs: Any, where: dict[str, Any]
) -> Flattening | None:
    """What a call with these arguments takes to flatten them; None if that is little.

    Args:
        where: the thread and the site.
    """
    if type(function).__name__ != "PjitFunction":
        return None
    given = _dynamic(function, args, kwargs)
    flatten = tree_util.tree_flatten
    if _spent(flatten, given, 1) < _LEAST_NS:
        return None
    leaves, tree = flatten(given)
    most = max(given, key=lambda name: _spent(flatten, given[name], 1))
    return Flattening(
        **where,
        compiled=str(getattr(function, "__name__", "")),
        leaves=len(leaves),
        duration_ns=_spent(flatten, given, _TIMES),
        plain_ns=_spent(flatten, tuple(leaves), _TIMES),
        argument=most,
        argument_leaves=len(flatten(given[most])[0]),
        node=_class(tree),
    )


def _dynamic(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments that are flattened, by name: all but static ones."""
    info, named = function._jit_info, dict(kwargs)
    names = [*getattr(info.fun_signature, "parameters", ())]
    for number, value in enumerate(args):
        if not {number, number - len(args)} & {*info.static_argnums}:
            named[names[number] if number < len(names) else f"argument {number}"] = value
    return {name: named[name] for name in named if name not in info.static_argnames}


def _spent(flatten: Callable[[Any], Any], value: Any, times: int) -> int:
    """Nanoseconds of flattening, and of comparing the tree with an equal one."""
    _, other = flatten(value)
    fastest = 0
    for _ in range(times):
        begin = _clock()
        _, tree = flatten(value)
        tree == other  # noqa: B015
        hash(tree)
        spent = _clock() - begin
        fastest = min(fastest or spent, spent)
    return fastest


def _class(tree: Any) -> str | None:
    """The class of the tree's first node that is none of Python's own."""
    data = tree.node_data()
    if data is None or data[0] not in (dict, list, tuple):
        return data and str(data[0].__qualname__)
    return next(filter(None, map(_class, tree.children())), None)
