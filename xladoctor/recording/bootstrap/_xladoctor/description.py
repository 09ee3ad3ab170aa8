"""What ``process.json`` says about a process and its framework."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Any

from . import process, settings
from .frontend import InJob
from .redaction import redact, redact_text

if TYPE_CHECKING:
    from .call_site import CallSites
    from .framework import Framework
    from .frontend import Frontend
    from .graphs import Graphs


class Description:
    """Describes the process; made before the framework is imported, which changes settings.

    Attributes:
        main: the program's own file.
    """

    def __init__(self, frontend: Frontend, watch: settings.SettingsWatch, sites: CallSites) -> None:
        self._frontend = frontend
        self._watch = watch
        self._sites = sites
        self._settings = settings.users(frontend.recorded)
        self._in_job = InJob()
        self.main = process.main_file()

    def of(self, framework: Framework, graphs: Graphs) -> dict[str, Any]:
        """The process as it is now."""
        recorded, configured = self._frontend.recorded, framework.settings()
        values = {
            **self._settings,
            **settings.users(recorded),
            **{name: value for name, (value, _) in configured.items()},
        }
        lines = {name: line for name, (_, line) in configured.items()}
        in_job = framework.in_job
        if in_job.rank is not None:  # it stays known once the program has left its job
            self._in_job = in_job
        return {
            **process.describe(self._in_job, self._frontend.ranks, self._sites),
            "main": self.main,
            "argv": redact(sys.argv),
            "frontend": self._frontend.name,
            "versions": {**framework.versions(), "python": platform.python_version()},
            "devices": framework.devices(),
            "meshes": framework.meshes,
            "misplaced_lines": framework.misplaces_lines,
            "accelerators": framework.accelerators,
            "settings": {name: redact_text(value) for name, value in values.items()},
            "settings_lines": {**self._watch.set_at(recorded), **lines},
            "folders": self._sites.folders,
            "no_graphs": graphs.why_none,
            "graphs_left_out": graphs.left_out,
            "missing": framework.missing,
            "flattening": "flattening" not in framework.missing,
            "resharding": "resharded arguments" not in framework.missing,
            "unheard": framework.unheard,
        }
