"""Logs lookups in a framework's cache of compiled graphs on disk, with the parts of their keys."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Callable

from . import clock
from .cache_facts import CacheKeyPart, CacheLookup
from .calls import Calls
from .disguise import hide_frames
from .step import ThreadState
from .texts import Texts

Wrap = Callable[[Any], Any]
#: What is called with a call's result, its nanoseconds, and its arguments.
Returned = Callable[[Any, int, tuple[Any, ...], dict[str, Any]], None]
Raised = Callable[[BaseException], None]

_HOOK = "cache on disk"
DIGITS = 16  # of a digest: two parts in 2**64 are taken for equal


def watched(calls: Calls, returned: Returned, raised: Raised | None = None) -> Wrap:
    """Makes wrappers of private functions of a framework, which call ``returned`` or ``raised``."""

    def wrap(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            begin = clock.perf_counter_ns()
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                if raised is not None:
                    calls.hooks.examine(_HOOK, raised, error)
                hide_frames(error)
                raise
            if not calls.recorder.off:
                took = clock.perf_counter_ns() - begin
                calls.hooks.examine(_HOOK, returned, result, took, args, kwargs)
            return result

        return call

    return wrap


class LookupLog:
    """Numbers lookups, and logs a part of a key only where it is another than before."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        """Begin anew: a forked child has a log of its own."""
        self._pid = os.getpid()
        self._texts = Texts()
        self._digests: dict[str, str] = {}  # of the parts of the key of the lookup before
        self._described = set[tuple[str, str]]()  # parts and digests whose text is logged
        self._count = 0

    def add(
        self,
        state: ThreadState,
        parts: Mapping[str, tuple[str, Callable[[], str | None]]],
        text: Callable[[], str | None],
        **fields: Any,
    ) -> None:
        """Log a lookup.

        Args:
            parts: of its key, by name: a digest, and what returns what was hashed as text.
            text: returns the text of its graph.
            fields: of a :class:`.cache_facts.CacheLookup`.
        """
        if self._pid != os.getpid():
            self._lock = threading.Lock()
            self._begin()
        log = self._calls.recorder.log_fact
        with self._lock:  # each lookup after the parts that are new with it
            number, self._count = self._count, self._count + 1
            for part, (digest, described) in parts.items():
                if self._digests.get(part) != digest:
                    self._digests[part] = digest
                    new = (part, digest) not in self._described
                    self._described.add((part, digest))
                    shown = described() if new else None
                    log(CacheKeyPart(lookup=number, part=part, digest=digest, text=shown))
        kept: dict[str, Any] = {}
        if self._texts.room(self._calls.graphs.folder):
            content = text()
            kept = {} if content is None else self._texts.keep(content)
        log(CacheLookup(thread=state.id, step=state.index, number=number, **fields, **kept))
