"""Starts the capture right after the program's first import of a framework.

A program that imports none pays for one entry on ``sys.meta_path`` and nothing else.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from . import frontend, settings, start_up
from .disguise import hide_frames
from .files import announce

if TYPE_CHECKING:
    from .options import Options
    from .session import Session

#: Executes a module, given the loader's own function that does so, and the module.
_Execute = Callable[[Callable[[ModuleType], None], ModuleType], None]


class _Finder:
    """Finds the awaited modules with the other finders, and executes them with ``execute``."""

    def __init__(self, names: Iterable[str], execute: _Execute) -> None:
        self._awaited = set(names)
        self._execute = execute

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._awaited:
            return None
        self._awaited.remove(fullname)  # find_spec must not recurse into us
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._awaited.add(fullname)  # a library may look for a module without importing it
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            loader.exec_module = functools.partial(self._found, loader.exec_module)
        return spec

    def _found(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        if module.__name__ not in self._awaited:  # executed a second time
            execute(module)
            return
        self._awaited.remove(module.__name__)
        if not self._awaited:
            self.leave()
        try:
            self._execute(execute, module)
        except BaseException as error:
            hide_frames(error)
            raise

    def leave(self) -> None:
        """Stop finding modules."""
        self._awaited.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def when_imported(name: str, notify: Callable[[ModuleType], None]) -> Callable[[], None]:
    """Call ``notify`` with a module: now, or once the program has imported it.

    Returns:
        A function that cancels the wait.
    """

    def execute_and_notify(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        notify(module)

    finder = _Finder([name], execute_and_notify)
    module = sys.modules.get(name)
    if module is None:
        sys.meta_path.insert(0, finder)
    else:
        notify(module)
    return finder.leave


def _execute_uncollected(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
    """Execute a module with the garbage collector off, and collect once at the end.

    An import makes a million objects that stay, which the collector would walk again and again. If
    it were put off any longer, the collection would interrupt the loop.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        execute(module)
    finally:
        if enabled:
            gc.enable()
            gc.collect()


class Capture:
    """The capture of this process: of frameworks already imported, and of those imported later."""

    def __init__(self, run_directory: str, options: Options | None = None) -> None:
        self._run = run_directory
        self._options = options
        self._sessions: list[Session] = []
        self._watch = settings.SettingsWatch()
        self._finder: _Finder | None = None

    def install(self, frameworks: Iterable[str] | None = None) -> None:
        """Start capturing the given frameworks (all by default) that are imported already, and
        wait for the others with a finder that comes before all other finders.
        """
        if frameworks is None:
            frontend.inherit()
            frameworks = frontend.FRONTENDS
        self._watch.install()
        awaited = [name for name in frameworks if sys.modules.get(name) is None]  # None bars it
        for name in frameworks:
            if name not in awaited:
                self._prepare(name)(sys.modules[name])
        if awaited:
            self._finder = _Finder(awaited, self._import)
            sys.meta_path.insert(0, self._finder)

    def _import(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        start = self._prepare(module.__name__)
        _execute_uncollected(execute, module)
        start(module)

    def _prepare(self, name: str) -> Callable[[ModuleType], None]:
        """Before the framework runs; returns what is to be called after it."""
        try:
            from .session import Session

            session = Session(self._run, name, self._watch, self._options)
        except Exception as fault:
            announce(self._run, f"imported {name}")
            announce(self._run, f"fault {fault!r}")
            return lambda _: None
        self._sessions.append(session)
        if self._options is None and (began := start_up.watched()) is not None:
            began.begin(frontend.load(name).stages)
        return session.start

    @property
    def sessions(self) -> list[Session]:
        """One for each framework that is captured, in the order of their start."""
        if not self._sessions:
            return []
        from .session import captures

        return [session for session in captures if session in self._sessions]

    @property
    def failed(self) -> bool:
        """Whether a framework is imported, but none can be captured; ``python.log`` says why."""
        return bool(self._sessions) and not self.sessions

    def finish(self) -> None:
        """Write what is left, at the end of what was to be captured."""
        for session in self.sessions:
            session.finish()

    def uninstall(self) -> None:
        """Leave the process as it was."""
        if self._finder is not None:
            self._finder.leave()
        for session in reversed(self.sessions):  # the latest lies on top of the others
            session.uninstall()
        self._watch.uninstall()
