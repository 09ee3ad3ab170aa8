"""What is compared: recorded evidence of each kind, and damaged copies of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.hostile.mutations import damage
from xladoctor.rule_cases.trial import name_of, unpacked

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS.parent / "sample_traces"
MUTANTS = 500


def lay_out(folder: Path, mutants: int = MUTANTS) -> list[Path]:
    """Put all inputs below a folder, where they have the same paths each time."""
    shutil.rmtree(folder, ignore_errors=True)
    runs = [*_samples(folder / "samples"), *_recorded(folder / "recorded")]
    return [*runs, *_damaged(runs, folder / "mutants", mutants)]


def _samples(folder: Path) -> Iterator[Path]:
    for sample in sorted(path for path in SAMPLES.iterdir() if path.is_dir()):
        if sample.name != "__pycache__":
            yield _copied(sample, folder / sample.name)


def _recorded(folder: Path) -> Iterator[Path]:
    """Programs without defects, runs of the reports' tests, and evidence recorded elsewhere."""
    for archive in sorted(TESTS.rglob("*.tar.xz")):
        with unpacked(archive) as run:
            yield _copied(run, folder / archive.parent.name / name_of(archive))


def _damaged(runs: list[Path], folder: Path, count: int) -> Iterator[Path]:
    for seed in range(count):
        random = Random(seed)
        copy = _copied(random.choice(runs), folder / f"{seed:03}")
        damage(copy, random)
        yield copy


def _copied(run: Path, target: Path) -> Path:
    shutil.copytree(run, target)
    for kept in target.rglob("diagnosis.json"):
        kept.unlink()
    return target
