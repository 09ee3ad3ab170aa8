"""Explains why the kernel refuses to show a process's stacks, and how to get permission."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from xladoctor.stacks.interface import StacksError
from xladoctor.stacks.process import Process, process

_PTRACE = 1 << 19  # CAP_SYS_PTRACE of linux/capability.h
_KUBERNETES = (
    'in Kubernetes, give the container securityContext: {capabilities: {add: ["SYS_PTRACE"]}}'
)
_DOCKER = "in Docker or Podman, start the container with --cap-add SYS_PTRACE"


@dataclass(frozen=True, slots=True)
class Rights:
    """The facts that decide whether this process may trace others.

    Attributes:
        user: the number of its (effective) user.
        capable: whether it has CAP_SYS_PTRACE.
        scope: /proc/sys/kernel/yama/ptrace_scope; 0 where the kernel has none.
        container: ``docker``, ``kubernetes``, or empty outside of a container.
    """

    user: int
    capable: bool
    scope: int
    container: str


def rights() -> Rights:
    """The rights of this process."""
    return Rights(os.geteuid(), _capable(), _scope(), _container())


def refused(target: Process, ours: Rights) -> StacksError:
    """Which permission is missing for ``target``, the most definite cause first."""
    who = f"process {target.pid}"
    if target.tracer:
        tracer = process(target.tracer)
        return StacksError(
            f"{who} is already traced by process {target.tracer}"
            f" ({tracer.command if tracer else 'in another container'})",
            "only one tracer is allowed at a time: stop that debugger or profiler first",
        )
    if ours.capable:
        return StacksError(
            f"{who}: the system forbids tracing it, despite CAP_SYS_PTRACE",
            "a seccomp profile or a security module (AppArmor, SELinux) may be the reason:\n"
            + _ways(ours, target.pid),
        )
    if target.user != ours.user:
        return StacksError(
            f"{who} belongs to another user ({target.user}, not {ours.user})",
            f"run xladoctor as that user, or with CAP_SYS_PTRACE:\n{_ways(ours, target.pid)}",
        )
    return StacksError(f"{who} may not be traced: {_scope_text(ours)}", _scope_hint(ours, target))


def _scope_text(ours: Rights) -> str:
    texts = {
        1: "kernel.yama.ptrace_scope is 1, so only its ancestors may trace a process",
        2: "kernel.yama.ptrace_scope is 2, so tracing needs CAP_SYS_PTRACE",
        3: "kernel.yama.ptrace_scope is 3, so nobody may trace until the machine restarts",
    }
    return texts.get(
        ours.scope, "it has rights that xladoctor does not have, or CAP_SYS_PTRACE is missing"
    )


def _scope_hint(ours: Rights, target: Process) -> str:
    if ours.scope == 3:
        return "set kernel.yama.ptrace_scope to 0 or 1 in /etc/sysctl.d and restart the machine"
    if ours.scope == 1:
        return (
            f"{_ways(ours, target.pid)}\n"
            "or, until the machine restarts: sudo sysctl kernel.yama.ptrace_scope=0"
        )
    return _ways(ours, target.pid)


def _ways(ours: Rights, pid: int) -> str:
    if ours.container == "kubernetes":
        return _KUBERNETES
    if ours.container == "docker":
        return f"{_DOCKER}\n{_KUBERNETES}"
    return f"sudo {sys.executable} -m xladoctor stacks {pid}\n{_DOCKER}\n{_KUBERNETES}"


def _capable() -> bool:
    lines = Path("/proc/self/status").read_text().splitlines()
    (effective,) = (line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(effective, 16) & _PTRACE)


def _scope() -> int:
    try:
        return int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):  # the kernel has no Yama
        return 0


def _container() -> str:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    return "docker" if any(mark.exists() for mark in marks) else ""
