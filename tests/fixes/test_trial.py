"""Which patches are tried together, and what is known of each afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fixes.test_compose import edit, patch
from xladoctor.fixes.interface import FixError, Patch, Plan
from xladoctor.fixes.proof import trial
from xladoctor.fixes.proof.interface import Run
from xladoctor.fixes.proof.trial import Course, Trials

PAIRS = 2


class Program:
    """A program of which each patch has an effect on the result: instead of a runner."""

    def __init__(self, wrong: Sequence[str] = (), fails: Sequence[str] = ()) -> None:
        self.runs = list[str]()
        self._wrong, self._fails = wrong, fails

    def __call__(self, *_: object) -> Program:
        return self

    def refuse_paths(self) -> None:
        """Nothing to refuse."""

    def run(self, patches: Sequence[Patch], limit_s: float | None, tick: Callable[[], None]) -> Run:
        """The run with these patches, which are known by their kinds."""
        tick()
        names = "".join(each.kind for each in patches)
        self.runs.append(names)
        if len(self.runs) == self.ends_at:
            raise SystemExit(130)
        loss = 5 + sum(name in self._wrong for name in names)
        seconds = 10.0 - len(names) + len(self.runs) / 1000
        status = int(any(name in self._fails for name in names))
        rules = tuple(f"XD{name}" for name in "abcd" if name not in names)
        return Run(status, f"loss {loss}\n", None if status else seconds, rules=rules)

    ends_at = 0


def course(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: Program,
    names: str = "abcd",
    behaves: str = "",
    told: list[str] | None = None,
) -> Course:
    monkeypatch.setattr(trial, "Runner", program)
    made = patch(edit((1, 0), (1, 0), ""))
    patches = [
        replace(
            made,
            kind=name,
            finding=replace(made.finding, rule=f"XD{name}"),
            change=replace(made.change, behaviour="it prints less" * (name in behaves)),
        )
        for name in names
    ]
    tell = list[str]().append if told is None else told.append
    return Course(
        Plan(project, patches), Trials(["train.py"], project, PAIRS, tell=tell, whole_s=60)
    )


def outcomes(course: Course) -> dict[str, str]:
    return {proof.patch.kind: proof.outcome for proof in course.proofs}


def test_patches_that_hold_together_share_their_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[str]()
    program = Program()
    tried = course(tmp_path, monkeypatch, program, told=told)
    tried.run()
    assert sorted(program.runs) == ["", "", "abcd", "abcd"]
    assert set(outcomes(tried).values()) == {"verified"}
    first = tried.proofs[0]
    assert [each.kind for each in first.others] == ["b", "c", "d"]
    assert first.same == ("standard output",)
    assert (
        told[0] == "4 patches, tried together first: 4 runs (4 min 00 s), 32 at most (32 min 00 s)"
    )


@pytest.mark.parametrize("wrong", ["a", "b", "c", "d", "ac", "abcd"])
@pytest.mark.parametrize("outcome", ["changes the results", "fails"])
def test_those_that_do_not_hold_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, outcome: str
) -> None:
    program = Program(*([wrong] if outcome != "fails" else [(), wrong]))
    tried = course(tmp_path, monkeypatch, program)
    tried.run()
    assert outcomes(tried) == {name: outcome if name in wrong else "verified" for name in "abcd"}
    kept = "".join(proof.patch.kind for proof in tried.proofs if proof.is_kept)
    assert sorted(kept) in [sorted(names) for names in program.runs]  # what is written has run
    assert program.runs.count("") == PAIRS
    assert len(program.runs) <= PAIRS * 8


def test_a_patch_that_says_what_it_changes_does_not_excuse_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = course(tmp_path, monkeypatch, Program("bd"), behaves="b")
    tried.run()
    assert outcomes(tried) == {
        "a": "verified",
        "b": "verified",
        "c": "verified",
        "d": "changes the results",
    }


def test_a_patch_whose_finding_stays_does_not_hold_for_the_help_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = course(tmp_path, monkeypatch, Program(), names="abe")
    tried.run()
    assert outcomes(tried) == {"a": "verified", "b": "verified", "e": "helps less than predicted"}


def test_what_is_known_when_it_is_interrupted_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program("d")
    program.ends_at = 7  # after "abcd" and "ab"
    tried = course(tmp_path, monkeypatch, program)
    with pytest.raises(SystemExit):
        tried.run()
    assert outcomes(tried) == dict(zip("abcd", ["verified"] * 2 + ["not tried"] * 2, strict=True))
    assert tried.proofs[3].reason == "it was interrupted"


def test_a_program_that_fails_in_a_copy_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program()
    monkeypatch.setattr(program, "run", lambda *_: Run(1, "", None, errors="no such file: data"))
    with pytest.raises(FixError, match="it ended with status 1") as error:
        course(tmp_path, monkeypatch, program).run()
    assert error.value.hint.startswith("no such file: data\nfiles that git ignores")
