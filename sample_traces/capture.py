"""Captures the sample traces anew: each program of `programs/` under `xladoctor run`.

Each `<name>/` here is a run directory, written by the real tool from `programs/<name>.py`; or what
`torch.profiler` and `TORCH_TRACE` wrote of `programs/profiled/<name>.py`, with the report on it.
Paths of this checkout and of its environment are replaced, so that a sample reads the same
everywhere.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from xladoctor.ingest.protobuf_schema import message
from xladoctor.recording.interface import RunDirectory
from xladoctor.recording.manifest import inventory, write

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
PROFILED = sorted((HERE / "programs" / "profiled").glob("*.py"))


def capture(program: Path) -> None:
    """Run one program under capture and keep its run directory."""
    target = HERE / program.stem
    shutil.rmtree(target, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "xladoctor",
        "run",
        "--quiet",
        "--graph-bytes",
        "0",
        "--output",
        str(target),
        f"programs/{program.name}",
    ]
    environment = {**os.environ, "PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": "2"}
    if program.stem != "two_threads":
        del environment["CPU_NUM_DEVICES"]
    subprocess.run(command, cwd=HERE, env=environment, check=True, stdout=subprocess.DEVNULL)
    neutralize(target)


def profile(program: Path) -> None:
    """Run one program that profiles itself, with the compiler's log, and keep both."""
    target = HERE / program.stem
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    command = [sys.executable, str(program.relative_to(HERE)), f"{target}/rank0.pt.trace.json"]
    environment = {**os.environ, "TORCH_TRACE": str(target)}
    subprocess.run(command, cwd=HERE, env=environment, check=True, capture_output=True)
    for path in sorted(target.iterdir()):
        name = "torch_trace.log" if path.suffix == ".log" else path.name
        packed = gzip.compress(neutral(path.read_text()).encode(), mtime=0)
        (target / f"{name}.gz").write_bytes(packed)
        path.unlink()
    report = [sys.executable, "-m", "xladoctor", "analyze", target.name, "--fail-on", "never"]
    shown = subprocess.run(
        report,
        cwd=HERE,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    (target / "report.txt").write_text(shown.stdout)


def neutral(text: str) -> str:
    """A text with other paths and another name of the host than this machine's."""
    replaced = {
        str(HERE.resolve()): "/samples",
        sysconfig.get_paths()["purelib"]: "/venv/lib/python3.11/site-packages",
        sysconfig.get_paths()["stdlib"]: "/usr/lib/python3.11",
        sys.prefix: "/xladoctor/.venv",
        str(HERE.parent.resolve()): "/xladoctor",
        f'"{socket.gethostname()}"': '"host"',
    }

    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def neutralize(target: Path) -> None:
    """Replace the paths and the host name of this machine in all files."""
    for path in sorted(p for p in target.rglob("*") if p.is_file()):
        if path.suffix == ".pb":
            neutralize_timeline(path, neutral)
        elif path.suffix == ".gz":
            text = gzip.decompress(path.read_bytes()).decode()
            path.write_bytes(gzip.compress(neutral(text).encode(), mtime=0))
        else:
            path.write_text(neutral(path.read_text()))
        path.rename(path.with_name(path.name.replace(socket.gethostname(), "host")))
    for path in target.glob("process-*/process.json"):  # the sizes are others now
        process = json.loads(path.read_text())
        names = (name.replace(socket.gethostname(), "host") for name in process.get("files", ()))
        process["files"] = {name: (target / name).stat().st_size for name in names}
        path.write_text(json.dumps(process) + "\n")
    record = json.loads((target / "run.json").read_text())
    write(RunDirectory(target), {**record, **inventory(target)})


def neutralize_timeline(path: Path, shown: Callable[[str], str]) -> None:
    """Replace texts inside the messages; fields that are not described are kept as they are."""
    space = message("XSpace").FromString(path.read_bytes())
    space.hostnames[:] = ["host"] * len(space.hostnames)
    for plane in space.planes:
        for stat in plane.stat_metadata:
            stat.value.name = shown(stat.value.name)
        for event in (event for line in plane.lines for event in line.events):
            for stat in event.stats:
                if stat.str_value:
                    stat.str_value = shown(stat.str_value)
        for stat in (stat for entry in plane.event_metadata for stat in entry.value.stats):
            if stat.bytes_value:
                stat.bytes_value = neutral_module(stat.bytes_value, shown)
    path.write_bytes(space.SerializeToString())


def neutral_module(proto: bytes, shown: Callable[[str], str]) -> bytes:
    """A serialized ``HloProto`` with its source files replaced."""
    hlo = message("HloProto").FromString(proto)
    files = hlo.hlo_module.stack_frame_index.file_names
    files[:] = [shown(file) for file in files]
    for computation in hlo.hlo_module.computations:
        for instruction in computation.instructions:
            if instruction.metadata.source_file:
                instruction.metadata.source_file = shown(instruction.metadata.source_file)
    return bytes(hlo.SerializeToString())


if __name__ == "__main__":
    for program in (*PROGRAMS, *PROFILED):
        (profile if program in PROFILED else capture)(program)
        size = sum(p.stat().st_size for p in (HERE / program.stem).rglob("*") if p.is_file())
        print(f"{program.stem}: {size / 1e6:.2f} MB")
