"""Captures a notebook's cell, or a part of a program, from inside."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from xladoctor.recording import launcher, manifest
from xladoctor.recording.bootstrap._xladoctor.import_hook import Capture
from xladoctor.recording.bootstrap._xladoctor.options import VARIABLE, Options
from xladoctor.recording.bootstrap._xladoctor.settings import OURS
from xladoctor.recording.directory import make_directory
from xladoctor.recording.framework import require_installed
from xladoctor.recording.interface import CaptureError, RunRequest
from xladoctor.running import RUN_DIRECTORY
from xladoctor.storage.address import is_url

if TYPE_CHECKING:
    from xladoctor.diagnosis.interface import Diagnosis

#: Variables that the capture and the analysis set, besides the ones that :data:`OURS` lists.
_CHANGED = ("PYTHONPATH", RUN_DIRECTORY, VARIABLE, OURS, "NUMBA_CACHE_DIR")


class InProcessCapture:
    """``with xladoctor.capture("out"): …`` captures the block, and prints the report.

    Processes that the block starts are captured too.

    Args:
        output: the run directory to create; by default ``xladoctor-runs/<date>-<program>``.
        report: whether to print the report at the end.
        options: those of ``xladoctor run``: ``trace_steps``, ``trace_after``,
            ``trace_seconds``, ``trace_bytes``, ``graph_bytes``.

    Attributes:
        directory: the run directory.
        diagnosis: None until the end, or if nothing ran on the device.

    Raises:
        CaptureError: (on entering) the framework is missing, the run directory cannot be created,
            or this process is already being captured.
        ConfigurationError: (on entering) the configuration cannot be used.
    """

    def __init__(
        self, output: str | os.PathLike[str] | None = None, *, report: bool = True, **options: Any
    ) -> None:
        if output is not None and is_url(str(output)):
            raise CaptureError(
                "xladoctor.capture writes to a folder of this machine, not to a URL",
                "xladoctor run --output URL script.py uploads, outside of the program",
            )
        self._output = None if output is None else Path(output)
        self._report = report
        self._asked = options
        self.directory: Path | None = None
        self.diagnosis: Diagnosis | None = None

    def __enter__(self) -> InProcessCapture:
        """Start the capture."""
        from xladoctor import doctor
        from xladoctor.configuration.load import load_configuration

        if RUN_DIRECTORY in os.environ:
            raise CaptureError(
                "this process is already being captured",
                "xladoctor.capture is not needed under `xladoctor run`",
            )
        require_installed()
        self._selection = doctor.selection(load_configuration())
        script = getattr(sys.modules.get("__main__"), "__file__", None) or "notebook"
        self._run = make_directory(self._output, script)
        self.directory = self._run.path
        options = Options(session=self._run.path.name, **self._asked)
        request = RunRequest(tuple(sys.argv), script, self._run.path, options=options)
        self._record = manifest.begin(self._run, request)
        self._began = time.monotonic()
        self._environment = dict(os.environ)
        os.environ.update(launcher.handed_down(self._run.path, options))
        self._capture = Capture(str(self._run.path))
        self._capture.install()
        if self._capture.failed:
            self._capture.uninstall()
            self._restore()
            raise CaptureError(
                "the capture could not start", f"{self._run.path / 'python.log'} says why"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the capture, and print the report."""
        self._capture.finish()
        used = any(session.awake_once for session in self._capture.sessions)
        self._capture.uninstall()
        seconds = time.monotonic() - self._began
        manifest.finish(self._run, self._record, int(kind is not None), seconds)
        try:
            if used:
                self._diagnose()
            elif self._report:
                from xladoctor.report.output import emit

                emit("xladoctor: nothing ran on an XLA device\n")
        finally:
            self._restore()

    def _restore(self) -> None:
        """Restore the environment, except for what the program itself changed."""
        settings = os.environ.get(OURS, "").split(",")
        for name in (*_CHANGED, *filter(None, settings)):
            if name in self._environment:
                os.environ[name] = self._environment[name]
            else:
                os.environ.pop(name, None)

    def _diagnose(self) -> None:
        from xladoctor import doctor
        from xladoctor.report.interface import Report
        from xladoctor.report.output import Color, Format, Output, deliver

        self.diagnosis = doctor.examine_run(self._run, self._selection).diagnosis
        if self._report:
            deliver([Report(self.diagnosis)], [Output(Format.terminal)], Color.auto)
