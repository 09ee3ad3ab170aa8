"""What ``xladoctor fix`` prints: patches, what came of trying them, and what has no patch."""

from __future__ import annotations

import io
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

from tests.report.diagnoses import SICK
from tests.report.snapshots import assert_as_before
from tests.report.test_terminal import columns
from xladoctor.diagnosis.finding import NO_SAVING, Finding, Location
from xladoctor.fixes.interface import Change, Edit, Patch, Plan, Position, Skip, sha256_of
from xladoctor.fixes.plan import diff
from xladoctor.fixes.proof.interface import Interval, Proof
from xladoctor.fixes.text import lines_of
from xladoctor.report.fixes import render
from xladoctor.report.interface import Style
from xladoctor.report.output import Color, Format, Output, write_each

SNAPSHOTS = Path(__file__).parent / "fixes_snapshots"
TEXT = """def größe(model, loader, device):
    total = 0.0
    for inputs, targets in loader:
        loss = model(inputs.to(device), targets.to(device))
        total += loss.item()
        optimizer.step()
    print(total)
"""


def _finding(rule: str, line: int, seconds: float | None) -> Finding:
    saving = replace(NO_SAVING, seconds=seconds) if seconds else NO_SAVING
    place = Location("train.py", line, "größe", "guilty", TEXT.splitlines()[line - 1])
    return replace(
        SICK.findings[0], rule=rule, locations=[place], saving=saving, fingerprint=f"{rule}-{line}"
    )


def _plan(root: Path) -> Plan:
    file = root / "train.py"
    file.write_text(TEXT, encoding="utf-8")
    digest = sha256_of(file.read_bytes())
    barrier = Change(
        "end each iteration of the loop in line 3 with a barrier",
        (Edit(Position(7, 0), Position(7, 0), "        torch_xla.sync()\n"),),
        relies_on=("the loop's iterations are the steps of the program",),
    )
    number = "torch.zeros(1, dtype=torch.float32, device=device, requires_grad=False).squeeze()"
    summed = Change(
        "sum on the device",
        (Edit(Position(2, 12), Position(2, 15), number),),
        behaviour="`total` is rounded as float32 numbers are",
    )
    unset = Change(
        "leave \u001b[31mXLA_IR_DEBUG unset", (Edit(Position(6, 0), Position(7, 0), ""),)
    )
    changes = [("XD301", 6, 3.0, barrier), ("XD201", 5, 0.4, summed), ("XD701", 6, None, unset)]
    patches = [
        Patch(_finding(rule, line, seconds), "a_kind", file, digest, change)
        for rule, line, seconds, change in changes
    ]
    skips = [
        Skip(_finding("XD101", 4, 1.0), "only torch.compile has dynamic shapes"),
        Skip(
            _finding("XD203", 7, None),
            "`total` is looked at inside of the loop",
            "read it every tenth step",
        ),
    ]
    return Plan(root, patches, skips)


def _proofs(plan: Plan) -> list[Proof]:
    barrier, summed, unset = plan.patches
    return [
        Proof(
            barrier,
            "verified",
            1.6,
            0.231,
            Interval(6.77, 4.84, 9.48),
            predicted_s=1.272,
            counts=(("barriers_per_step", 0.0, 1.0), ("compilations_after_warmup", 21.0, 0.0)),
            same=("standard output", "out/metrics.json", "final parameters"),
            others=(unset,),
        ),
        Proof(
            summed,
            "changes the results",
            2.0,
            1.9,
            Interval(1.05, 0.9, 1.2),
            predicted_s=0.4,
            reason="the patch changes the results: standard output",
            differs=("- total 3.25", "+ total 3.5"),
            new=("XD204",),
        ),
        Proof(
            unset,
            "helps less than predicted",
            reason="its finding is still there, though the patches together help",
            others=(barrier,),
        ),
    ]


WIDTHS = [(80, True), (120, True), (80, False)]


@pytest.mark.parametrize(("width", "unicode"), WIDTHS)
@pytest.mark.parametrize("name", ["shown", "tried", "none"])
def test_patches_are_shown_as_they_were(
    tmp_path: Path, name: str, width: int, unicode: bool
) -> None:
    plan = _plan(tmp_path)
    if name == "none":
        plan = Plan(tmp_path, [], plan.skips)
    proofs = _proofs(plan) if name == "tried" else None
    output = io.StringIO()
    render(Format.terminal, plan, proofs, output, Style(width, unicode=unicode))
    text = output.getvalue()
    exact = {
        line
        for number, patch in enumerate(plan.patches)
        for line in diff(patch, plan.root, plan.patches[:number])
    }
    assert all(columns(line) <= width for line in text.splitlines() if line not in exact)
    assert unicode or text.isascii()
    assert "\u001b" not in text
    assert_as_before(SNAPSHOTS / f"{name}-{width}{'' if unicode else '-ascii'}.txt", text)


def test_a_diff_is_one_that_git_takes(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    output = io.StringIO()
    render(Format.terminal, plan, None, output, Style(20))
    subprocess.run(
        ["git", "apply", "--check", "-"],
        cwd=tmp_path,
        input=output.getvalue().encode(),
        check=True,
        env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
    )


@pytest.mark.parametrize(
    "text",
    [
        b"a = 1\r\nb = 2\r\nc = 3\r\n",
        b"a = 1\nb = 2\nc = 3",
        b"a = 1\r\nb = 2\r\nc = 3  # \x1b[31m",
        b"\x0ca = 1\n\x0cb = 2\n\x0c\nc = 3\n",
        b"\xef\xbb\xbfa = 1\nb = 2\nc = 3\n",
        b"# coding: latin-1\nb = 2\nc = 3\n",
        b"a = 1\rd = 4\nb = 2\nc = 3\re = 5\n",
        "a = 1  # \u2028 \u202e \x7f é\nb = 2\nc = 3  # ↔\n".encode(),
        b"'''\n::\nb = 2\n ::error::no\n##[group]\n'''\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("name", ["train.py", "the trainer é.py"])
def test_git_takes_what_is_written_into_a_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: bytes,
    encoding: str,
    name: str,
) -> None:
    file = tmp_path / name
    file.write_bytes(text)
    lines = lines_of(text.decode().removeprefix("\ufeff"))
    number = next(n for n, line in enumerate(lines, 1) if "b = 2" in line)
    at = Position(number, lines[number - 1].index("2"))
    edit = Edit(at, Position(at.line, at.column + 1), "3")
    change = Change("change a number", (edit,))
    patch = Patch(_finding("XD301", number, 1.0), "a_kind", file, sha256_of(text), change)
    plan = Plan(tmp_path, [patch])

    redirected = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", redirected)
    monkeypatch.delenv("CI", raising=False)
    write_each(
        [Output(Format.terminal, is_patch=True)],
        Color.never,
        lambda form, output, style: render(form, plan, None, output, style),
    )
    subprocess.run(
        ["git", "apply", "-"],
        cwd=tmp_path,
        input=redirected.buffer.getvalue(),
        check=True,
        env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
    )
    assert file.read_bytes() == text.replace(b"b = 2", b"b = 3")


def test_nothing_of_a_file_is_a_command_where_output_is_read_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def written(name: Format, output: TextIO, style: Style) -> None:
        output.write("+ \x1b[31m\n ::error::no\n")

    monkeypatch.setenv("CI", "1")
    write_each([Output(Format.terminal, is_patch=True)], Color.never, written)
    assert capsys.readouterr().out == "+ \\x1b[31m\n \\::error::no\n"


def test_a_patch_in_a_file_is_exact_in_ci_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(name: Format, output: TextIO, style: Style) -> None:
        output.write("+ \x1b[31m\n ::error::no\n")

    monkeypatch.setenv("CI", "1")
    with (tmp_path / "fixes.patch").open("w+") as file:
        monkeypatch.setattr("sys.stdout", file)
        write_each([Output(Format.terminal, is_patch=True)], Color.never, written)
        file.seek(0)
        assert file.read() == "+ \x1b[31m\n ::error::no\n"


def test_json_has_what_is_shown(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    output = io.StringIO()
    render(Format.json, plan, _proofs(plan), output, Style(80))
    assert str(tmp_path) not in json.dumps(json.loads(output.getvalue())["patches"][0]["diff"])
    assert_as_before(SNAPSHOTS / "tried.json", output.getvalue().replace(str(tmp_path), "/project"))
