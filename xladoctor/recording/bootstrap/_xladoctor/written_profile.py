"""The file that a program's own profiler wrote."""

from __future__ import annotations

import contextlib
import glob
import os
import re

_SLACK_NS = 2_000_000_000  # file systems round times to as much


def written(log_dir: str, began_ns: int, hosts: list[str]) -> str | None:
    """The newest timeline in a folder, of one of these hosts, if it was written since.

    Files are named after ``<host>`` or ``<host>_<port>``, each other sign ``_``. There is none in a
    bucket.
    """
    names = "|".join(re.escape(re.sub(r"[^\w.-]", "_", host)) for host in hosts)
    own = re.compile(rf"({names})(_\d+)?\.xplane\.pb")
    pattern = os.path.join(glob.escape(log_dir), "plugins", "profile", "*", "*.xplane.pb")
    newest = (began_ns - _SLACK_NS, "")
    for file in glob.glob(pattern):
        if own.fullmatch(os.path.basename(file)):
            with contextlib.suppress(OSError):
                newest = max(newest, (os.stat(file).st_mtime_ns, file))
    return newest[1] or None
