"""Launchers of one job: whether a launcher is one of several, and which runs are of the same job.

Several hosts run the same command, each under a launcher of its own, and all may name the same
folder or URL for their runs.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xladoctor.recording.bootstrap._xladoctor.redaction import redact
from xladoctor.recording.interface import HOST

#: What says how many processes a job has, as a number, a range or a list: of srun, mpirun (Open
#: MPI, MPICH), torchrun and what starts it, JAX, Cloud TPU and AWS Neuron.
_SIZES = (
    "SLURM_STEP_NUM_TASKS",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "WORLD_SIZE",
    "PET_NNODES",
    "JAX_NUM_PROCESSES",
    "MEGASCALE_NUM_SLICES",
    "TPU_WORKER_HOSTNAMES",
    "NEURON_PJRT_PROCESSES_NUM_DEVICES",
)
#: What says which of them this is, from 0.
_RANKS = (
    "SLURM_PROCID",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "RANK",
    "PET_NODE_RANK",
    "JAX_PROCESS_ID",
    "MEGASCALE_SLICE_ID",
    "TPU_WORKER_ID",
    "CLOUD_TPU_TASK_ID",
    "NEURON_PJRT_PROCESS_INDEX",
    "JOB_COMPLETION_INDEX",
)
_JOBS = ("SLURM_JOB_ID", "PMIX_NAMESPACE")
#: How the workers of a Cloud TPU are named; nothing else of them says which one it is.
_CLOUD_TPU = re.compile(r"t1v-n-[0-9a-f]+-w-(\d+)")
_OF_SEVERAL = re.compile(r"--(?:nnodes|num[-_](?:machines|nodes|hosts|processes))")
#: Arguments in which the commands of one job differ.
_OWN = re.compile(
    r"--(?:(?:node|machine|process|host|worker|task)[-_])?(?:rank|id|index)|--local[-_]addr",
    re.ASCII,
)
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
#: Seconds after which a launcher of another host that wrote nothing is of an earlier job.
_RECENT_S = 900.0


@dataclass(frozen=True, slots=True)
class Launcher:
    """A launcher, as others have to know it.

    Attributes:
        host: its machine.
        pid: its process id.
        command: what it runs, without secrets.
        job: the scheduler's name of the job, where there is one.
    """

    host: str
    pid: int
    command: tuple[str, ...]
    job: str | None = None

    @staticmethod
    def here(command: Sequence[str]) -> Launcher:
        """This process, which is to run a command."""
        job = next((os.environ[name] for name in _JOBS if os.environ.get(name)), None)
        return Launcher(socket.gethostname(), os.getpid(), tuple(redact(command)), job)

    @staticmethod
    def of(manifest: Mapping[str, Any]) -> Launcher | None:
        """What a manifest says; None if it is not one of a launcher."""
        host, pid, command, job = map(manifest.get, ("host", "pid", "command", "job"))
        if not isinstance(host, str) or not isinstance(pid, int) or not isinstance(command, list):
            return None
        return Launcher(host, pid, tuple(map(str, command)), job if isinstance(job, str) else None)

    @property
    def folder(self) -> str:
        """The name of its folder among those of other hosts."""
        return HOST + (_UNFIT.sub("-", self.host) or "unnamed")

    @property
    def is_one_of_several(self) -> bool:
        """Whether environment or command say that the job has several launchers."""
        named = _CLOUD_TPU.fullmatch(self.host)
        return (
            any(_size(os.environ.get(name, "")) > 1 for name in _SIZES)
            or any(_size(value) > 1 for value in _values(self.command, _OF_SEVERAL))
            or any(_size(os.environ.get(name, "")) > 0 for name in _RANKS)
            or bool(named and int(named[1]))
        )

    def shares_job_of(self, other: Launcher, heard_s: float) -> bool:
        """Whether another launcher's run is of the same job, not of one before.

        Args:
            heard_s: when it last wrote something, in seconds since 1970.
        """
        if self.job and other.job and self.job != other.job:
            return False
        if _without_own(self.command) != _without_own(other.command):
            return False
        if self.host == other.host:
            return Path("/proc", str(other.pid)).exists()
        return time.time() - heard_s < _RECENT_S


def _size(text: str) -> int:
    """How many a value stands for: ``4``, ``1:4`` or ``host-0,host-1``; 0 if it says nothing."""
    if "," in text:
        return len([each for each in text.split(",") if each])
    most = text.rpartition(":")[2].strip()
    return int(most) if most.isascii() and most.isdigit() and len(most) < 10 else 0


def _values(command: Sequence[str], option: re.Pattern[str]) -> list[str]:
    """The values of an option: ``--nnodes=2`` and ``--nnodes 2``."""
    split = [word.partition("=") for word in command]
    return [
        value if equals else following
        for (name, equals, value), following in zip(split, [*command[1:], ""], strict=True)
        if option.fullmatch(name)
    ]


def _without_own(command: Sequence[str]) -> list[str]:
    """A command without the arguments that differ from host to host."""
    kept, is_value = [], False
    for word in command:
        name, equals, _ = word.partition("=")
        is_own = _OWN.fullmatch(name) is not None
        if not is_value and not is_own:
            kept.append(word)
        is_value = is_own and not equals
    return kept
