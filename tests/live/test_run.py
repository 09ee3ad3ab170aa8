"""``xladoctor run``: the program sees the same world as without capture, however it is started."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.forked import Finished
from tests.live.harness import LIVE, ON_DEVICE, Captured, command, doctor, python, write

pytestmark = LIVE

#: Prints what a program can see of how it was started. Needs no torch.
LOOK_AROUND = """
import os, sys
seen = sorted(globals())
import gc, json
sys.stdout.write(json.dumps({
    "name": __name__, "file": __file__, "globals": seen, "argv": sys.argv, "path": sys.path,
    "flags": repr(sys.flags), "cwd": os.getcwd(), "stdin": sys.stdin.read(),
    "environ": dict(os.environ), "collector": [gc.isenabled(), gc.get_threshold()],
}) + "\\n")
sys.stderr.write("on standard error\\n")
"""
#: The same from a program that uses XLA, which is when the capture begins; ends with status 3.
TRAIN_AND_LOOK = f"""
{ON_DEVICE}
import torch_xla.core.xla_model as xm
for _ in range(10):
    weights = weights * 0.9
    xm.mark_step()
{LOOK_AROUND}
sys.exit(3)
"""
ARGUMENTS = ("--output", "mine", "-o", "x", "-m", "--quiet", "--", "--help", "-c", "a b", "")
#: What a captured program finds in its environment beyond what a bare one does.
SET_AT_START = {
    "PYTHONPATH",
    "XLADOCTOR_RUN_DIRECTORY",
    "XLADOCTOR_OPTIONS",
    "XLADOCTOR_RELAY",
}
SET_BY_TORCH_XLA = {
    "XLADOCTOR_SET",
    "PT_XLA_DEBUG_LEVEL",
    "PT_XLA_DEBUG_MAX_FRAME",
    "PT_XLA_DEBUG_FILE",
}


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Names whose values differ."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def assert_same_world(bare: Finished, captured: Finished, allowed: set[str]) -> None:
    """The program saw the same, except for the environment variables in ``allowed``."""
    before, after = (_without_temporary_folders(run.stdout) for run in (bare, captured))
    assert changed(before["environ"], after["environ"]) <= allowed
    assert {**after, "environ": None} == {**before, "environ": None}


def _without_temporary_folders(seen: str) -> dict[str, Any]:
    """What a program saw; torch puts a folder with a random name on ``sys.path``."""
    world: dict[str, Any] = json.loads(seen)
    path = [entry for entry in world["path"] if not re.fullmatch(r"tmp\w{8}", Path(entry).name)]
    return {**world, "path": path}


@pytest.mark.parametrize("form", ["script", "module", "command"])
def test_program_without_torch_sees_the_world_as_it_is(tmp_path: Path, form: str) -> None:
    write(tmp_path, "around.py", LOOK_AROUND)
    words = {"script": ["around.py"], "module": ["-m", "around"], "command": ["around.py"]}[form]
    arguments = ["--", sys.executable, *words] if form == "command" else words

    bare = python(*words, *ARGUMENTS, cwd=tmp_path, stdin="one\ntwo")
    captured = doctor("-o", "out", *arguments, *ARGUMENTS, cwd=tmp_path, stdin="one\ntwo")

    assert json.loads(captured.stdout)["argv"][1:] == list(ARGUMENTS)
    assert_same_world(bare, captured, SET_AT_START)
    assert captured.stderr.startswith(bare.stderr + "xladoctor: ")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Captured]:
    """A bare and a captured run of the program that uses XLA and looks around."""
    folder = tmp_path_factory.mktemp("trained")
    program = write(folder, "train.py", TRAIN_AND_LOOK)
    bare = python(program, *ARGUMENTS, cwd=folder, stdin="one\ntwo")
    run = command(folder / "out", program, *ARGUMENTS, cwd=folder, stdin="one\ntwo")
    return bare, run


@pytest.mark.xdist_group("trained")
def test_program_that_uses_xla_sees_the_world_as_it_is(trained: tuple[Finished, Captured]) -> None:
    bare, run = trained

    assert_same_world(bare, run.finished, SET_AT_START | SET_BY_TORCH_XLA)
    assert run.finished.stderr == bare.stderr
    assert run.finished.status == bare.status == 3


@pytest.mark.xdist_group("trained")
def test_report_goes_to_its_own_file_and_says_how_the_program_ended(
    trained: tuple[Finished, Captured],
) -> None:
    _, run = trained
    text = run.directory.with_name("out.report").read_text()

    assert text.startswith("xladoctor  ")
    assert "exit status 3" in " ".join(text.split())  # a long command wraps
    assert run.report["steps"]["count"] == 10  # xm.mark_step


@pytest.mark.thorough
def test_report_follows_the_output_of_a_shell_that_runs_the_program(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "train.py",
        f"""
        {ON_DEVICE.replace(chr(10), chr(10) + 8 * " ")}
        for step in range(10):
            weights = weights * 0.9
            print("sum", weights.sum().item() > 0)
            torch_xla.sync()
        """,
    )
    shell = f"{sys.executable} {program} && exit 5"

    done = doctor("-o", "out", "--", "sh", "-c", shell, cwd=tmp_path, env={"COLUMNS": "400"})

    output, report = done.stdout.split("xladoctor  ", 1)
    assert done.status == 5
    assert output == 10 * "sum True\n"
    assert "exit status 5" in report.splitlines()[0]
    assert "XD210" in report
    assert "train.py:11" in report
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.thorough
def test_module_is_found_and_named_as_python_does(tmp_path: Path) -> None:
    write(tmp_path, "trainer/__init__.py", "")
    main = write(tmp_path, "trainer/__main__.py", f"{ON_DEVICE}\nimport trainer.loop\n")
    write(
        tmp_path,
        "trainer/loop.py",
        """
        import torch_xla
        from __main__ import weights
        for step in range(10):
            weights = weights * 0.9
            float(weights.sum())
            torch_xla.sync()
        """,
    )

    run = Captured(
        main, tmp_path / "out", doctor("-o", "out", "-m", "trainer", "--lr", "1", cwd=tmp_path)
    )

    (finding,) = run.findings("XD201")
    assert run.finished.status == 0
    assert run.report["run"]["command"][1:] == ["-m", "trainer", "--lr", "1"]
    assert [(p["file"], p["line"]) for p in finding["locations"]] == [("trainer/loop.py", 6)]
    assert finding["cause"]["kinds"] == ["float"]


def test_sitecustomize_of_the_user_still_runs(tmp_path: Path) -> None:
    site = write(tmp_path, "site/sitecustomize.py", "import builtins; builtins.here = __file__")
    program = write(tmp_path, "program.py", "print(here)")

    done = doctor("-o", "out", program, cwd=tmp_path, env={"PYTHONPATH": str(site.parent)})

    assert done.stdout == f"{site}\n"


def test_run_directory_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", "print('ran')")
    write(tmp_path, "out/precious.txt", "mine")

    done = doctor("-o", "out", program, cwd=tmp_path)

    assert done.status == 2
    assert done.stdout == ""
    assert "out exists and is not an empty directory" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["precious.txt"]


def test_run_directory_below_a_file_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", "print('ran')")

    done = doctor("-o", program / "out", program, cwd=tmp_path)

    assert done.status == 2
    assert done.stdout == ""
    assert f"cannot create the run directory {program}/out: Not a directory" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_run_directory_that_cannot_be_made_is_said_before_the_program_runs(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", "print('ran')")
    tmp_path.chmod(0o500)

    done = doctor("-o", "out", program, cwd=tmp_path)

    assert done.status == 2
    assert done.stdout == ""
    assert "cannot create the run directory out: Permission denied" in done.stderr


def test_script_that_does_not_exist_leaves_nothing(tmp_path: Path) -> None:
    bare = python("missing.py", cwd=tmp_path)
    done = doctor("-o", "out", "missing.py", cwd=tmp_path)

    assert done.status == bare.status == 2
    assert done.stdout == ""
    assert done.stderr == "xladoctor: missing.py: no such script\n"
    assert list(tmp_path.iterdir()) == []


def test_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    done = doctor("-o", "out", "--", "no-such-command", cwd=tmp_path)

    assert done.status == 2
    assert done.stdout == ""
    assert done.stderr.startswith("xladoctor: cannot run no-such-command: No such file")


def test_no_program_at_all_is_a_matter_of_usage(tmp_path: Path) -> None:
    done = doctor(cwd=tmp_path)

    assert done.status == 2
    assert "name a script, -m MODULE, or -- COMMAND" in done.stderr
    assert list(tmp_path.iterdir()) == []
