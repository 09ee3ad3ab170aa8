"""JAX's compilation cache on disk: what was looked up, what its key was made of, what was kept.

``jax._src.cache_key.get`` hashes eight parts, and names each once it is hashed; JAX itself logs
hashes alone. Here the hash also remembers its parts. The cache is never read or written from here.
"""

from __future__ import annotations

import hashlib
import os
import threading
from functools import partial
from typing import Any, Callable

from ..cache_lookups import DIGITS, LookupLog, watched
from ..calls import Calls
from ..step import ThreadState
from .computations import text_of

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_COMPUTATION = "computation"
_MOST_TEXT = 16_000  # bytes of a part of the key that are kept as text
_OF_WRITING = 5  # arguments of ``_cache_write`` before the callbacks, in older releases
_MOST_ERROR = 300


class _Hash:
    """A SHA-256 hash that remembers the parts of what it was given."""

    def __init__(self, *data: bytes) -> None:
        self._whole = hashlib.sha256(*data)
        self._new: list[bytes] = []
        self.parts: dict[str, tuple[str, bytes]] = {}  # digest and content by name

    def update(self, data: bytes) -> None:
        self._whole.update(data)
        self._new.append(data)

    def close(self, name: str) -> None:
        """End a part, unless it has ended before."""
        content = b"\n".join(self._new)
        self._new = []
        self.parts.setdefault(name, (hashlib.sha256(content).hexdigest()[:DIGITS], content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class _Hashlib:
    """Stands for ``hashlib`` where JAX makes keys."""

    def __init__(self, made: Callable[[_Hash], None]) -> None:
        self._made = made

    def sha256(self, *data: bytes) -> _Hash:
        whole = _Hash(*data)
        self._made(whole)
        return whole

    def __getattr__(self, name: str) -> Any:
        return getattr(hashlib, name)


class _Lookup:
    """A graph on its way through the cache.

    Attributes:
        entry_bytes: the compressed executable; None unless it was made to be written.
        stored: whether the cache was asked to keep it.
        reason: why it was not kept; see :class:`..cache_facts.CacheLookup`.
    """

    def __init__(self, key: str, whole: _Hash | None, arguments: tuple[Any, ...]) -> None:
        self.key = key
        self.parts = {} if whole is None else whole.parts
        self.devices, self.options = arguments[1:3]
        self.hit = self.asked = self.stored = False
        self.entry_bytes: int | None = None
        self.read_ns = self.write_ns = 0
        self.compile_ns: int | None = None
        self.reason: str | None = None
        self.detail: str | None = None


class DiskCache:
    """Logs each lookup as a fact.

    A lookup begins with its key, is read, and if that finds nothing perhaps written; all by one
    thread, within the call that compiles.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._log = LookupLog(calls)
        self._local = threading.local()

    def install(self) -> None:
        """Wrap what makes keys, what reads entries, and what writes them."""
        from jax._src import cache_key, compilation_cache, compiler, config, distributed, lru_cache

        self._calls.hooks.attempt("frames in programs", self._leave_out_frames)

        self._config, self._job = config, distributed
        #: Options that are no part of a key.
        self._left_out = set(cache_key.env_override_flags_to_exclude_from_cache_key)
        hooks, note = self._calls.hooks, partial(watched, self._calls)
        hooks.put(cache_key, "hashlib", _Hashlib(self._hash_made))
        hooks.replace(cache_key, "_log_cache_key_hash", self._calls.before(_close_part))
        hooks.replace(cache_key, "get", self._calls.before(self._key_begins, handed=False))
        hooks.replace(cache_key, "get", note(self._keyed))
        hooks.replace(
            compilation_cache, "get_executable_and_time", note(self._read, self._not_read)
        )
        hooks.replace(compiler, "_cache_write", note(self._written))
        hooks.replace(
            compilation_cache, "put_executable_and_time", note(_nothing, self._not_stored)
        )
        hooks.replace(compilation_cache, "compress_executable", note(self._compressed))
        hooks.replace(lru_cache.LRUCache, "put", self._calls.before(self._put))

    def _leave_out_frames(self) -> None:
        """Keep the wrappers' own frames out of the locations of operations: these are part of a
        key where the program wants that, so that entries written without xladoctor are found.
        """
        from jax._src import source_info_util

        source_info_util.register_exclusion(_OWN)

        def undo() -> None:
            source_info_util._exclude_paths.remove(_OWN)
            source_info_util._exclude_path_regex.cache_clear()

        self._calls.hooks.on_undo(undo)

    def begin(self) -> None:
        """A graph is about to be looked up, or compiled without a cache."""
        self._local.lookup, self._local.keyed = None, {}

    def _lookup(self) -> _Lookup | None:
        return getattr(self._local, "lookup", None)

    def _hash_made(self, whole: _Hash) -> None:
        if getattr(self._local, "whole", whole) is None:
            self._local.whole = whole  # later ones are made to be logged

    def _key_begins(self) -> None:
        self._local.whole = None

    def _keyed(self, key: str, _: int, args: tuple[Any, ...], __: Any) -> None:
        lookup = _Lookup(key, self._local.whole, args)
        getattr(self._local, "keyed", {})[key] = self._local.lookup = lookup

    def _read(self, found: Any, took: int, args: tuple[Any, ...], _: Any) -> None:
        lookup = getattr(self._local, "keyed", {}).get(args[0])
        if lookup is not None:
            self._local.lookup = lookup
            lookup.hit, lookup.read_ns = found[0] is not None, took

    def _not_read(self, error: BaseException) -> None:
        lookup = self._lookup()
        if lookup is not None:
            lookup.reason = "error" if isinstance(error, OSError) else "damaged"
            lookup.detail = _text_of(error)

    def _written(self, _: Any, took: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        lookup = self._lookup()
        if lookup is not None:
            compile_s = args[1]
            lookup.asked, lookup.write_ns = True, took
            lookup.compile_ns = int(compile_s * 1e9)
            callbacks = kwargs.get("host_callbacks", args[5] if len(args) > _OF_WRITING else ())
            self._explain(lookup, compile_s, bool(callbacks))

    def _not_stored(self, error: BaseException) -> None:
        lookup = self._lookup()
        if lookup is not None:
            lookup.reason, lookup.detail = "error", _text_of(error)

    def _compressed(self, packed: bytes, *_: Any) -> None:
        lookup = self._lookup()
        if lookup is not None:
            lookup.entry_bytes = len(packed)

    def _put(self, cache: Any, *entry: Any, **named: Any) -> None:
        """The cache is asked to keep an entry: it refuses one that is larger than all of it."""
        lookup = self._lookup()
        if lookup is None:
            return
        lookup.stored = True
        limit = cache.max_size if getattr(cache, "eviction_enabled", False) else None
        if limit is not None and (lookup.entry_bytes or 0) > limit:
            lookup.reason, lookup.detail = "large", str(limit)

    def _explain(self, lookup: _Lookup, compile_s: float, callbacks: bool) -> None:
        """Find out why an executable was not kept, in the order in which JAX asks."""
        config = self._config
        shortest = config.persistent_cache_min_compile_time_secs.value
        smallest = config.persistent_cache_min_entry_size_bytes.value
        if lookup.reason or lookup.stored:
            return
        if lookup.entry_bytes is not None:
            lookup.reason, lookup.detail = "small", str(smallest)
        elif self._job.global_state.process_id != 0:
            lookup.reason = "process"
        elif callbacks:
            lookup.reason = "callbacks"
        elif not config.compilation_cache_dir.value:
            lookup.reason = "folder"
        elif compile_s < shortest:
            lookup.reason, lookup.detail = "short", str(shortest)
        else:
            lookup.reason = "unsupported"

    def finish(
        self, state: ThreadState, lowered: Any, name: str, compilation: int, site: int | None
    ) -> bool | None:
        """Log the lookup of a graph that has been compiled, or loaded.

        Returns whether it was loaded; None if it was not looked up in any folder.
        """
        lookup = self._lookup()
        if lookup is None:
            return None
        self.begin()
        if not lookup.hit and not lookup.asked:
            lookup.reason = "shared"
        checks = getattr(self._config, "compilation_cache_check_contents", None)
        if lookup.stored and not lookup.reason and checks is not None and checks.value:
            lookup.reason = "checked"
        folder = self._config.compilation_cache_dir.value
        parts = {
            name: (digest, partial(self._text, name, content, lookup))
            for name, (digest, content) in lookup.parts.items()
            if name != _COMPUTATION
        }
        self._log.add(
            state,
            parts,
            partial(self._calls.hooks.examine, "text of computations", text_of, lowered),
            compilation=compilation,
            name=name,
            key=lookup.key,
            computation=lookup.parts.get(_COMPUTATION, ("",))[0],
            outcome="hit" if lookup.hit else "not kept" if lookup.reason else "kept",
            reason=lookup.reason,
            detail=lookup.detail,
            folder=folder,
            read_ns=lookup.read_ns,
            write_ns=lookup.write_ns,
            bytes=lookup.entry_bytes,
            compile_ns=lookup.compile_ns,
            site=site,
        )
        return lookup.hit if folder else None

    def _text(self, part: str, content: bytes, lookup: _Lookup) -> str | None:
        """What a part of the key was made of, readable; None if it is not."""
        if part == "compile_options":
            found = self._calls.hooks.examine("compile options", _options_text, lookup.options)
            lines = [] if found is None else found
            return "\n".join(line for line in lines if line.split(":")[0] not in self._left_out)
        if part == "accelerator_config":
            kinds = [str(device.device_kind) for device in lookup.devices.flat]
            return "\n".join(f"{kinds.count(kind)} x {kind}" for kind in dict.fromkeys(kinds))
        try:
            return content.decode() if len(content) <= _MOST_TEXT else None
        except UnicodeDecodeError:
            return None


def _close_part(whole: Any, name: str, *_: Any) -> None:
    if isinstance(whole, _Hash):
        whole.close(name)


def _nothing(*_: Any) -> None:
    """Of a call whose errors alone matter."""


def _text_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_MOST_ERROR]


def _options_text(options: Any) -> list[str]:
    """The compile options, one ``name: value`` a line."""
    build = options.executable_build_options
    debug = str(build.debug_options).splitlines()
    lines = [*_attributes(options), *_attributes(build)]
    return lines + [line for line in debug if ": " in line]


def _attributes(options: Any) -> list[str]:
    """The plain attributes of an object of the extension module."""
    names = [name for name in dir(options) if name[0] != "_"]
    values = [(name, getattr(options, name)) for name in names]
    nested = ("debug_options", "executable_build_options")
    return [
        f"{name}: {value}"[:_MOST_TEXT]
        for name, value in values
        if name not in nested and not callable(value)
    ]
