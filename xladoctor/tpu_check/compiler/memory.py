"""Memory of processes and of this machine, from ``/proc`` and the control group."""

from __future__ import annotations

import os
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_SHARE = 0.9  # of what is free
#: Folder of a control group, its limit, its use, and the part of that which can be dropped, in
#: both versions.
_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def resident(process: int) -> int:
    """Bytes of a process that are in memory; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, LookupError, ValueError):
        return 0


def most() -> int:
    """Bytes that a new process may use: most of what is free now."""
    free = [_listed(Path("/proc/meminfo"), "MemAvailable:") << 10]
    for folder, limit, used, cached in _GROUPS:
        group = Path(folder)
        try:
            most_used = int((group / limit).read_text(encoding="ascii"))
            in_use = int((group / used).read_text(encoding="ascii"))
            in_use -= _listed(group / "memory.stat", cached)
        except (OSError, ValueError):  # of another version, or without a limit
            continue
        free.append(most_used - in_use)
    return int(_SHARE * max(0, min(free)))


def _listed(file: Path, name: str) -> int:
    """The number beside a name. Raises OSError, ValueError."""
    for line in file.read_text(encoding="ascii").splitlines():
        if line.split()[:1] == [name]:
            return int(line.split()[1])
    raise ValueError(f"{file}: no {name}")
