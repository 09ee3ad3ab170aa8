"""What the doctor says of programs of which there is only a trace, a report, a log, or all three.

    python -m tests.evidence_elsewhere.table [NAME …] --runs DIR    # default: all examples

Records each program of examples/ by ``recorder.py`` unless DIR has it. A row has the program, its
rule, and what is above info: from each kind of evidence alone, and from the folder with all.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.live.harness import PROGRAMS
from tests.live.test_examples import SICK
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.ingest.interface import IngestError

KINDS = ("trace", "report", "log", "")
RECORDER = Path(__file__).with_name("recorder.py")
LIMIT_S = 300


def recorded(program: Path, folder: Path) -> Path:
    """The folder with what was recorded of a program, unless it is there."""
    if not (folder / "report" / "metrics.txt").exists():
        (folder / "log").mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, str(RECORDER), str(folder), str(program)],
            check=True,
            capture_output=True,
            timeout=LIMIT_S,
            env={
                **os.environ,
                "PJRT_DEVICE": "CPU",
                "PT_XLA_DEBUG_LEVEL": "2",
                "PT_XLA_DEBUG_FILE": str(folder / "log" / "analysis.txt"),
            },
        )
    return folder


def diagnosed(folder: Path, kind: str) -> Diagnosis:
    """The diagnosis of one kind of evidence; of all, if it is empty."""
    return diagnose(load_evidence(str(folder / kind)), load_rules())


def serious(diagnosis: Diagnosis) -> list[str]:
    """The rules of the findings above info, in order."""
    rules = [finding.rule for finding in diagnosis.findings if finding.severity != "info"]
    return list(dict.fromkeys(rules))


def said_of(folder: Path, kind: str) -> str:
    """The same in a cell of the table; eager programs leave an empty log."""
    try:
        return " ".join(serious(diagnosed(folder, kind))) or "-"
    except IngestError:
        return "no evidence"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=Path)
    options = parser.parse_args()
    print(f"{'program':32} {'rule':6} {'trace':16} {'report':16} {'log':16} all")
    with tempfile.TemporaryDirectory() as scratch:
        for program in PROGRAMS:
            if options.names and program.stem not in options.names:
                continue
            try:
                folder = recorded(program, (options.runs or Path(scratch)) / program.stem)
                said = [said_of(folder, kind) for kind in KINDS]
            except (subprocess.SubprocessError, OSError) as error:
                said = [type(error).__name__] * len(KINDS)
            expected = SICK[program.stem].rule if program.stem in SICK else "-"
            print(
                f"{program.stem:32} {expected:6} " + " ".join(f"{part:16}" for part in said),
                flush=True,
            )


if __name__ == "__main__":
    main()
