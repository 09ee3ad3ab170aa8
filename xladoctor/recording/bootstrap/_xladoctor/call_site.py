"""Which line of which file to name for what is happening now.

A frame is *machinery* (the standard library, NumPy, the *framework*, this package), *library* (any
other installed package) or *user*. The named line is the innermost one that is not machinery.
If that line is in a library, the nearest user line is kept as its context. A library frame that
only *passes on* its own arguments, as a decorator's wrapper does, is named only if no user line
is above it.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
import opcode
import os
import sys
import sysconfig
import time
from types import CodeType, FrameType
from typing import Any, Collection, Iterable

from .ignores import Ignore, ignores
from .loops import Loops
from .redaction import redact_code

USER, LIBRARY, MACHINERY, FRAMEWORK, OURS = 0, 1, 2, 3, 4
_MAX_DEPTH = 200
_MAX_CALLERS = 16
_MAX_SITES = 20_000
_MAX_SITES_WITH_SAMPLED = 10_000  # samples leave room for the sites of reads and barriers
_INSTALLED = ("/site-packages/", "/dist-packages/")
_MACHINERY = ("numpy",)  # reads the values of a framework's arrays, as np.mean(losses) does
_TAKES_ANYTHING = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_STARRED_CALL = opcode.opmap["CALL_FUNCTION_EX"]

#: File, line and function of the named line, the same for its context, and the framework's function
#: that it called.
PLACE = ("file", "line", "function", "user_file", "user_line", "user_function", "via")
Place = tuple[str, int, str, "str | None", "int | None", "str | None", str]


def _folders() -> dict[str, list[str]]:
    paths = sysconfig.get_paths()
    installed = {os.path.realpath(paths[key]) for key in ("purelib", "platlib") if key in paths}
    installed |= {os.path.realpath(p) for p in sys.path if "-packages" in os.path.basename(p)}
    standard = {os.path.realpath(paths[key]) for key in ("stdlib", "platstdlib") if key in paths}
    return {"standard": sorted(standard), "installed": sorted(installed)}


class CallSites:
    """Interns call sites as small integers; thread-safe enough (a lost race costs a duplicate)."""

    def __init__(
        self, framework: Collection[str], entries: Iterable[str] = (), wrappers: Iterable[str] = ()
    ) -> None:
        """
        Args:
            framework: the installed packages that belong to it.
            entries: its functions that do not name a call, and neither does what they call.
            wrappers: its functions that do not name a call, while what they call may.
        """
        self._framework = framework
        self.generated = ""  # prefix of the paths of code that the framework generates, if any
        self._nameless = {**dict.fromkeys(entries, True), **dict.fromkeys(wrappers, False)}
        self.folders = _folders()
        self._kinds: dict[str, int] = {}
        self._index: dict[Place, int] = {}
        self._known: dict[tuple[int, int, str], tuple[CodeType, int]] = {}
        self._passing: dict[tuple[int, int], tuple[CodeType, int, bool]] = {}
        self.rows: list[Place] = []
        self._callers: dict[int, list[tuple[str, int, str]]] = {}  # not for sites of samples
        self._ignores: dict[str, list[Ignore]] = {}
        self._hashes: dict[str, str] = {}
        self._began_ns = time.time_ns()
        self._loops = Loops()
        self._around: dict[int, list[tuple[str, int, int, str]]] = {}
        self.sampled = 0  # rows that were first seen by a sample
        #: Launches by site, and the work of its heaviest graph, where the framework reports them.
        self.launches: dict[int | None, int] = {}
        #: Compiled parts run by site, if the framework compiles functions in parts.
        self.parts: dict[int | None, int] | None = None
        #: Compiled functions that each site calls, by number, if functions are compiled in parts.
        self.functions: dict[int | None, set[int]] = {}
        self.work: dict[int | None, float] = {}
        self.ended_steps: dict[int | None, int] = {}  # steps ended by site
        #: By site: reads whose launch is known, and how many of those came after the launching line
        #: had launched again.
        self.origins: dict[int | None, list[int]] = {}
        #: Sites that have launched nothing but single operations of the framework.
        self.operations: set[int | None] = set()
        #: Sites in `operations` that seemed to end steps until a loop that launches functions was
        #: found.
        self.beside: set[int | None] = set()
        #: Call instructions that launch graphs (id of the code, offset). Holding the code keeps its
        #: id from being reused.
        self.launching: dict[tuple[int, int], CodeType] = {}

    def kind(self, filename: str) -> int:
        known = self._kinds.get(filename)
        if known is None:
            known = self._kinds[filename] = self._classify(filename)
        return known

    def known_files(self, kind: int) -> set[str]:
        """The files that were classified so until now, as they were met on a stack."""
        return {file for file, found in self._kinds.copy().items() if found == kind}

    def _classify(self, filename: str) -> int:
        if filename.startswith("<") and not filename.startswith("<ipython"):
            return MACHINERY
        path = os.path.realpath(filename)
        if self.generated and path.startswith(self.generated):
            return FRAMEWORK
        if os.sep + "_xladoctor" + os.sep in path:
            return OURS
        package = self._package(path)
        if package is not None:
            if package in _MACHINERY:
                return MACHINERY
            return FRAMEWORK if package in self._framework else LIBRARY
        inside = any(path.startswith(folder + os.sep) for folder in self.folders["standard"])
        return MACHINERY if inside else USER

    def _package(self, path: str) -> str | None:
        for folder in self.folders["installed"]:
            if path.startswith(folder + os.sep):
                return path[len(folder) + 1 :].split(os.sep, 1)[0]
        for marker in _INSTALLED:  # in a folder that the program has added to its path
            if marker in path:
                return path.rsplit(marker, 1)[1].split(os.sep, 1)[0]
        return None

    def here(self, skip: int = 1) -> int | None:
        """The site of the caller ``skip`` frames up; None when no nameable line is on the stack.

        A user's call is cached by its instruction, so that its line number, which takes a walk
        through the function's line table, is looked up once.
        """
        first = sys._getframe(skip)
        frame: FrameType | None = first
        kinds, via = self._kinds, ""
        while frame is not None:
            code = frame.f_code
            kind = kinds.get(code.co_filename, LIBRARY)
            if kind == USER:
                key = (id(code), frame.f_lasti, via)
                known = self._known.get(key)
                return known[1] if known else self._learn(key, code, first)
            if kind == LIBRARY:
                passing = self._passing.get((id(code), frame.f_lasti))
                if passing is None or not passing[2]:  # its caller matters as well
                    break
            elif kind != OURS:
                via = self._via(code.co_name, via)
            frame = frame.f_back
        return self.of(first)

    def users_line(self) -> tuple[str, int, str] | None:
        """File, line and function of the user's code that led here; else of a library's."""
        site = self.here(2)
        if site is None:
            return None
        file, line, function, user_file, user_line, user_function, _ = self.rows[site]
        return user_file or file, user_line or line, user_function or function

    def call(self) -> tuple[int, int] | None:
        """The call under way in the user's code, as (id of the code, instruction offset); a line
        may hold several calls.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and self.kind(frame.f_code.co_filename) != USER:
            frame = frame.f_back
        return None if frame is None else (id(frame.f_code), frame.f_lasti)

    def _via(self, name: str, inner: str) -> str:
        """The framework's function to name for a line, where ``name`` called ``inner``, or ''."""
        hides = self._nameless.get(name)
        if hides is None:
            return name
        return "" if hides else inner

    def _learn(self, key: tuple[int, int, str], code: CodeType, frame: FrameType) -> int | None:
        site = self.of(frame)
        if site is not None and len(self._known) < _MAX_SITES:
            self._known[key] = (code, site)  # holding the code keeps its id from being reused
        return site

    def of(self, frame: FrameType | None) -> int | None:
        """The site that ``frame`` stands at, as an index into :attr:`rows`."""
        while True:
            try:
                site = self.intern(self.place(frame)[0])
                if site is not None and site not in self._callers:
                    self._callers[site] = self._users(frame)
            except KeyError as new:
                self.kind(new.args[0])
            else:
                return site

    def launches_here(self, frame: FrameType) -> None:
        """Note that the call at ``frame`` launches a graph, so that samples there count as the
        framework's.
        """
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        if key not in self.launching and len(self.launching) < _MAX_SITES:
            self.launching[key] = code

    def _users(self, frame: FrameType | None) -> list[tuple[str, int, str]]:
        """The program's own frames, innermost first; at most 16."""
        own: list[tuple[str, int, str]] = []
        for _ in range(_MAX_DEPTH):
            if frame is None or len(own) == _MAX_CALLERS:
                break
            name = frame.f_code.co_filename
            if self.kind(name) == USER or frame.f_globals.get("__name__") == "__main__":
                own.append(_line(frame))
            frame = frame.f_back
        return own

    def place(self, frame: FrameType | None) -> tuple[Place | None, bool]:
        """Where ``frame`` stands, and whether the framework's own code lies inside the named line.

        Never releases the interpreter's lock, as file access would, so that it is safe for the
        frames of other threads.

        Raises:
            KeyError: a file on the stack is new: it must go through :meth:`kind` first.
        """
        kinds = self._kinds
        guilty = passer = None
        via = ""
        in_framework = frame is not None and (id(frame.f_code), frame.f_lasti) in self.launching
        for _ in range(_MAX_DEPTH):
            if frame is None:
                break
            code = frame.f_code
            kind = kinds[code.co_filename]
            if kind == LIBRARY and frame.f_globals.get("__name__") == "__main__":
                kind = USER  # `-m package`: the program itself is installed
            if kind == USER:
                context = (None, None, None) if guilty is None else _line(frame)
                return (*_line(guilty or frame), *context, via), in_framework
            if kind == LIBRARY:
                if guilty is None and self._passes_on(frame):
                    passer = passer or frame
                else:
                    guilty = guilty or frame
            elif guilty is None and kind != OURS:
                via = self._via(code.co_name, via)
                in_framework = in_framework or kind == FRAMEWORK
            frame = frame.f_back
        guilty = guilty or passer
        return (None if guilty is None else (*_line(guilty), None, None, None, via)), in_framework

    def generates(self, frame: FrameType | None) -> bool:
        """Whether the program is in a generator function, or in a function that one called."""
        own = 0
        while frame is not None and own < 2:
            code = frame.f_code
            if self._kinds.get(code.co_filename) == USER:
                if code.co_flags & inspect.CO_GENERATOR and code.co_name != "<genexpr>":
                    return True
                own += not code.co_name.startswith("<")  # a comprehension is part of a function
            frame = frame.f_back
        return False

    def _passes_on(self, frame: FrameType) -> bool:
        """Whether its function takes ``*args, **kwargs`` and it is at a call with starred ones."""
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        known = self._passing.get(key)
        if known is not None:
            return known[2]
        passes = (
            code.co_flags & _TAKES_ANYTHING == _TAKES_ANYTHING
            and frame.f_lasti >= 0
            and code.co_code[frame.f_lasti] == _STARRED_CALL
        )
        if len(self._passing) < _MAX_SITES:
            self._passing[key] = (code, _line(frame)[1], passes)
        return passes

    def definition(self, code: CodeType) -> int | None:
        """The site of a function's first line; None if the program does not define it itself."""
        if self.kind(code.co_filename) != USER:
            return None
        return self.intern((*line_of(code, code.co_firstlineno), None, None, None, ""))

    def intern(self, place: Place | None, sample: bool = False) -> int | None:
        """The index of a place in :attr:`rows`; None if ``place`` is None or there are too many."""
        if place is None:
            return None
        site = self._index.get(place)
        limit = _MAX_SITES_WITH_SAMPLED if sample else _MAX_SITES
        if site is None and len(self.rows) < limit:
            row = (_absolute(place[0]), *place[1:3], place[3] and _absolute(place[3]), *place[4:])
            self.rows.append(row)
            site = len(self.rows) - 1
            while self.rows[site] is not row:  # another thread has appended since
                site -= 1
            self._index[place] = site
            self.sampled += sample
        return site

    def passing(self) -> list[tuple[str, int, bool]]:
        """File and line of each library frame that was looked at, and whether it passes on."""
        return [
            (_absolute(code.co_filename), line, passes)
            for code, line, passes in list(self._passing.values())
        ]

    def describe(self) -> list[dict[str, Any]]:
        """All sites, each with the text of its line, without secrets, and the loops around it."""
        described = []
        for number, row in enumerate(list(self.rows)):
            site: dict[str, Any] = dict(zip(PLACE, row))
            site["source"] = redact_code(linecache.getline(row[0], row[1]).rstrip("\n"))
            if loops := self._loops_around(number):
                site["loops"] = [(_absolute(file), *lines) for file, *lines in loops]
            described.append(site)
        return described

    def ignores(self) -> list[dict[str, Any]]:
        """The comments that ignore findings, in the files of all sites, without secrets."""
        for row in list(self.rows):
            for file in (row[0], row[3]):
                if file and file not in self._ignores:
                    self._ignores[file] = ignores(linecache.getlines(file))
        return [
            {"file": file, **comment._asdict(), "text": redact_code(comment.text)}
            for file, found in self._ignores.items()
            for comment in found
        ]

    def hashes(self) -> list[dict[str, str]]:
        """The files of all sites that are the program's own, as they were when it began."""
        for row in list(self.rows):
            for file in (row[0], row[3]):
                if file and file not in self._hashes and self.kind(file) == USER:
                    self._hashes[file] = self._hash(file)
        return [{"file": file, "sha256": text} for file, text in self._hashes.items() if text]

    def _hash(self, file: str) -> str:
        """Empty for a file that has changed meanwhile, or cannot be read."""
        try:
            if os.stat(file).st_mtime_ns > self._began_ns:
                return ""
            with open(file, "rb") as text:
                return hashlib.sha256(text.read()).hexdigest()
        except (OSError, ValueError):
            return ""

    def _loops_around(self, site: int) -> list[tuple[str, int, int, str]]:
        if site not in self._callers:
            return []
        if site not in self._around:
            self._around[site] = self._loops.around(self._callers[site])
        return self._around[site]


def _line(frame: FrameType) -> tuple[str, int, str]:
    code = frame.f_code
    return line_of(code, frame.f_lineno or code.co_firstlineno)  # between two lines it has none


def line_of(code: CodeType, line: int) -> tuple[str, int, str]:
    """File, line and function of a line; before Python 3.11 the function's name is not in full."""
    return code.co_filename, line, getattr(code, "co_qualname", code.co_name)


def _absolute(name: str) -> str:
    return name if name.startswith("<") else os.path.abspath(name)
