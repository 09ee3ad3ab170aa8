"""What a pod of many hosts takes to analyze: `python -m benchmarks.pod --hosts 16 64 256`.

Makes pods whose hosts each have a timeline of 20 MB, in a folder that is removed afterwards (5 GB
for 256 hosts), and runs `xladoctor analyze` on each: with one worker and with two, on this machine
and with `--cluster` on Dask's workers, started here. `cold` has no evidence of the pod in the
cache, but the machine code of the readers; `warm` runs the same once more. Peak memory is that of
the process that joins and of the largest worker, mapped files included. The benchmark fails where
a timeline is not of that size, a command fails, or the evidence that is kept takes more than 1% of
the timelines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.pods.generated import write_host
from tests.pods.simulation import Pod

XLADOCTOR = Path(sys.executable).with_name("xladoctor")
SIZE, TOLERANCE = 20_000_000, 0.1  # bytes of a timeline, and by what share it may differ
STEPS, OPS = 110, 1_150  # which make that size
KEPT = 0.01  # most that the evidence may take, as a share of the timelines
PERIOD_S = 0.1
PATIENCE_S = 60.0  # for the cluster to start
MIB = 1 << 20


@dataclass
class Watched:
    """Processes and their descendants, by process id: their peak memory in bytes, and the CPU time
    in seconds that they have used since they were first seen.
    """

    roots: list[int]
    peak: dict[int, int] = field(default_factory=dict)
    cpu: dict[int, tuple[float, float]] = field(default_factory=dict)

    def sample(self) -> None:
        """Look at them once more."""
        children, used = _processes()
        waiting = list(self.roots)
        while waiting:
            pid = waiting.pop()
            waiting += children.get(pid, [])
            self.peak[pid] = max(self.peak.get(pid, 0), _peak(pid))
            if pid in used:
                first = self.cpu.get(pid, (used[pid],))[0]
                self.cpu[pid] = first, used[pid]

    @property
    def cpu_s(self) -> float:
        """CPU time of all together."""
        return sum(last - first for first, last in self.cpu.values())


@dataclass(frozen=True)
class Finished:
    """A command that ended: seconds, of the clock and of all processors, and bytes at the peaks of
    itself and of its largest worker.
    """

    wall_s: float
    cpu_s: float
    joining: int
    worker: int


@dataclass(frozen=True)
class Row:
    """What a pod took, with an empty cache of evidence and with a full one."""

    hosts: int
    workers: int
    where: str
    cold: Finished
    warm: Finished
    kept: float

    def __str__(self) -> str:
        worst = [max(getattr(each, of) for each in (self.cold, self.warm)) / MIB for of in _PEAKS]
        mark = "  <-- more" if self.kept > KEPT else ""
        return (
            f"{self.hosts:>6}{self.workers:>9}  {self.where:8}{self.cold.wall_s:>8.1f} s"
            f"{self.hosts / self.cold.wall_s:>9.2f}{self.cold.cpu_s / self.hosts:>10.2f} s"
            f"{self.warm.wall_s:>8.1f} s"
            f"{worst[0]:>9,.0f} MiB{worst[1]:>9,.0f} MiB{self.kept:>9.2%}{mark}"
        )


_TICKS = os.sysconf("SC_CLK_TCK")
_PEAKS = ("joining", "worker")
HEADER = (
    f"{'hosts':>6}{'workers':>9}  {'where':8}{'cold':>10}{'hosts/s':>9}{'CPU/host':>12}{'warm':>10}"
    f"{'joining':>13}{'worker':>13}{'kept':>9}"
)


def _processes() -> tuple[dict[int, list[int]], dict[int, float]]:
    """The children of each process, and the CPU seconds that each has used."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(folder.name))
            used[int(folder.name)] = (int(fields[11]) + int(fields[12])) / _TICKS
    return children, used


def _peak(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def made(folder: Path, hosts: int) -> int:
    """Write a pod, on all cores; returns the bytes of its timelines.

    Raises:
        SystemExit: a timeline is not of the size that is wanted.
    """
    pod = Pod(hosts=hosts, steps=STEPS, ops=OPS, sickness="compute")
    with ProcessPoolExecutor() as pool:
        sizes = list(pool.map(partial(write_host, folder, pod), range(hosts)))
    for host, size in enumerate(sizes):
        if abs(size - SIZE) > TOLERANCE * SIZE:
            raise SystemExit(f"the timeline of host {host} has {size:,} bytes, not {SIZE:,}")
    return sum(sizes)


def finished(command: Sequence[str | Path], cache: Path, workers: Sequence[int] = ()) -> Finished:
    """Run a command to its end, and watch its memory and that of other workers.

    Raises:
        SystemExit: it failed.
    """
    done = threading.Event()
    with tempfile.TemporaryFile("w+") as output:
        began = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            env={**os.environ, "XDG_CACHE_HOME": str(cache), "XLADOCTOR_CACHE": "off"},
        )
        watched = Watched([child.pid, *workers])

        def watch() -> None:
            watched.sample()
            while not done.wait(PERIOD_S):
                watched.sample()

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            status = child.wait()
            wall = time.perf_counter() - began
        finally:  # an interrupt ends all
            done.set()
            watching.join()
            child.terminate()
        if status:
            output.seek(0)
            raise SystemExit(f"{command}: status {status}\n{output.read()}")
    others = [peak for pid, peak in watched.peak.items() if pid != child.pid]
    joining = watched.peak.get(child.pid, 0)
    return Finished(wall, watched.cpu_s, joining, max(others, default=0))


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextlib.contextmanager
def cluster(workers: int, cache: Path) -> Iterator[tuple[str, int]]:
    """Dask's scheduler and workers, of one thread each: the address, and the nanny's process id.

    Raises:
        SystemExit: they do not start.
    """
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        contact = Path(folder) / "scheduler.json"
        where = ["--scheduler-file", str(contact)]
        sized = ["--nworkers", str(workers), "--nthreads", "1", "--memory-limit", "0"]
        log = stack.enter_context((Path(folder) / "log").open("w+"))

        def start(*command: str) -> int:
            child = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
                stdout=log,
                stderr=log,
                env=environment,
                cwd=folder,
            )
            stack.callback(child.wait)
            stack.callback(child.terminate)
            return child.pid

        local = ["--host", "127.0.0.1"]
        start("dask_scheduler", *where, *local, "--port", "0", "--no-dashboard")
        nanny = start("dask_worker", *where, *local, *sized, "--no-dashboard")
        latest = time.monotonic() + PATIENCE_S
        while not (contact.exists() and "Registered to" in Path(log.name).read_text()):
            if time.monotonic() > latest:
                raise SystemExit(f"Dask does not start:\n{Path(log.name).read_text()}")
            time.sleep(0.2)
        yield json.loads(contact.read_bytes())["address"], nanny


def measured(pod: Path, hosts: int, workers: int, timelines: int, *, on_cluster: bool) -> Row:
    """Analyze a pod twice, with a cache of its own."""
    with tempfile.TemporaryDirectory(dir=pod.parent) as folder, contextlib.ExitStack() as stack:
        cache = Path(folder) / "cache"
        alone = Path(folder) / "alone"
        write_host(alone, Pod(hosts=1, steps=STEPS, ops=OPS), 0)
        finished([XLADOCTOR, "analyze", alone], cache)  # leaves the readers' machine code
        command: list[str | Path] = [XLADOCTOR, "analyze", pod]
        others: list[int] = []
        if on_cluster:
            address, nanny = stack.enter_context(cluster(workers, cache))
            command += ["--cluster", address]
            others.append(nanny)
        else:
            command += ["--workers", str(workers)]
        before = size_of(cache)
        cold = finished(command, cache, others)
        kept = (size_of(cache) - before) / timelines
        warm = finished(command, cache, others)
        return Row(hosts, workers, "cluster" if on_cluster else "local", cold, warm, kept)


def main() -> None:
    """Print a line for each pod and number of workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hosts", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cluster", action="store_true", help="also on Dask's workers")
    parser.add_argument("--folder", type=Path, help="where pods are made (default: temporary)")
    options = parser.parse_args()
    too_much = False
    for hosts in options.hosts:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            began = time.perf_counter()
            timelines = made(pod := Path(folder) / "pod", hosts)
            print(
                f"\n{hosts} hosts: {timelines / 1e6:,.0f} MB,"
                f" made in {time.perf_counter() - began:.0f} s\n{HEADER}",
                flush=True,
            )
            for on_cluster in (False, True)[: 1 + options.cluster]:
                rows = []
                for workers in options.workers:
                    rows.append(measured(pod, hosts, workers, timelines, on_cluster=on_cluster))
                    print(rows[-1], flush=True)
                first, last = rows[0], rows[-1]
                if first is not last:
                    faster = first.cold.wall_s / last.cold.wall_s
                    print(f"{'':17}{last.workers} workers / {first.workers}: {faster:.2f} times")
                too_much |= any(row.kept > KEPT for row in rows)
    if too_much:
        raise SystemExit(f"the evidence that is kept takes more than {KEPT:.0%} of the timelines")


if __name__ == "__main__":
    main()
