"""A trial leaves nothing of the user's touched, nothing running and nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from xladoctor.fixes.interface import FixError
from xladoctor.fixes.proof import workspace as workspaces
from xladoctor.fixes.proof.runner import Runner
from xladoctor.fixes.proof.workspace import Workspace, workspace

ALLOWED = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False)
encloses = pytest.mark.skipif(ALLOWED.returncode != 0, reason="mount namespaces are not allowed")
ROUNDS = 200  # of a tenth of a second


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project; temporary files go beside it."""
    root = tmp_path / "project"
    (root / "out").mkdir(parents=True)
    (root / "out" / "model.bin").write_text("of the user")
    (root / "train.py").write_text("print('trained')\n")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return root


@pytest.fixture
def copies(project: Path) -> Iterator[Workspace]:
    with workspace(project) as made:
        made.fresh({})
        yield made


@pytest.fixture
def not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "_can_enclose", lambda made: False)


def ran(copies: Workspace, script: str) -> subprocess.CompletedProcess[str]:
    """A script that ran as a program of the project."""
    return subprocess.run(
        copies.task([sys.executable, "-c", script], copies.root),
        env=copies.environment(copies.runs / "caches", copies.root),
        capture_output=True,
        text=True,
        check=False,
    )


def wait_until(true: object) -> None:
    assert callable(true)
    for _ in range(ROUNDS):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("it has not happened")


def running(mark: str) -> bool:
    """Whether a process has the mark in its command."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes():
                return True
        except OSError:
            continue
    return False


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@encloses
def test_every_path_of_the_project_means_the_copy(project: Path, copies: Workspace) -> None:
    before = contents(project)
    script = f"""
import os
for place in ({str(project)!r}, os.environ["PWD"], os.getcwd(), "."):
    with open(place + "/out/model.bin", "a") as file:
        file.write("!")
"""
    done = ran(copies, script)
    assert done.returncode == 0, done.stderr
    assert contents(project) == before
    assert (copies.copy / "out" / "model.bin").read_text() == "of the user!!!!"


@encloses
def test_where_links_lead_out_of_the_project_nothing_is_written(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "model.bin").write_text("of the user")
    (root / "out").symlink_to(outside)
    with workspace(root) as copies:
        copies.fresh({})
        assert ran(copies, "print(open('out/model.bin').read())").stdout == "of the user\n"
        done = ran(copies, "open('out/model.bin', 'w')")
        assert "Read-only file system" in done.stderr
    assert (outside / "model.bin").read_text() == "of the user"


@encloses
def test_virtual_environments_stay_and_cannot_be_written(project: Path) -> None:
    (project / "venv").mkdir()
    (project / "venv" / "pyvenv.cfg").write_text("home = /")
    with workspace(project) as copies:
        copies.fresh({})
        assert ran(copies, "print(open('venv/pyvenv.cfg').read())").stdout == "home = /\n"
        assert ran(copies, "open('venv/pyvenv.cfg', 'w')").returncode == 1
    assert (project / "venv" / "pyvenv.cfg").read_text() == "home = /"


@pytest.mark.usefixtures("not_allowed")
def test_without_namespaces_paths_of_the_project_are_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = str(project / "train.py")
    _runner(project, script)
    _runner(project, script, f"--data={project}2/data", f"{project}.bin")
    with pytest.raises(FixError, match=f"would still use --out={project}/out"):
        _runner(project, script, f"--out={project}/out")
    monkeypatch.setenv("OUTPUT", f"{project}/out")
    with pytest.raises(FixError, match="the variable OUTPUT"):
        _runner(project, script)
    monkeypatch.delenv("OUTPUT")
    (project / "out" / "link").symlink_to(tmp_path)
    with pytest.raises(FixError, match="the link out/link"):
        _runner(project, script)
    (project / "settings.yaml").write_text(f"a: 1\nout: {project}/out\n")
    with pytest.raises(FixError, match=r"settings.yaml:2") as error:
        _runner(project, script)
    assert "mount namespaces" in error.value.hint


def _runner(project: Path, *command: str) -> Runner:
    with workspace(project) as copies:
        runner = Runner(copies, ["python", *command], project, 0)
        runner.refuse_paths()
        return runner


@pytest.mark.usefixtures("not_allowed")
def test_without_namespaces_the_copy_is_run(project: Path) -> None:
    with workspace(project) as copies:
        copies.fresh({})
        done = ran(copies, "import os; print(os.getcwd() == os.environ['PWD'], os.getcwd())")
        assert done.stdout == f"True {copies.copy}\n"


def test_a_process_in_a_session_of_its_own_is_ended(copies: Workspace) -> None:
    mark = f"sleep-of-{os.getpid()}"
    script = f"""
import subprocess, sys
command = [sys.executable, "-c", "import time; time.sleep(300)", {mark!r}]
subprocess.Popen(command, start_new_session=True)
print("done")
"""
    done = ran(copies, script)  # which reads until nobody keeps the output open
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert not running(mark)


def test_the_time_limit_holds_whatever_the_program_started(project: Path) -> None:
    mark = f"limit-of-{os.getpid()}"
    (project / "train.py").write_text(f"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid()
mark = {mark!r}
time.sleep(300)
""")
    with workspace(project) as copies:
        runner = Runner(copies, [sys.executable, "train.py", mark], project, 0)
        run = runner.run([], 3.0, lambda: None)
    assert run.status is None
    assert not running(mark)


def test_files_that_a_run_leaves_are_kept(project: Path) -> None:
    (project / "train.py").write_text("""
import os, sys
os.remove("out/model.bin")
open("new.txt", "w").write("5")
sys.exit("no more")
""")
    with workspace(project) as copies:
        runner = Runner(copies, [sys.executable, "train.py"], project, 0)
        run = runner.run([], None, lambda: None)
        assert {name: path.read_text() for name, path in run.written.items()} == {"new.txt": "5"}
    assert (run.status, run.removed) == (1, ("out/model.bin",))
    assert run.errors.startswith("no more\n")
    assert (project / "out" / "model.bin").exists()


@pytest.mark.parametrize("name", ["runs", "origin", "tmp"])
def test_a_project_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "train.py").write_text("")
    with workspace(tmp_path / name) as copies:
        for _ in range(2):
            copies.fresh({})
        assert [path.name for path in copies.copy.iterdir()] == ["train.py"]


def test_copies_are_private_and_removed(project: Path, tmp_path: Path) -> None:
    with workspace(project) as copies:
        assert copies.folder.stat().st_mode & 0o777 == 0o700
        assert copies.folder.parent == tmp_path / "temporary"
        (copies.runs / "locked").mkdir(mode=0o500)
    assert [*(tmp_path / "temporary").iterdir()] == []


def test_what_a_killed_command_left_is_removed(project: Path, tmp_path: Path) -> None:
    mark = f"killed-of-{os.getpid()}"
    command = f"""
import subprocess, sys
from pathlib import Path
from xladoctor.fixes.proof.workspace import workspace
with workspace(Path({str(project)!r})) as copies:
    copies.fresh({{}})
    script = "import time; print('running', flush=True); time.sleep(300)"
    subprocess.run(copies.task([sys.executable, "-c", script, {mark!r}], copies.root))
"""
    parent = subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"running\n"
    assert len([*(tmp_path / "temporary").glob("xladoctor-fix-*")]) == 1
    with workspace(project):  # one that is in use stays
        assert len([*(tmp_path / "temporary").glob("xladoctor-fix-*")]) == 2
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    wait_until(lambda: not running(mark))
    wait_until(lambda: not [*(tmp_path / "temporary").glob("xladoctor-fix-*")])
    left = tmp_path / "temporary" / "xladoctor-fix-0123"  # killed between two runs
    left.mkdir()
    with workspace(project):
        assert not left.exists()


def test_a_full_disk_is_an_error_that_leaves_nothing(project: Path, tmp_path: Path) -> None:
    (project / "large.bin").write_bytes(b"0" * 100_000)
    command = f"""
import resource, signal
from pathlib import Path
from xladoctor.fixes.interface import FixError
from xladoctor.fixes.proof.workspace import workspace
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    with workspace(Path({str(project)!r})):
        pass
except FixError as error:
    print(error.what)
"""
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"cannot copy {project}: File too large\n"
    assert [*(tmp_path / "temporary").iterdir()] == []


def test_changes_of_the_project_meanwhile_do_not_matter(project: Path) -> None:
    with workspace(project) as copies:
        (project / "train.py").write_text("print('changed')\n")
        copies.fresh({})
        assert (copies.copy / "train.py").read_text() == "print('trained')\n"


def test_a_project_that_is_removed_meanwhile_is_an_error(project: Path) -> None:
    with workspace(project) as copies:
        runner = Runner(copies, [sys.executable, "train.py"], project, 0)
        shutil.rmtree(project)
        with pytest.raises(FixError, match="project is gone"):
            runner.run([], None, lambda: None)


def test_files_that_are_read_only_are_copied_and_patched(project: Path) -> None:
    (project / "train.py").chmod(0o444)
    (project / "out").chmod(0o555)
    with workspace(project) as copies:
        for _ in range(2):
            copies.fresh({project / "train.py": "patched\r\n"})
            assert (copies.copy / "train.py").read_bytes() == b"patched\r\n"
    (project / "out").chmod(0o755)


def test_a_worktree_is_copied(project: Path, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
    git("worktree", "add", "-q", str(tmp_path / "other"))
    with workspace(tmp_path / "other") as copies:
        copies.fresh({})
        assert (copies.copy / "train.py").exists()
        done = ran(copies, "import os; print(os.path.isfile('.git'))")
        assert done.stdout == f"{copies.encloses}\n"
