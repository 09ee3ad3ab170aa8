"""Records the runs whose reports are golden files anew: ``python -m tests.report.record [NAME…]``.

Each program runs under ``xladoctor run`` with a short timeline; its run directory, without paths
and names of this machine, is packed into ``recorded/``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from sample_traces.capture import neutralize

HERE = Path(__file__).parent
PROGRAMS = [*sorted((HERE / "programs").glob("*.py")),
            HERE.parents[1] / "examples" / "jax" / "number_as_state.py"]  # fmt: skip


def record(program: Path, folder: Path) -> None:
    """Run one program, which may fail, and keep what it left."""
    run = folder / program.stem
    command = [sys.executable, "-m", "xladoctor", "run", "--quiet", "--output", str(run),
               "--trace-steps", "8", "--trace-bytes", "1M", str(program)]  # fmt: skip
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False,
                   env={**os.environ, "PJRT_DEVICE": "CPU"})  # fmt: skip
    (run / "diagnosis.json").unlink(missing_ok=True)
    neutralize(run)
    with tarfile.open(HERE / "recorded" / f"{program.stem}.tar.xz", "w:xz") as packed:
        packed.add(run, program.stem, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    """Record all programs, or those that are named."""
    for program in PROGRAMS:
        if not sys.argv[1:] or program.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                record(program, Path(folder))


if __name__ == "__main__":
    main()
