"""``python -m xladoctor``, and the console script."""

from __future__ import annotations

import os


def main() -> None:
    """Run the command line. Ctrl-C ends it even while modules are imported."""
    try:
        import gc
        import signal

        gc.disable()  # a short process, whose objects live to its end

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _end)
    except KeyboardInterrupt:
        _end()
    from xladoctor.cli.main import main as command_line

    command_line()


def _end(*_: object) -> None:
    os.write(2, b"xladoctor: interrupted\n")
    os._exit(130)  # what shells report for a process that SIGINT ended


if __name__ == "__main__":
    main()
