"""Records the settings of JAX that the program makes in its code, with their lines.

``jax.config.update`` applies to the rest of the run. A context manager (``jax.disable_jit()``,
``jax.debug_nans(True)``) applies to what is called within: it costs little around a single call,
and as much as the setting itself around the loop.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..calls import Calls, Installer
from .settings import RECORDED

if TYPE_CHECKING:
    from ..event_counters import EventCounters
    from ..frontend import Setting

_NAMES = frozenset(name.lower() for name in RECORDED if name.startswith("JAX_"))
_SHARE = 0.1  # share of all launches above which a context manager is taken to enclose the loop


class ConfigChanges(Installer):
    """Records settings; see :meth:`..framework.Framework.settings`."""

    def __init__(self, calls: Calls, counters: EventCounters) -> None:
        super().__init__(calls)
        self._counters = counters
        self._updated: dict[str, Setting] = {}
        self._around: dict[str, Setting] = {}
        self._launches: dict[str, int] = {}  # launches within context managers that have ended
        self._open: dict[tuple[int, str], int] = {}  # open ones, by thread: launches before them

    def install(self) -> None:
        """Wrap the functions that change settings."""
        from jax._src import config

        calls, replace, context = self._calls, self._hooks.replace, config.StateContextManager
        replace(config.Config, "update", calls.after(self._update))
        replace(context, "__enter__", calls.before(self._enter))
        replace(context, "__exit__", calls.before(self._exit))

    def settings(self) -> dict[str, Setting]:
        """The settings by name, such as ``jax_debug_nans``."""
        launches = dict(self._launches)
        for (_, name), before in [*self._open.items()]:
            launches[name] = launches.get(name, 0) + self._counters.launches - before
        least = max(1, _SHARE * self._counters.launches)
        around = {
            name: setting
            for name, setting in [*self._around.items()]
            if launches.get(name, 0) >= least
        }
        return {**around, **self._updated}

    def _update(self, _: Any, name: str, *value: Any, **named: Any) -> None:
        if name in _NAMES:
            self._note(self._updated, name, (*value, *named.values())[0])

    def _enter(self, context: Any) -> None:
        name = context.state.name
        if name in _NAMES and context.new_val:
            self._note(self._around, name, context.new_val)
            self._open.setdefault((threading.get_ident(), name), self._counters.launches)

    def _exit(self, context: Any, *_: Any) -> None:
        name = context.state.name
        before = self._open.pop((threading.get_ident(), name), None)
        if before is not None:
            within = self._counters.launches - before
            self._launches[name] = self._launches.get(name, 0) + within

    def _note(self, settings: dict[str, Setting], name: str, value: Any) -> None:
        place = self._calls.sites.users_line()
        if place is not None:
            settings[name] = str(value), place
