"""The one place that turns errors into messages and exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from xladoctor import __version__
from xladoctor.errors import XladoctorError

USAGE = 2
OWN_FAULT = 70


def complain(error: XladoctorError) -> None:
    """Say on standard error what is wrong, and below it what to do."""
    sys.stderr.write(f"xladoctor: {error.what}\n")
    for line in error.hint.splitlines():
        sys.stderr.write(f"  {line}\n")


@contextmanager
def boundary() -> Iterator[None]:
    """Exit 2 with what, where and what to do for what a user can cause; 70 for a fault of ours."""
    try:
        yield
    except XladoctorError as error:
        complain(error)
        raise SystemExit(USAGE) from error
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as fault:
        import traceback

        traceback.print_exc()
        sys.stderr.write(
            f"xladoctor {__version__}: this is a fault of xladoctor. Please report it with the text"
            " above and, if you may share it, the run directory.\n"
        )
        raise SystemExit(OWN_FAULT) from fault
