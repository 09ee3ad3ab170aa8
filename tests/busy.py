"""``python -m tests.busy COMMAND``: the command while two other processes keep two cores busy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

# Ends with the pipe that its parent holds, whatever ends that one.
_SPINS = """
import sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), __import__("os")._exit(0))).start()
while True:
    pass
"""


@contextmanager
def busy_machine() -> Iterator[None]:
    """Two other processes that never wait for anything."""
    with ExitStack() as stack:
        for _ in range(2):
            command = [sys.executable, "-c", _SPINS]
            spinning = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE))
            stack.callback(spinning.kill)
        yield


def main(command: list[str]) -> int:
    """Run it; its exit status."""
    with busy_machine():
        return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
