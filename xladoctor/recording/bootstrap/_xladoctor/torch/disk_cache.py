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

from ..cache_lookups import DIGITS, LookupLog, watched
from ..calls import Calls

_GRAPH = "gm"
_LINE = re.compile(r"\[(\w+)\] (\w+)(?:\[([^\]]+)\])?: (.*)", re.DOTALL)
_LONGEST = 200  # letters of a value
_MOST_TEXT = 64_000  # of a part of the key
_HIT, _MISS = "hit", "kept"


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
        cache, note = module.FxGraphCache, partial(watched, self._calls)
        for name, returned in (("prepare_key", self._prepared), ("load_with_key", self._loaded)):
            self._calls.hooks.put(cache, name, staticmethod(note(returned)(getattr(cache, name))))

    def _autograd(self, module: Any) -> None:
        hooks, cache = self._calls.hooks, module.AOTAutogradCache
        keying = watched(self._calls, self._keyed, self._bypassed)
        hooks.replace(module, "autograd_cache_key", keying)
        trying = watched(self._calls, self._tried)(cache.try_load)
        hooks.put(cache, "try_load", staticmethod(self._calls.before(self._begin, False)(trying)))

    def _prepared(self, prepared: Any, *_: Any) -> None:
        key, found = prepared
        if key is None:
            reason = str(found.get("cache_bypass_reason", ""))
            self._add("not kept", "", [], 0, "bypass", reason)

    def _loaded(self, loaded: Any, took: int, args: tuple[Any, ...], _: Any) -> None:
        self._local.looked = True
        self._add(_MISS if loaded[0] is None else _HIT, args[0], args[1], took)

    def _begin(self) -> None:
        local = self._local
        local.bypass, local.autograd, local.looked = None, None, False

    def _keyed(self, keyed: Any, *_: Any) -> None:
        self._local.autograd = keyed

    def _bypassed(self, error: BaseException) -> None:
        self._local.bypass = str(error)

    def _tried(self, loaded: Any, took: int, *_: Any) -> None:
        local = self._local
        if local.bypass is not None:
            self._add("not kept", "", [], 0, "bypass", local.bypass)
        elif _found(loaded) and local.autograd and not local.looked:
            self._add(_HIT, local.autograd[0], local.autograd[1], took)

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
