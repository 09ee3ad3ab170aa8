"""What pairs of runs show, and copies of projects."""

from __future__ import annotations

import math
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fixes.test_compose import edit, patch
from xladoctor.diagnosis.finding import Saving
from xladoctor.fixes.interface import FixError
from xladoctor.fixes.proof.interface import Proof, Run
from xladoctor.fixes.proof.judging import judged, times
from xladoctor.fixes.proof.workspace import workspace

RTOL = 1e-3


def proof(predicted_s: float | None = 1.0, *, bound: bool = False) -> Proof:
    return Proof(patch(edit((1, 0), (1, 0), "")), "not tried", predicted_s=predicted_s, bound=bound)


def pairs(
    before: list[float], after: list[float], printed: str = "loss 1.0", now: str = ""
) -> list[tuple[Run, Run]]:
    return [
        (Run(0, printed, one, 1.0), Run(0, now or printed, two, 1.0))
        for one, two in zip(before, after, strict=True)
    ]


def test_a_patch_holds_where_it_saves_what_was_predicted() -> None:
    found = judged(proof(), pairs([2.0, 2.1, 1.9], [1.0, 1.05, 0.95]), RTOL)
    assert found.outcome == "verified"
    assert found.times is not None
    assert found.times.value == pytest.approx(2)
    assert found.times.low > 1.9
    assert found.is_kept


def test_a_patch_that_saves_less_than_half_of_it_is_kept_all_the_same() -> None:
    found = judged(proof(1.9), pairs([2.0, 2.1, 1.9], [1.5, 1.55, 1.45]), RTOL)
    assert found.outcome == "helps less than predicted"
    assert "0.5 s where 1.9 s were predicted" in found.reason
    assert found.is_kept


def test_at_most_is_no_promise() -> None:
    found = judged(proof(1.9, bound=True), pairs([2.0, 2.1, 1.9], [1.5, 1.55, 1.45]), RTOL)
    assert found.outcome == "verified"


def test_what_may_be_chance_does_not_help() -> None:
    found = judged(proof(), pairs([2.0, 2.6, 1.9], [1.9, 2.1, 2.2]), RTOL)
    assert found.outcome == "does not help"
    assert not found.is_kept


def test_one_pair_proves_nothing() -> None:
    assert judged(proof(), pairs([2.0], [1.0]), RTOL).outcome == "does not help"


def test_another_output_is_another_result() -> None:
    found = judged(proof(), pairs([2.0] * 3, [1.0] * 3, "loss 0.5", "loss 0.6"), RTOL)
    assert found.outcome == "changes the results"
    assert found.differs == ("- loss 0.5", "+ loss 0.6")
    assert found.reason == "the patch changes the results: standard output"


def test_what_differs_without_the_patch_too_is_not_compared() -> None:
    runs = [
        (Run(0, f"n 5 loss 0.{n}", 2.0 + n / 100), Run(0, f"n 5 loss 0.{n + 5}", 1.0))
        for n in range(3)
    ]
    found = judged(proof(), runs, RTOL)
    assert found.outcome == "verified"
    assert found.note == "what differs in each run was not compared: standard output"
    for other in ("n 6 loss 0.3", "n 5 lost 0.3"):
        changed = [(before, replace(after, printed=other)) for before, after in runs]
        assert judged(proof(), changed, RTOL).outcome == "changes the results"


@pytest.mark.parametrize("printed", ["", "loss {}"])
def test_where_nothing_can_be_compared_no_patch_holds(printed: str) -> None:
    runs = [
        (Run(0, printed.format(n), 2.0 + n / 100), Run(0, printed.format(n + 7), 1.0))
        for n in range(3)
    ]
    found = judged(proof(), runs, RTOL)
    assert found.outcome == "not comparable"
    assert not found.is_kept


def test_a_patched_program_that_fails_is_said_to() -> None:
    runs = [(Run(0, "", 2.0), Run(1, "", None, errors="Traceback\nNameError: total"))]
    found = judged(proof(), runs, RTOL)
    assert found.outcome == "fails"
    assert found.reason == "it ended with status 1"
    assert found.differs[-1] == "NameError: total"


def test_counts_and_findings_that_differ_are_listed() -> None:
    before = Run(0, "5", 2.0, counts=(("host_syncs_per_step", 1.0), ("step_ms", 3.0)))
    after = Run(
        0,
        "5",
        1.0,
        counts=(("host_syncs_per_step", 0.0), ("step_ms", 1.0)),
        findings=frozenset({"XD101"}),
    )
    found = judged(proof(), [(before, after)] * 3, RTOL)
    assert found.counts == (("host_syncs_per_step", 1.0, 0.0),)
    assert found.new == ("XD101",)


def test_times_of_pairs_have_an_interval() -> None:
    found = times([(2.0, 1.0), (4.0, 2.0)])
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))
    assert times([(2.0, 1.0)]).high == math.inf


# Copies


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "data").mkdir(parents=True)
    (root / "train.py").write_text("committed\n")
    (root / ".gitignore").write_text("data/\n.venv/\n")
    (root / "data" / "big.bin").write_text("data")
    git(root, "init", "-q")
    git(root, "add", ".")
    (root / "train.py").write_text("not committed\n")
    (root / "new.py").write_text("untracked\n")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").write_text("")
    return root


def test_a_copy_has_what_git_knows_as_it_is_now(project: Path) -> None:
    with workspace(project) as copies:
        copies.fresh({project / "new.py": "patched\n"})
        assert (copies.copy / "train.py").read_text() == "not committed\n"
        assert (copies.copy / "new.py").read_text() == "patched\n"
        assert not (copies.copy / "data").exists()
        (copies.copy / "left.txt").write_text("by the program")
        copies.fresh({})
        assert not (copies.copy / "left.txt").exists()
        assert (copies.copy / "new.py").read_text() == "untracked\n"
        place = copies.copy
    assert not place.exists()
    assert (project / "new.py").read_text() == "untracked\n"
    assert not (project / "left.txt").exists()


def test_ignored_data_is_copied_if_it_is_named(project: Path) -> None:
    with workspace(project, [project / "data"]) as copies:
        copies.fresh({})
        assert (copies.copy / "data" / "big.bin").read_text() == "data"
    with pytest.raises(FixError, match="is not in the project"), workspace(project, [Path("/etc")]):
        pass


def test_empty_folders_are_copied(project: Path, tmp_path: Path) -> None:
    (project / "data" / "checkpoints").mkdir()
    with workspace(project, [project / "data" / "checkpoints"]) as copies:
        copies.fresh({})
        assert [*(copies.copy / "data").iterdir()] == [copies.copy / "data" / "checkpoints"]
    (tmp_path / "bare" / "checkpoints").mkdir(parents=True)
    with workspace(tmp_path / "bare") as copies:
        copies.fresh({})
        assert (copies.copy / "checkpoints").is_dir()


def test_words_of_files_are_those_of_the_copy(project: Path) -> None:
    with workspace(project) as whole:
        copies = replace(whole, encloses=False)
        assert copies.word(str(project / "train.py")) == str(copies.copy / "train.py")
        python = str(project / ".venv" / "bin" / "python")
        assert copies.word(python) == python
        assert copies.word("--steps=3") == "--steps=3"
        assert copies.word("/etc/hosts") == "/etc/hosts"


def test_python_finds_the_modules_of_the_copy(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(project), "/elsewhere"]))
    with workspace(project) as copies:
        found = replace(copies, encloses=False).environment(copies.runs / "caches", project)
        assert found["PYTHONPATH"].split(os.pathsep) == [str(copies.copy), "/elsewhere"]
        assert found["TORCHINDUCTOR_CACHE_DIR"] == str(copies.runs / "caches")
        assert found["PWD"] == str(copies.copy)


def test_without_git_it_is_the_folder_without_environments(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("x\n")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "link.py").symlink_to("src/train.py")
    (tmp_path / "whole").symlink_to(tmp_path / "src")
    (tmp_path / "outside").symlink_to("/etc/hosts")
    with workspace(tmp_path) as copies:
        copies.fresh({})
        found = {path.name for path in copies.copy.iterdir()}
        assert found - {"venv"} == {"link.py", "outside", "src", "whole"}
        assert not (copies.copy / "venv" / "pyvenv.cfg").exists()
        assert (copies.copy / "whole").resolve() == copies.copy / "src"
        assert (copies.copy / "link.py").resolve() == copies.copy / "src" / "train.py"
        assert (copies.copy / "outside").resolve() == Path("/etc/hosts").resolve()


def test_a_project_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(600_000_000)
    with pytest.raises(FixError, match="more than 500 MB, too much"), workspace(tmp_path):
        pass


def test_savings_of_a_finding_are_the_prediction() -> None:
    from xladoctor.fixes.proof.judging import predicted

    given = patch(edit((1, 0), (1, 0), ""))
    saving = Saving(1.5, None, None, "bound")
    finding = replace(given.finding, saving=saving)
    assert predicted(replace(given, finding=finding)) == (1.5, True)
    assert predicted(given) == (None, False)
