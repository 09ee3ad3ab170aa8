"""The caches of torch.compile on disk: Inductor's (of FX graphs), and AOTAutograd's above it.

Inductor names and hashes each attribute of what its key is made of (``debug_lines`` of
``torch._inductor.codecache``), a line each: ``[hash] name: value``, the graph as ``gm``.
"""

from __future__ import annotations

import hashlib
import re
import threading
from functools import partial
from typing import Any, Callable

from .. import clock
from ..cache_lookups import DIGITS, LookupLog
from ..calls import Calls
from ..disguise import hide_frames

_GRAPH = "gm"
_LINE = re.compile(r"\[(\w+)\] (\w+)(?:\[([^\]]+)\])?: (.*)", re.DOTALL)
_LONGEST = 200  # letters of a value
_MOST_TEXT = 64_000  # of a part of the key
_HIT, _MISS = "hit", "kept"

_clock = clock.perf_counter_ns


class DiskCache:
    """Logs what is looked up. A graph that AOTAutograd finds is looked up by Inductor as well,
    except where the entry has both.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._log = LookupLog(calls)
        self._local = threading.local()  # bypass: AOTAutograd's reason; looked: Inductor looked

    def install(self) -> None:
        """Wrap the lookups once the program has imported them."""
        hooks = self._calls.hooks
        hooks.await_module("cache on disk", "torch._inductor.codecache", self._inductor)
        autograd = "torch._functorch._aot_autograd.autograd_cache"
        hooks.await_module("cache of autograd", autograd, self._autograd)

    def _inductor(self, module: Any) -> None:
        self._cache_dir: Callable[[], str] = module.cache_dir
        cache, hooks = module.FxGraphCache, self._calls.hooks
        hooks.put(cache, "prepare_key", staticmethod(self._preparing(cache.prepare_key)))
        hooks.put(cache, "load_with_key", staticmethod(self._loading(cache.load_with_key)))

    def _autograd(self, module: Any) -> None:
        hooks, cache = self._calls.hooks, module.AOTAutogradCache
        hooks.replace(module, "autograd_cache_key", self._keying)
        hooks.put(cache, "try_load", staticmethod(self._trying(cache.try_load)))

    def _preparing(self, original: Any) -> Any:
        def prepare_key(*args: Any, **kwargs: Any) -> Any:
            key, found = original(*args, **kwargs)
            if key is None:
                reason = str(found.get("cache_bypass_reason", ""))
                self._calls.note(self._add, "not kept", "", [], 0, "bypass", reason)
            return key, found

        return prepare_key

    def _loading(self, original: Any) -> Any:
        def load_with_key(key: str, lines: list[str], *args: Any, **kwargs: Any) -> Any:
            begin = _clock()
            graph, found = original(key, lines, *args, **kwargs)
            outcome = _MISS if graph is None else _HIT
            self._local.looked = True
            self._calls.note(self._add, outcome, key, lines, _clock() - begin)
            return graph, found

        return load_with_key

    def _keying(self, original: Any) -> Any:
        def autograd_cache_key(*args: Any, **kwargs: Any) -> Any:
            try:
                self._local.autograd = original(*args, **kwargs)
            except BaseException as error:
                self._local.bypass = str(error)
                hide_frames(error)
                raise
            return self._local.autograd

        return autograd_cache_key

    def _trying(self, original: Any) -> Any:
        def try_load(*args: Any, **kwargs: Any) -> Any:
            local, begin = self._local, _clock()
            local.bypass, local.autograd, local.looked = None, None, False
            try:
                function = original(*args, **kwargs)
            except BaseException as error:
                hide_frames(error)
                raise
            if local.bypass is not None:
                self._calls.note(self._add, "not kept", "", [], 0, "bypass", local.bypass)
            elif _found(function) and local.autograd and not local.looked:
                self._calls.note(self._add, _HIT, *local.autograd[:2], _clock() - begin)
            return function

        return try_load

    def _add(
        self,
        outcome: str,
        key: str,
        lines: list[str],
        read_ns: int,
        reason: str | None = None,
        detail: str | None = None,
    ) -> None:
        recorder = self._calls.recorder
        if recorder.off or not self._calls.events.awake:
            return
        parts, graph = _parts(lines)
        self._log.add(
            recorder.thread(),
            {name: (digest, partial(str, text)) for name, (digest, text) in parts.items()},
            lambda: graph,
            compilation=recorder.compilations.count,
            name="",
            key=key,
            computation="" if graph is None else _digest(graph),
            outcome=outcome,
            reason=reason,
            detail=detail if detail is None else detail[:_LONGEST],
            folder=self._cache_dir(),
            read_ns=read_ns,
            write_ns=0,
            site=self._calls.sites.here(4),
        )


def _found(loaded: Any) -> bool:
    """Whether AOTAutograd loaded a function; newer releases return their configuration with it."""
    return (loaded[0] if isinstance(loaded, tuple) else loaded) is not None


def _parts(lines: list[str]) -> tuple[dict[str, tuple[str, str]], str | None]:
    """The parts of a key, each with its digest and text, and the graph."""
    found: dict[str, list[tuple[str, str]]] = {}
    graph = None
    for line in filter(None, map(_LINE.fullmatch, lines)):
        digest, part, field, value = line.groups()
        if part == _GRAPH:
            graph = value
            continue
        text = value if field is None else f"{field}: {value}"
        found.setdefault(part, []).append((digest, text.replace("\n", " ")[:_LONGEST]))
    return {
        part: (
            _digest("".join(digest for digest, _ in rows)),
            "\n".join(text for _, text in rows)[:_MOST_TEXT],
        )
        for part, rows in found.items()
    }, graph


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:DIGITS]
