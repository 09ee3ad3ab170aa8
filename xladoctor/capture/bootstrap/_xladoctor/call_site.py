"""Which line of which file is to be named for what happens now.

A frame is *machinery* (the standard library, torch, torch_xla, this package), *library* (any
other installed package) or *user*. The named line is the innermost one that is not machinery;
where that lies in a library, the nearest user line is kept as its context.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from types import FrameType
from typing import Any

USER, LIBRARY, MACHINERY = 0, 1, 2
_MAX_DEPTH = 200
_MAX_SITES = 20_000


def _folders() -> dict[str, list[str]]:
    paths = sysconfig.get_paths()
    installed = {os.path.realpath(paths[key]) for key in ("purelib", "platlib") if key in paths}
    installed |= {os.path.realpath(p) for p in sys.path if "-packages" in os.path.basename(p)}
    standard = {os.path.realpath(paths[key]) for key in ("stdlib", "platstdlib") if key in paths}
    return {"standard": sorted(standard), "installed": sorted(installed)}


class CallSites:
    """Interns call sites as small integers; thread-safe enough (a lost race costs a duplicate)."""

    def __init__(self) -> None:
        self.folders = _folders()
        self._kinds: dict[str, int] = {}
        self._index: dict[tuple[Any, ...], int] = {}
        self.rows: list[tuple[Any, ...]] = []

    def kind(self, filename: str) -> int:
        known = self._kinds.get(filename)
        if known is None:
            known = self._kinds[filename] = self._classify(filename)
        return known

    def _classify(self, filename: str) -> int:
        if filename.startswith("<") and not filename.startswith("<ipython"):
            return MACHINERY
        path = os.path.realpath(filename)
        if os.sep + "_xladoctor" + os.sep in path:
            return MACHINERY
        for folder in self.folders["installed"]:
            if path.startswith(folder + os.sep):
                package = path[len(folder) + 1 :].split(os.sep, 1)[0]
                return MACHINERY if package in ("torch", "torch_xla", "torchgen") else LIBRARY
        inside = any(path.startswith(folder + os.sep) for folder in self.folders["standard"])
        return MACHINERY if inside else USER

    def here(self, skip: int = 1) -> int | None:
        """The site of the caller ``skip`` frames up; None when no nameable line is on the stack."""
        return self.of(sys._getframe(skip))

    def of(self, frame: FrameType | None) -> int | None:
        """The site that ``frame`` stands at, as an index into :attr:`rows`."""
        kinds = self._kinds
        guilty = None
        via = ""
        for _ in range(_MAX_DEPTH):
            if frame is None:
                break
            code = frame.f_code
            kind = kinds.get(code.co_filename)
            if kind is None:
                kind = self.kind(code.co_filename)
            if kind == LIBRARY and frame.f_globals.get("__name__") == "__main__":
                kind = USER  # `-m package`: the program itself is installed
            if kind == USER:
                return self._intern(guilty or frame, frame, via)
            if kind == LIBRARY:
                guilty = guilty or frame
            elif guilty is None and "_xladoctor" not in code.co_filename:
                via = code.co_name
            frame = frame.f_back
        return self._intern(guilty, None, via) if guilty is not None else None

    def _intern(self, guilty: FrameType, user: FrameType | None, via: str) -> int | None:
        context = None if user is guilty else user
        key = (guilty.f_code, guilty.f_lineno, context and context.f_code,
               context and context.f_lineno, via)  # fmt: skip
        site = self._index.get(key)
        if site is None and len(self.rows) < _MAX_SITES:
            self.rows.append((*_place(guilty), *(_place(context) if context else (None,) * 3), via))
            site = self._index[key] = len(self.rows) - 1
        return site

    def describe(self) -> list[dict[str, Any]]:
        """All sites, with the text of their lines as it was when the program ran."""
        names = ("file", "line", "function", "user_file", "user_line", "user_function", "via")
        described = []
        for row in list(self.rows):
            site = dict(zip(names, row))
            site["source"] = linecache.getline(row[0], row[1]).rstrip("\n")
            described.append(site)
        return described


def _place(frame: FrameType) -> tuple[str, int, str]:
    name = frame.f_code.co_filename
    path = name if name.startswith("<") else os.path.abspath(name)
    return path, frame.f_lineno, getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
