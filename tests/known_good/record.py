"""Records the corpus anew: ``python -m tests.known_good.record [NAME…]``.

Each program runs under ``xladoctor run`` with a short timeline; its run directory, without paths
and names of this machine, is packed into ``recorded/``, and those of examples into ``examples/``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from sample_traces.capture import neutralize
from tests.known_good.corpus import ENVIRONMENT, EXAMPLES, HERE, PROGRAMS

#: A setting of torch_xla; where TorchTPU finds it, that is a finding.
_DEVICE = {"PJRT_DEVICE": "CPU"} if find_spec("torch_xla") else {}


def record(program: Path, folder: Path, kept: Path, *, may_fail: bool = False) -> None:
    """Run one program, and keep what it left in the folder ``kept``."""
    run = folder / program.stem
    command = [
        sys.executable,
        "-m",
        "xladoctor",
        "run",
        "--quiet",
        "--output",
        str(run),
        "--trace-steps",
        "8",
        "--trace-bytes",
        "8M",
        "--graph-bytes",
        "0",
        str(program),
    ]
    subprocess.run(
        command,
        check=not may_fail,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **_DEVICE, **ENVIRONMENT.get(program.stem, {})},
    )
    (run / "diagnosis.json").unlink(missing_ok=True)
    neutralize(run)
    with tarfile.open(kept / f"{program.stem}.tar.xz", "w:xz") as packed:
        packed.add(run, program.stem, filter=anonymous)


def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member of an archive without the user and group of this machine."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def record_all(programs: Sequence[Path], kept: Path, *, may_fail: bool = False) -> None:
    """Record all programs, or those that the command line names."""
    kept.mkdir(parents=True, exist_ok=True)
    for program in programs:
        if not sys.argv[1:] or program.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                record(program, Path(folder), kept, may_fail=may_fail)


if __name__ == "__main__":
    record_all(PROGRAMS, HERE / "recorded")
    for framework, examples in EXAMPLES.items():
        record_all(examples, HERE / "examples" / framework)
