"""Finds the timeline that a program's own profiler wrote."""

from __future__ import annotations

import contextlib
import glob
import os
import re

_SLACK_NS = 2_000_000_000  # file systems may round times this coarsely


def written(log_dir: str, began_ns: int, hosts: list[str]) -> str | None:
    """The newest timeline of one of these hosts in a folder, if written since ``began_ns``.

    Files are named ``<host>`` or ``<host>_<port>``, with ``_`` for other characters. None for a
    bucket, which is not searched.
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
