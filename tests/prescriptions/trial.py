"""Runs a program before and after a prescription is followed, and holds the second run against the
claims of the first."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATCHES = Path(__file__).parent / "patches"
#: What was found, patch by patch: docs/prescriptions.md is made from it.
TRIED = Path(__file__).parent / "tried.json"
LIMIT_S = 600
_HURTS = ("warning", "error")
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Patch:
    """A prescription as it was followed."""

    path: Path

    @property
    def name(self) -> str:
        """As the table and the command have it: ``XD201/torch_xla-scalar_read``."""
        return self.path.relative_to(PATCHES).with_suffix("").as_posix()

    @property
    def rule(self) -> str:
        return self.path.parent.name

    @property
    def frontend(self) -> str:
        return self.path.stem.partition("-")[0]

    @property
    def program(self) -> Path:
        """The sick program that the patch changes, from the repository's root."""
        found = re.search(r"(?m)^--- a/(\S+)", self.path.read_text(encoding="utf-8"))
        assert found, f"{self.path}: no line '--- a/program.py'"
        return Path(found[1])

    @property
    def header(self) -> dict[str, str]:
        """The lines before the difference: ``Advice``, what of the report it follows; ``Output``,
        what of the program's output has to differ and why, if anything has to; and ``Device``,
        what it needs, if that is not a CPU.
        """
        before = self.path.read_text(encoding="utf-8").partition("--- a/")[0]
        return dict(re.findall(r"(?m)^(\w+): (.*)$", before))

    @property
    def can_run(self) -> bool:
        """Whether this machine has the device that it needs."""
        return "Device" not in self.header or gpu() is not None

    def apply(self, folder: Path) -> Path:
        """A copy of the program in ``folder``, as the patch makes it."""
        copy = folder / self.program
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / self.program).read_bytes())
        applied = subprocess.run(
            ["git", "apply", "--unsafe-paths", f"--directory={folder}", str(self.path)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        )
        assert applied.returncode == 0, f"{self.path}: {applied.stderr}"
        return copy


@dataclass(frozen=True)
class Trial:
    """What came of it. Seconds are of the loop, or of the whole run of a program without one.

    Attributes:
        severity: of the finding, before.
        foretold_s: what the report promised to save; None where it promised nothing.
        basis: of that promise: ``estimate`` or ``bound`` (at most).
        left: the finding's severity afterwards, empty if it is gone.
        new: findings at warning or above that were not there before.
        same_output: what the program prints is the same, numbers within a thousandth.
        device: on which it was tried.
    """

    patch: str
    program: str
    severity: str
    foretold_s: float | None
    basis: str
    before_s: float
    after_s: float
    left: str
    new: list[str]
    same_output: bool
    device: str = "CPU"

    @property
    def holds(self) -> bool:
        """The finding no longer stands, at warning or above, and no other has come."""
        return self.left not in _HURTS and not self.new and self.same_output


def patches(names: list[str]) -> list[Patch]:
    """All patches, or those whose names begin so."""
    every = [Patch(path) for path in sorted(PATCHES.rglob("*.patch"))]
    return [each for each in every if not names or each.name.startswith(tuple(names))]


def tried(patch: Patch, folder: Path) -> Trial:
    """Run the program as it is and as the patch makes it, each once, captured."""
    before, printed = captured(ROOT / patch.program, folder / "before")
    after, printed_after = captured(patch.apply(folder / "healed"), folder / "after")
    found = [each for each in before["findings"] if each["rule"] == patch.rule]
    assert found, f"{patch.name}: not found in {patch.program}: {findings(before)}"
    promise = found[0]["saving"]
    left = [each["severity"] for each in after["findings"] if each["rule"] == patch.rule]
    new = {rule for rule, severity in findings(after) if severity in _HURTS}
    new -= {rule for rule, severity in findings(before) if severity in _HURTS}
    return Trial(
        patch.name,
        patch.program.as_posix(),
        found[0]["severity"],
        promise["seconds"],
        promise["basis"],
        seconds(before),
        seconds(after),
        left[0] if left else "",
        sorted(new - {patch.rule}),
        "Output" in patch.header or _alike(printed, printed_after),
        gpu() or "CPU" if "Device" in patch.header else "CPU",
    )


@cache
def gpu() -> str | None:
    """The name of the machine's GPU that torch can use; None where there is none."""
    asked = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    return ran.stdout.strip() or None


def captured(program: Path, run: Path, limit_s: float | None = None) -> tuple[dict[str, Any], str]:
    """The report of a program, and what it printed.

    Args:
        limit_s: after which it is ended, as a user does who does not want to wait.
    """
    ended = ["timeout", "--signal=INT", str(limit_s)] if limit_s else []
    ran = subprocess.run(
        [
            *ended,
            sys.executable,
            "-m",
            "xladoctor",
            "run",
            "--quiet",
            "-o",
            str(run),
            "--format",
            f"terminal={run}.txt",
            str(program),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={
            "JAX_PLATFORMS": "cpu",
            "PJRT_DEVICE": "CPU",
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": f"{run}-cache",
        },  # else what ran before spares compiling
    )
    assert ran.returncode == 0 or limit_s, f"{program}: {ran.stderr[-2000:]}"
    return json.loads((run / "diagnosis.json").read_text(encoding="utf-8")), ran.stdout


def findings(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["rule"], each["severity"]) for each in report["findings"]]


def seconds(report: dict[str, Any]) -> float:
    """Of the loop, with its warm-up, or of the whole program."""
    time = report["time"]
    return round(float(time["loop_s"] or time["total_s"]), 4)


def _alike(one: str, other: str) -> bool:
    """Whether two outputs have the same words and, within a thousandth, the same numbers.

    Times are no part of a result: numbers that a unit of time follows are left out.
    """
    one, other = (re.sub(r"\d[\d.]*\s*(?:[mµun]?s|seconds?)\b", "", text) for text in (one, other))
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-8) for a, b in pairs)


def kept() -> dict[str, Trial]:
    """What was found so far, by the patch's name."""
    if not TRIED.exists():
        return {}
    rows = json.loads(TRIED.read_text(encoding="utf-8"))
    return {row["patch"]: Trial(**row) for row in rows}


def keep(trials: dict[str, Trial]) -> None:
    """Write down what was found."""
    rows = [asdict(trials[name]) for name in sorted(trials)]
    TRIED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
