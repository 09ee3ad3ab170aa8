"""Starting and ending XProf."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from xladoctor.view.interface import ViewError

_PATIENCE_S = 5.0
_SAID = 3  # last lines of its output to show if it ends


@dataclass(frozen=True, slots=True)
class Server:
    """A running XProf."""

    url: str
    process: subprocess.Popen[str]
    log: Path

    def wait(self) -> None:
        """Wait until it ends, which it should not. Raises ViewError."""
        self.process.wait()
        raise _ended(self.process, self.log)


def require() -> None:
    """Raises ViewError: it is not installed."""
    if importlib.util.find_spec("xprof") is None:
        raise ViewError(
            "XProf, the viewer, is not installed",
            "pip install 'xladoctor[view]'    (that is xprof, about 200 MB with what it"
            " needs)\n--perfetto FILE writes a trace for ui.perfetto.dev without it",
        )


@contextmanager
def serving(logdir: Path, log: Path) -> Iterator[Server]:
    """XProf on a log directory, on a free port of the loopback, until the block is left.

    Args:
        log: the file for its output.

    Raises:
        ViewError: it is not installed, or ends.
    """
    require()
    program = Path(__file__).with_name("server.py")
    command = [sys.executable, "-P", str(program), str(logdir)]
    with (
        log.open("w", encoding="utf-8") as said,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,  # Ctrl-C is for us, who end it
        ) as process,
    ):
        try:
            port = cast(TextIO, process.stdout).readline().strip()
            if not port:
                process.wait(_PATIENCE_S)
                raise _ended(process, log)
            yield Server(f"http://127.0.0.1:{port}/", process, log)
        finally:
            process.kill()  # it has nothing to clean up


def _ended(process: subprocess.Popen[str], log: Path) -> ViewError:
    status = process.returncode
    how = f"signal {-status}" if status < 0 else f"status {status}"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_SAID:]
    tried = "this works with xprof 2.24; others may be made differently"
    return ViewError(f"XProf ended with {how}", "\n".join([*lines, tried]))
