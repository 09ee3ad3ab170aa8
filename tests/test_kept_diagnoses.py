"""A diagnosis is made once, and anew as soon as anything that it was made from is another."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from xladoctor import doctor
from xladoctor.comparison.compare import compare
from xladoctor.configuration.interface import Configuration, Configured
from xladoctor.diagnosis.examination import Examination, Extras
from xladoctor.diagnosis.selection import Selection
from xladoctor.kept_diagnoses import KeptDiagnosis

SAMPLE = Path(__file__).parents[1] / "sample_traces" / "scalar_read"


@pytest.fixture(scope="module")
def chosen() -> Selection:
    return doctor.selection(Configured(folder=Path.cwd()))


@pytest.fixture(scope="module")
def examined(chosen: Selection) -> Examination:
    return doctor.examine(str(SAMPLE), chosen)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept diagnoses, which are used here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("XLADOCTOR_CACHE")
    return tmp_path / "cache" / "xladoctor" / "diagnoses"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return shutil.copytree(SAMPLE, tmp_path / "run")


@pytest.fixture
def keep(run: Path, chosen: Selection, examined: Examination) -> Callable[[], None]:
    """Keeps the diagnosis of a run, of whose program one file was read."""
    source = run.parent / "train.py"
    source.write_text("import torch\n")
    examined.evidence.consulted.add(str(source))
    time.sleep(0.05)  # files that were only just written may change once more
    return lambda: KeptDiagnosis(str(run), chosen, None).keep(examined.diagnosis, examined.evidence)


def test_what_is_kept_is_not_read_again(
    run: Path, chosen: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    time.sleep(0.05)
    first = doctor.examine(str(run), chosen)
    assert first.diagnosis.findings != []
    monkeypatch.setattr(doctor, "_load_alone", lambda *_: pytest.fail("read again"))
    second = doctor.examine(str(run), chosen)
    assert second.diagnosis == first.diagnosis


def test_patches_are_kept_and_shown_only_where_they_are_asked_for(
    run: Path, chosen: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    time.sleep(0.05)
    plain = doctor.examine(str(run), chosen).diagnosis
    planned = doctor.examine(str(run), chosen, extras=Extras(patches=True)).diagnosis
    monkeypatch.setattr(doctor, "_load_alone", lambda *_: pytest.fail("read again"))
    assert doctor.examine(str(run), chosen, extras=Extras(patches=True)).diagnosis == planned
    assert doctor.examine(str(run), chosen).diagnosis == plain


def test_pages_and_comparisons_are_made_from_what_is_kept(
    run: Path, chosen: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    time.sleep(0.05)
    plain = doctor.examine(str(run), chosen).diagnosis
    drawn = doctor.examine(str(run), chosen, extras=Extras(pictures=True)).diagnosis
    assert plain.pictures is not None
    assert drawn.pictures is not None
    assert (plain.pictures.drawn, drawn.pictures.drawn) == (False, True)
    assert drawn.traits.samples.ms != ()

    monkeypatch.setattr(doctor, "_load_alone", lambda *_: pytest.fail("read again"))
    assert doctor.examine(str(run), chosen, extras=Extras(pictures=True)).diagnosis == drawn
    compared = compare(plain, doctor.examine_joined(str(run), chosen).diagnosis, chosen.rules)
    assert compared.verdict.outcome == "same"


def test_the_evidence_is_read_when_it_is_needed(run: Path, chosen: Selection) -> None:
    doctor.examine(str(run), chosen)
    again = doctor.examine(str(run), chosen)
    assert again.evidence is again.evidence
    assert again.evidence.database.scalar("SELECT count(*) FROM step") == 41


@pytest.mark.parametrize(
    ("settings", "total_steps"),
    [
        (Configuration(), 1000),
        (Configuration(ignore=["XD201"]), None),
        (Configuration(thresholds={"XD201": {"each": 0.9}}), None),
    ],
)
def test_other_rules_and_options_have_their_own(
    run: Path, keep: Callable[[], None], settings: Configuration, total_steps: int | None
) -> None:
    keep()
    other = doctor.selection(Configured(settings=settings, folder=Path.cwd()))
    assert KeptDiagnosis(str(run), other, total_steps).read() is None


def touch(run: Path) -> None:
    os.utime(next(run.glob("process-*/*")))


def rewrite_with_old_date(run: Path) -> None:
    about = (run / "run.json").stat()
    (run / "run.json").write_bytes((run / "run.json").read_bytes().replace(b"0", b"1"))
    os.utime(run / "run.json", ns=(about.st_atime_ns, about.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        touch,
        rewrite_with_old_date,
        lambda run: (run / "fixes.json").write_text("[]"),
        lambda run: (run / "run.json").unlink(),
        lambda run: (run.parent / "train.py").write_text("import jax\n"),
        lambda run: (run.parent / "train.py").unlink(),
    ],
    ids=["touched", "old date", "new file", "no file", "source", "no source"],
)
def test_what_changed_is_judged_anew(
    run: Path, chosen: Selection, keep: Callable[[], None], change: Callable[[Path], object]
) -> None:
    keep()
    assert KeptDiagnosis(str(run), chosen, None).read() is not None
    change(run)
    assert KeptDiagnosis(str(run), chosen, None).read() is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content.replace(b"XD201", b"XD202", 1),
        lambda content: b"\xff" * 100,
    ],
)
def test_what_is_damaged_is_made_anew(
    run: Path,
    chosen: Selection,
    keep: Callable[[], None],
    cache: Path,
    damage: Callable[[bytes], bytes],
) -> None:
    keep()
    (file,) = cache.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert KeptDiagnosis(str(run), chosen, None).read() is None


def test_a_file_that_changes_meanwhile_is_not_kept(
    run: Path, chosen: Selection, examined: Examination, cache: Path
) -> None:
    place = KeptDiagnosis(str(run), chosen, None)
    touch(run)
    place.keep(examined.diagnosis, examined.evidence)
    assert not cache.exists()


def test_a_report_beside_other_texts_is_evidence(
    tmp_path: Path, chosen: Selection, examined: Examination
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("report.txt", "metrics.txt"):
        (folder / name).write_text("Counter: MarkStep\n  Value: 3\n")
    time.sleep(0.05)
    KeptDiagnosis(str(folder), chosen, None).keep(examined.diagnosis, examined.evidence)
    assert KeptDiagnosis(str(folder), chosen, None).read() == examined.diagnosis
    (folder / "report.txt").write_text("")
    assert KeptDiagnosis(str(folder), chosen, None).read() is None


def test_a_program_that_runs_is_not_kept(
    run: Path, chosen: Selection, examined: Examination, cache: Path
) -> None:
    now = replace(examined.diagnosis, run=replace(examined.diagnosis.run, running=True))
    KeptDiagnosis(str(run), chosen, None).keep(now, examined.evidence)
    assert not cache.exists()


def test_the_cache_is_private_and_can_be_switched_off(
    run: Path,
    chosen: Selection,
    keep: Callable[[], None],
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep()
    assert cache.stat().st_mode & 0o77 == 0
    monkeypatch.setenv("XLADOCTOR_CACHE", "off")
    assert KeptDiagnosis(str(run), chosen, None).read() is None


def test_without_a_cache_all_is_as_before(
    run: Path, chosen: Selection, keep: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    keep()
    assert KeptDiagnosis(str(run), chosen, None).read() is None
