"""The large arrays that a compiled function takes and returns, and which of them are donated."""

from __future__ import annotations

from typing import Any, Iterator

from .constants import size_of, text_of

#: Bytes from which the memory of an array can matter.
LARGE = 1 << 16
_MOST = 128  # arguments, and results, that are recorded, the largest first


def call_arrays(inferred: Any) -> list[list[Any]]:
    """The arrays of what JAX inferred for a call: arguments, then results, each with its path.

    ``donated`` is what the program asked for; JAX, and then XLA, may find no use for it.
    """
    params, jaxpr = inferred.params, inferred.params["jaxpr"]
    paths = getattr(getattr(jaxpr, "jaxpr", jaxpr).debug_info, "result_paths", None)
    results = list(jaxpr.out_avals)
    if not isinstance(paths, tuple) or len(paths) != len(results):
        paths = [""] * len(results)
    extra = len(params["donated_invars"]) - len(inferred.in_avals)
    given = zip(inferred.arg_names, inferred.in_avals, params["donated_invars"][extra:])
    return [
        *_largest("argument", given),
        *_largest("result", ((path, aval, False) for path, aval in zip(paths, results))),
    ]


def _largest(role: str, arrays: Iterator[tuple[Any, Any, bool]]) -> list[list[Any]]:
    """Fields of the step log: role, number, path, type and shape, bytes, whether it is donated."""
    found: list[list[Any]] = [
        [role, number, str(path or ""), text_of(aval), size_of(aval), donated]
        for number, (path, aval, donated) in enumerate(arrays)
        if size_of(aval) >= LARGE
    ]
    return sorted(found, key=lambda each: -each[4])[:_MOST]
