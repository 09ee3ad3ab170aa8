"""Records which way of launching operators the program chooses in its code, with its line.

``torch.tpu.eager_mode = …`` applies to the rest of the run. The context manager
``torch.tpu.set_eager_mode(…)`` counts if a tenth of all launches are within it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..calls import Calls, Installer
from .counters import Counters

if TYPE_CHECKING:
    from ..frontend import Setting

_SETTING = "torch.tpu.eager_mode"
_SHARE = 0.1
_INTERNAL = "INTERNAL_"  # modes that torch.compile switches to


class Modes(Installer):
    """See :meth:`..framework.Framework.settings`."""

    def __init__(self, calls: Calls, counters: Counters) -> None:
        super().__init__(calls)
        self._counters = counters
        self._chosen: Setting | None = None
        self._around: dict[str, Setting] = {}
        self._within: dict[str, int] = {}  # launches within context managers that have ended
        self._open: dict[int, list[tuple[str, int]]] = {}  # by thread: with the launches before

    def install(self, module: Any) -> None:
        """Wrap the extension module's functions that change the mode."""
        calls, replace = self._calls, self._hooks.replace
        replace(module, "_set_eager_mode", calls.after(self._choose))
        replace(module, "_push_eager_mode", calls.after(self._enter))
        replace(module, "_pop_eager_mode", calls.before(self._leave, handed=False))

    def settings(self) -> dict[str, Setting]:
        """The mode of most of the run that the program chose, if it chose one."""
        within = dict(self._within)
        requests = self._counters.requests()
        for modes in [*self._open.values()]:
            for mode, before in [*modes]:
                within[mode] = within.get(mode, 0) + requests - before
        longest = max(within, key=within.__getitem__, default="")
        if longest in self._around and within[longest] >= max(1, _SHARE * requests):
            return {_SETTING: self._around[longest]}
        return {} if self._chosen is None else {_SETTING: self._chosen}

    def _choose(self, mode: Any) -> None:
        self._chosen = self._setting(mode)

    def _enter(self, mode: Any) -> None:
        if (setting := self._setting(mode)) is not None:
            self._around[setting[0]] = setting
        modes = self._open.setdefault(threading.get_ident(), [])
        modes.append((setting[0] if setting else "", self._counters.requests()))

    def _leave(self) -> None:
        modes = self._open.get(threading.get_ident())
        if modes:
            mode, before = modes.pop()
            launches = self._counters.requests() - before
            self._within[mode] = self._within.get(mode, 0) + launches

    def _setting(self, mode: Any) -> Setting | None:
        """The mode with the line of the program; None for TorchTPU's own changes."""
        place = self._calls.sites.users_line()
        if place is None or mode.name.startswith(_INTERNAL):
            return None
        return str(mode.name), place
