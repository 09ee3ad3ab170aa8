"""XProf's server on a log directory: a program of its own, which `xladoctor view` starts.

XProf's own command listens on all addresses of the machine; this one on the loopback alone. It says
its port on standard output, and ends with its standard input, so also if who started it is killed.
"""

from __future__ import annotations

import os
import sys
from threading import Thread
from typing import Any

_LOOPBACK = "127.0.0.1"


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def _application(logdir: str) -> Any:
    from xprof import server

    context = server.TBContext(logdir, server.DataProvider(logdir), server.TBContext.Flags(False))
    context.hide_capture_profile_button = True
    return server.make_wsgi_app(server.ProfilePluginLoader().load(context))


def main() -> None:
    """Serve the log directory that is named, until the input ends."""
    from cheroot import wsgi

    Thread(target=_end_with_input, daemon=True).start()
    server = wsgi.Server((_LOOPBACK, 0), _application(sys.argv[1]))
    server.prepare()
    sys.stdout.write(f"{server.bind_addr[1]}\n")
    sys.stdout.flush()
    server.serve()


if __name__ == "__main__":
    main()
