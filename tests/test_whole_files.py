"""Whatever is written is written whole or not at all: on a full disk, killed at any moment."""

from __future__ import annotations

import ast
import contextlib
import itertools
import os
import resource
import signal
import stat
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gate.test_baseline import FULL
from tests.report.diagnoses import SICK
from xladoctor import hang
from xladoctor.diagnosis import add_ignores
from xladoctor.errors import XladoctorError
from xladoctor.gate import baseline
from xladoctor.recording import manifest
from xladoctor.recording.bootstrap._xladoctor import files
from xladoctor.recording.interface import RunDirectory
from xladoctor.report import output
from xladoctor.report.run_files import write_diagnosis
from xladoctor.view import perfetto
from xladoctor.whole_files import replacing, write_text

PACKAGE = Path(__file__).parents[1] / "xladoctor"
OLD = '{"tool": "xladoctor", "schema_version": 1}\n'
#: Larger than the buffer of a file, so that it is written in several parts.
LONG = "new\n" * 100_000
#: What Python reports to audit hooks, and what it does not.
STEPS = {"open", "os.chmod", "os.chown", "os.mkdir", "os.remove", "os.rename", "os.fsync"}
#: Modules that write into what is theirs alone: pipes, and folders that they have just made.
OTHERS = {
    "cli/main.py",
    "environment/probe_runner.py",
    "recording/launcher.py",
    *(f"fixes/proof/{name}.py" for name in ("enclosed", "runner", "workspace")),
    *(f"storage/{name}.py" for name in ("fetch", "needed", "sending")),
    *(
        f"tpu_check/compiler/{name}.py"
        for name in ("cache", "child/__main__", "environments", "run")
    ),
    "view/xprof.py",
    "view/xspace.py",
}


def write_perfetto(path: Path) -> None:
    with perfetto.opened(path) as file:
        file.write(LONG.encode())


def write_ignores(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(add_ignores, "with_ignores", lambda *_: (LONG.encode(), [1]))
        add_ignores._write(path, [])


#: What writes, by the name of the file: each is given the file's path.
WRITERS: dict[str, Callable[[Path], object]] = {
    "any.txt": lambda path: write_text(path, LONG),
    "baseline.json": lambda path: baseline.update(path, lambda _: FULL),
    "diagnosis.json": lambda path: write_diagnosis(RunDirectory(path.parent), SICK),
    "page.html": lambda path: output._write(path, LONG),
    "run.json": lambda path: manifest.write(RunDirectory(path.parent), {"command": LONG}),
    "sources.json": lambda path: write_diagnosis(RunDirectory(path.parent), SICK),
    "stacks-7.txt": lambda path: hang._write(path, LONG),
    "steps.trace": write_perfetto,
    "train.py": write_ignores,
    "metrics.txt": lambda path: files.replace_file(str(path), LONG),
}


def forked(work: Callable[[], object]) -> int:
    """Run it in a child, and return how that ended, as :mod:`subprocess` does."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(number: int) -> None:
    """Kill this process when it is about to do the nth thing to a file, from 0."""
    steps = itertools.count()

    def step(event: str, _: object = None) -> None:
        if event in STEPS and next(steps) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    really = os.fsync

    def fsync(fd: Any) -> None:
        step("os.fsync")
        really(fd)

    os.fsync = fsync
    sys.addaudithook(step)


@pytest.mark.parametrize("name", WRITERS)
def test_killed_at_any_step_the_file_is_the_old_or_the_new(name: str, tmp_path: Path) -> None:
    write = WRITERS[name]
    (tmp_path / name).write_text(OLD)
    write(tmp_path / name)
    new = (tmp_path / name).read_text()
    seen = []
    for number in range(100):
        (tmp_path / name).write_text(OLD)

        def killed(number: int = number) -> None:
            kill_at(number)
            write(tmp_path / name)

        status = forked(killed)
        seen.append((tmp_path / name).read_text())
        if not status:
            break
        assert status == -signal.SIGKILL
    assert set(seen) == {OLD, new}


@pytest.mark.parametrize("name", WRITERS)
def test_on_a_full_disk_the_file_is_the_old_one(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(OLD)

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        try:
            WRITERS[name](path)
        except (OSError, XladoctorError) as error:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            os.write(1, str(error).encode())

    assert forked(full) == 0
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]
    if name in ("baseline.json", "page.html", "run.json", "steps.trace"):
        assert name in capfd.readouterr().out


def test_a_block_that_fails_leaves_the_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    for error in (ValueError, KeyboardInterrupt):
        with contextlib.suppress(error), replacing(path) as file:
            file.write(b"new")
            raise error
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_mode_owner_and_link_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "folder" / "a.txt", tmp_path / "link"
    path.parent.mkdir()
    path.write_text(OLD)
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    before = path.stat()
    link.symlink_to("folder/a.txt")
    write_text(link, "new")
    assert path.read_text() == "new"
    assert link.readlink() == Path("folder/a.txt")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )


def test_mode_of_a_new_file_is_the_usual_one(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "")
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_file_may_have_the_longest_name(tmp_path: Path) -> None:
    write_text(tmp_path / ("a" * 255), "new")
    assert (tmp_path / ("a" * 255)).read_text() == "new"


def test_what_may_not_be_written_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for those who are not root
    with pytest.raises(PermissionError, match="Permission denied"):
        write_text(path, "new")
    assert path.read_text() == OLD


def test_pipes_devices_and_standard_output_are_written_directly(tmp_path: Path) -> None:
    write_text(Path("/dev/null"), "new")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    pipe, out = tmp_path / "pipe", tmp_path / "out"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "new")
    assert os.read(reader, 100) == b"new"
    os.close(reader)
    with out.open("wb") as file:
        write_text(Path(f"/dev/fd/{file.fileno()}"), "new")
        assert os.fstat(file.fileno()).st_ino == out.stat().st_ino
    assert out.read_text() == "new"


def test_nothing_in_the_package_writes_otherwise() -> None:
    found = {
        (str(path.relative_to(PACKAGE)), node.lineno)
        for path in PACKAGE.rglob("*.py")
        if "bootstrap" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and writes(node)
    }
    modules = {module for module, _ in found}
    assert modules == OTHERS | {"whole_files.py", "report/output.py"}  # the latter appends


def writes(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    modes = [value.value for value in call.args if isinstance(value, ast.Constant)]
    opened = name in ("open", "fdopen") and any(
        isinstance(mode, str) and set(mode) & set("wax") and set(mode) <= set("wax+bt")
        for mode in modes
    )
    return opened or (
        isinstance(call.func, ast.Attribute) and name in ("write_text", "write_bytes")
    )
