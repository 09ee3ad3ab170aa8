"""What cannot be read, and what is said to do about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stacks.programs import hanging, wait_for_state
from xladoctor.stacks import dump as module
from xladoctor.stacks.dump import dump, dump_tree
from xladoctor.stacks.interface import Kind, Stacks, StacksError
from xladoctor.stacks.permission import Rights, refused
from xladoctor.stacks.process import Process, process
from xladoctor.stacks.verdict import of_process

SLEEPS = "import time\nprint('ready', flush=True)\ntime.sleep(1000)"
TARGET = Process(7, "S", 1, user=1000, tracer=0, tasks=1, forked=False, command="python train.py")
ADA = Rights(user=1000, capable=False, scope=0, container="")


def test_no_such_process() -> None:
    with pytest.raises(StacksError) as caught:
        dump(2**22 + 1)  # above the highest that Linux gives
    assert caught.value.what == f"there is no process {2**22 + 1}"
    assert "pgrep" in caught.value.hint


def test_process_that_has_ended(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        wait_for_state(ended.pid, "Z")
        with pytest.raises(StacksError, match="has ended, but its parent") as caught:
            dump(ended.pid)
    assert f"xladoctor stacks {os.getpid()}" in caught.value.hint


def test_not_a_python_process() -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        wait_for_state(other.pid, "S")
        with pytest.raises(StacksError) as caught:
            dump_tree(other.pid)
        other.kill()
    assert caught.value.what == f"process {other.pid} is not a Python process: sleep 1000"


def test_python_below_a_shell(tmp_path: Path) -> None:
    command = f"'{sys.executable}' -c 'print(1, flush=True); input()'; true"
    with subprocess.Popen(
        ["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:
        assert shell.stdout is not None
        assert shell.stdin is not None
        assert shell.stdout.readline() == b"1\n"
        (stacks,) = dump_tree(shell.pid)
        shell.stdin.write(b"\n")
    assert isinstance(stacks, Stacks)
    assert stacks.pid != shell.pid


def test_stopped_process_is_read_and_said_to_be_stopped(tmp_path: Path) -> None:
    with hanging(tmp_path, SLEEPS) as pid:
        os.kill(pid, 19)
        wait_for_state(pid, "T")
        stacks = dump(pid, native=True)
        after = process(pid)
    assert of_process(stacks).kind is Kind.stopped
    assert f"kill -CONT {pid}" in of_process(stacks).hints[0]
    assert stacks.notes == ("no native frames: the process is stopped",)
    assert after is not None
    assert after.state == "T"


def test_uninterruptible_sleep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT_S", 2)
    source = (
        "import ctypes, time\nprint('ready', flush=True)\n"
        "if ctypes.CDLL(None).vfork() == 0: time.sleep(1000)"
    )
    with hanging(tmp_path, source, settles=False) as pid:
        wait_for_state(pid, "D")
        with pytest.raises(StacksError, match="uninterruptible sleep") as caught:
            dump(pid)
        pending = (Path("/proc") / str(pid) / "status").read_text()
    assert f"/proc/{pid}/stack" in caught.value.hint
    (signals,) = (line.split()[1] for line in pending.splitlines() if line.startswith("ShdPnd"))
    assert not int(signals, 16) & 1 << 18  # SIGSTOP, which would stop it for good later


def test_py_spy_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StacksError, match="py-spy is neither next to") as caught:
        dump(os.getpid())
    assert "-m pip install py-spy" in caught.value.hint


def stand_in(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program in place of py-spy."""
    program = folder / "py-spy"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))


def test_py_spy_without_native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        'case "$*" in *--native*) echo "unexpected argument --native" >&2; exit 2;; esac\necho []'
    )
    stand_in(tmp_path, body, monkeypatch)
    stacks = dump(os.getpid(), native=True)
    assert not stacks.native
    assert stacks.notes[0].startswith("no native frames: this py-spy cannot read them here")


def test_py_spy_that_does_not_know_this_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        'case "$1" in --version) echo "py-spy 0.4.0";; *)\n'
        'echo "Error: Unsupported version of Python: 3.19.0" >&2; exit 1;; esac'
    )
    stand_in(tmp_path, body, monkeypatch)
    with pytest.raises(StacksError) as caught:
        dump(os.getpid())
    assert caught.value.what == (
        f"py-spy 0.4.0 cannot read process {os.getpid()}: Unsupported version of Python: 3.19.0"
    )
    assert "--upgrade py-spy" in caught.value.hint


def test_py_spy_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT_S", 0.2)
    with hanging(tmp_path, SLEEPS) as pid:
        stand_in(tmp_path, "exec sleep 100", monkeypatch)
        with pytest.raises(StacksError, match="did not return the stacks"):
            dump(pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up CAP_SYS_PTRACE")
def test_refused_by_the_kernel(tmp_path: Path) -> None:
    with hanging(tmp_path, SLEEPS) as pid:
        done = subprocess.run(
            [
                "setpriv",
                "--bounding-set",
                "-sys_ptrace",
                "--inh-caps",
                "-sys_ptrace",
                sys.executable,
                "-m",
                "xladoctor",
                "stacks",
                str(pid),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"xladoctor: process {pid} may not be traced: " in done.stderr
    assert "--cap-add SYS_PTRACE" in done.stderr
    assert "capabilities" in done.stderr


@pytest.mark.parametrize(
    ("target", "ours", "what", "hint"),
    [
        (TARGET, Rights(1000, False, 1, ""), "ptrace_scope is 1", "sudo sysctl kernel.yama"),
        (TARGET, Rights(1000, False, 2, ""), "ptrace_scope is 2", "sudo "),
        (TARGET, Rights(1000, False, 3, ""), "ptrace_scope is 3", "restart the machine"),
        (TARGET, Rights(1000, False, 0, "docker"), "CAP_SYS_PTRACE", "--cap-add SYS_PTRACE"),
        (TARGET, Rights(1000, False, 0, "kubernetes"), "may not be traced", "securityContext"),
        (TARGET, Rights(1001, False, 0, ""), "belongs to another user (1000, not 1001)", "sudo "),
        (TARGET, Rights(0, True, 0, "docker"), "despite CAP_SYS_PTRACE", "seccomp"),
        (Process(7, "S", 1, 1000, 1, 1, False, ""), ADA, "is already traced by process 1", "stop"),
    ],
)
def test_refusals(target: Process, ours: Rights, what: str, hint: str) -> None:
    error = refused(target, ours)
    assert what in error.what
    assert hint in error.hint


def test_outside_of_containers_sudo_comes_first() -> None:
    first, *_ = refused(TARGET, ADA).hint.splitlines()
    assert first == f"sudo {sys.executable} -m xladoctor stacks 7"
