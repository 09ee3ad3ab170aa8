"""Checks what ``xladoctor stacks`` needs to inspect a running program: py-spy, and permission."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from xladoctor.environment.interface import Check, ok, warning
from xladoctor.environment.steps import installed

_SYS_PTRACE = 19  # CAP_SYS_PTRACE of linux/capability.h
_SCOPES = {  # of kernel/yama, see the kernel's Documentation/admin-guide/LSM/Yama.rst
    1: "only of programs that it started",
    2: "only with the capability CAP_SYS_PTRACE",
    3: "never, until the system restarts",
}


def stacks(proc: Path = Path("/proc")) -> Check:
    """Whether stacks of another process can be read; never more than a warning."""
    missing, advice = [], []
    spy = _py_spy()
    if spy is None:
        missing.append("py-spy is not installed")
        advice.append("pip install py-spy")
    scope = _scope(proc)
    if scope == 3 or (scope and not _may_trace(proc)):
        missing.append(
            f"this user may read stacks {_SCOPES[scope]} (kernel.yama.ptrace_scope={scope})"
        )
        advice.append(
            "sudo sysctl kernel.yama.ptrace_scope=0, or run `xladoctor stacks` with sudo;"
            " in a container, start it with --cap-add SYS_PTRACE"
            if scope < 3
            else "restart the system with another ptrace_scope"
        )
    if missing:
        return warning("stacks", "; ".join(missing), "\n".join(advice))
    return ok("stacks", f"py-spy {spy}; stacks of running programs can be read")


def _py_spy() -> str | None:
    """The version of py-spy, from its package; a system's package may only have the program."""
    beside = Path(sys.executable).with_name("py-spy")
    if not (beside.exists() or shutil.which("py-spy")):
        return None
    return installed("py-spy") or str(shutil.which("py-spy"))


def _scope(proc: Path) -> int:
    """The kernel's restriction of tracing; 0 for none, or if the kernel does not have it."""
    try:
        return min(3, int((proc / "sys/kernel/yama/ptrace_scope").read_text()))
    except (OSError, ValueError):
        return 0


def _may_trace(proc: Path) -> bool:
    try:
        status = (proc / "self/status").read_text()
    except OSError:
        return False
    effective = [line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")]
    return bool(effective) and bool(int(effective[0], 16) >> _SYS_PTRACE & 1)
