"""What programs of all kinds left, whose reports are golden files: samples, parts of one, runs.

PyTorch/XLA, JAX, torch.compile; a Chrome trace, a pasted report, a log; several processes, a
program that fails, one without a defect, 30,000 steps.
"""

from __future__ import annotations

import contextlib
import tarfile
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.pictures.make import pictures
from xladoctor.doctor import load_evidence

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(
    path
    for path in (ROOT / "sample_traces").iterdir()
    if path.is_dir() and path.name not in ("programs", "__pycache__")
)
#: What somebody may send: a report, a log, a timeline.
_PARTS = {"metrics": "metrics.txt", "log": "analysis.log", "timeline": "*.xplane.pb"}
_SICK = ROOT / "sample_traces" / "scalar_read"
PATHS = {path.name: f"sample_traces/{path.name}" for path in FOLDERS} | {
    name: str(
        next(path for path in _SICK.rglob(pattern) if path.name != "modules.xplane.pb").relative_to(
            ROOT
        )
    )
    for name, pattern in _PARTS.items()
}
_RECORDED = {
    path.name.removesuffix(".tar.xz"): path
    for path in sorted((Path(__file__).parent / "recorded").glob("*.tar.xz"))
}
NAMES = [*PATHS, *_RECORDED]


@cache
def diagnosis(name: str) -> Diagnosis:
    """With its pictures; paths in it are as they are given: relative."""
    folder = ROOT if name in PATHS else Path(_unpacked().name)
    with contextlib.chdir(folder):
        evidence = load_evidence(PATHS.get(name, name))
        made = diagnose(evidence, load_rules())
        return replace(made, pictures=pictures(evidence, made))


@cache
def _unpacked() -> tempfile.TemporaryDirectory[str]:
    """The recorded runs, until this process ends."""
    folder = tempfile.TemporaryDirectory()
    for path in _RECORDED.values():
        with tarfile.open(path) as packed:
            packed.extractall(folder.name, filter="data")
    return folder
