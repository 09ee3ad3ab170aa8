"""Writes a process's records besides its step log: ``process.json``, ``call_sites.json`` and
``host_samples.json``. All are rewritten whenever something is new, so that a killed program leaves
them behind.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable

from . import clock, start_up
from .call_site import CallSites
from .files import replace_file
from .framework import KeptModules, Probe
from .sampler import PERIOD_MS, Sampler
from .timeline import Timeline

_SAMPLES_EVERY_S = 3.0
_NOT_LISTED = ("process.json", "faults.log")  # holds the list; may still grow
_OF_FALLBACKS = ("op", "site", "count", "duration_ns", "compile_ns")


class Records:
    """Writes the records when they have changed."""

    def __init__(
        self,
        folder: str,
        describe: Callable[[], dict[str, Any]],
        sites: CallSites,
        probe: Probe,
        sampler: Sampler,
        timeline: Timeline,
        modules: KeptModules,
    ) -> None:
        """``describe``: returns the process's current facts, without timeline and modules."""
        self._folder = folder
        self._describe = describe
        self._sites = sites
        self._probe = probe
        self._sampler = sampler
        self._timeline = timeline
        self._modules = modules
        self._noted: tuple[int, int, bool] = (0, 0, False)
        self._placed = (0, 0)
        self._sites_written = 0
        self._samples_written = clock.monotonic()

    def tick(self) -> None:
        """Called four times a second."""
        files, windows = self._modules.files, self._timeline.described()
        noted = (files[-1]["compilations"] if files else 0, len(windows), self._timeline.active)
        if noted != self._noted:
            self._noted = noted
            self.write_process(ended=False)
        placed = (len(self._sites.rows) - self._sites.sampled, len(self._probe.rows))
        if placed != self._placed:
            self._placed = placed
            self.write_call_sites()
        if clock.monotonic() - self._samples_written >= _SAMPLES_EVERY_S:
            self.write_samples()

    def write_call_sites(self) -> None:
        sites = self._sites.describe()
        self._sites_written = len(sites)
        # Dictionaries that other threads fill are copied first, as in Sampler.rows.
        fallbacks = [
            dict(zip(_OF_FALLBACKS, (*key, *row))) for key, row in self._probe.rows.copy().items()
        ]
        self._write(
            "call_sites.json",
            {
                "sites": sites,
                "fallbacks": fallbacks,
                "passing": self._sites.passing(),
                "launches": self._launches(),
                "beside": list(self._sites.beside),
                "operations": self._operations(),
                "origins": [(site, *row) for site, row in self._sites.origins.copy().items()],
                "parts": None if self._sites.parts is None else [*self._sites.parts.copy().items()],
                "functions": [(site, [*of]) for site, of in self._sites.functions.copy().items()],
                "ignores": self._sites.ignores(),
                "files": self._sites.hashes(),
            },
        )

    def _launches(self) -> list[tuple[int | None, int, float, int]]:
        work, steps = self._sites.work, self._sites.ended_steps
        return [
            (site, count, work.get(site, 0.0), steps.get(site, 0))
            for site, count in self._sites.launches.copy().items()
        ]

    def _operations(self) -> list[int | None]:
        """Sites that have launched only single operations."""
        launched = self._sites.launches
        return [site for site in list(self._sites.operations) if site in launched]

    def write_samples(self) -> None:
        """Write the samples, after the call sites that they refer to."""
        samples, seen = self._sampler.rows(), start_up.watched()
        began = {"start_up": seen.rows(self._sites)} if seen is not None else {}
        if len(self._sites.rows) != self._sites_written:
            self.write_call_sites()
        self._write("host_samples.json", {"period_ms": PERIOD_MS, "samples": samples, **began})
        self._samples_written = clock.monotonic()

    def write_process(self, ended: bool) -> None:
        self._write(
            "process.json",
            {
                **self._describe(),
                "ended_ns": clock.time_ns(),
                "ended": ended,
                "windows": self._timeline.described(),
                "modules": self._modules.files,
                "modules_too_large": self._modules.too_large,
                **({"files": self._files()} if ended else {}),
            },
        )

    def _files(self) -> dict[str, int]:
        """Sizes of this process's files by their paths in the run directory.

        The launcher lists all files at the end; if it is killed, these show what is missing.
        """
        run, own = os.path.split(self._folder)
        names = [
            os.path.join(own, name)
            for name in sorted(os.listdir(self._folder))
            if name not in _NOT_LISTED and not name.endswith(".new")
        ]
        names += [
            os.path.join("plugins", "profile", window["session"], window["file"])
            for window in self._timeline.described()
            if "file" in window
        ]
        sizes = {name: os.path.join(run, name) for name in names}
        return {name: os.path.getsize(path) for name, path in sizes.items() if os.path.isfile(path)}

    def _write(self, name: str, value: Any) -> None:
        replace_file(os.path.join(self._folder, name), json.dumps(value))
