"""Launchers of one job: whether a launcher is one of several, and which runs are of the same job.

Several hosts run the same command, each under a launcher of its own, and all may name the same
folder or URL for their runs.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xladoctor.recording.bootstrap._xladoctor import frontend
from xladoctor.recording.bootstrap._xladoctor.redaction import redact
from xladoctor.recording.interface import HOST

#: Variables that say which of its processes or hosts this is, from 0, and how many a job has: a
#: number, a range or a list. Those of srun, mpirun (Open MPI, MPICH), elastic launchers, Cloud TPU
#: and its slices, AWS Neuron and Kubernetes; frontends know others.
_RANKS = (
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PET_NODE_RANK", "PET_NNODES"),
    ("TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES"),
    ("MEGASCALE_SLICE_ID", "MEGASCALE_NUM_SLICES"),
    ("NEURON_PJRT_PROCESS_INDEX", "NEURON_PJRT_PROCESSES_NUM_DEVICES"),
    ("JOB_COMPLETION_INDEX", ""),
)
_JOBS = ("SLURM_JOB_ID", "PMIX_NAMESPACE")
#: How the workers of a Cloud TPU are named; nothing else of them says which one it is.
_CLOUD_TPU = re.compile(r"t1v-n-[0-9a-f]+-w-(\d+)")
_OF_SEVERAL = re.compile(r"--(?:nnodes|num[-_](?:machines|nodes|hosts|processes))")
#: Arguments in which the commands of one job differ.
_OWN = re.compile(
    r"--(?:(?:node|machine|proc|process|host|worker|task)[-_]?)?(?:rank|id|index)|--pid"
    r"|--local[-_]addr",
    re.ASCII,
)
#: What a rank looks like that has no name: train.py 0 2.
_NUMBER = re.compile(r"\d{1,5}", re.ASCII)
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
            any(_size(value) > 1 for value in _values(self.command, _OF_SEVERAL))
            or any(_in_environment(rank) > 0 or _in_environment(of) > 1 for rank, of in _ranks())
            or bool(named and int(named[1]))
        )

    def shares_job_of(self, other: Launcher, heard_s: float) -> bool:
        """Whether another launcher's run is of the same job, not of one before.

        Args:
            heard_s: when it last wrote something, in seconds since 1970.
        """
        if self.job and other.job and self.job != other.job:
            return False
        if common_command(self.command) != common_command(other.command):
            return False
        if self.host == other.host:
            return Path("/proc", str(other.pid)).exists()
        return time.time() - heard_s < _RECENT_S


def _ranks() -> Iterator[tuple[str, str]]:
    yield from _RANKS
    for name in frontend.FRONTENDS:
        yield from frontend.load(name).ranks


def _in_environment(name: str) -> int:
    return _size(os.environ.get(name, ""))


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


def common_command(command: Sequence[str]) -> list[str]:
    """A command without the arguments in which the launchers of a job differ: options for ranks,
    and whole numbers that are the value of no option.
    """
    kept, before = [], ""
    for word in command:
        name, equals, _ = word.partition("=")
        is_own = _OWN.fullmatch(name) is not None
        is_value = before.startswith("-")
        if not (is_own or _OWN.fullmatch(before) or (_NUMBER.fullmatch(word) and not is_value)):
            kept.append(word)
        before = "" if equals else word
    return kept
