"""The launcher: what it refuses before anything runs, statuses, and signals sent to it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from xladoctor import hang
from xladoctor.recording import launcher
from xladoctor.recording.directory import make_directory
from xladoctor.recording.interface import CaptureError, RunOutcome, RunRequest

LIMIT_S = 30


class Silent:
    """Hears nothing of the program."""

    def started(self, directory: Path) -> None:
        pass

    def tick(self) -> None:
        pass

    def ended(self) -> None:
        pass


def run(output: Path, *command: str) -> RunOutcome:
    request = RunRequest(command, command[0], output, needs_framework=False)
    return launcher.run(request, Silent(), hang.end)


# Python that the capture cannot enter


@pytest.mark.parametrize(
    ("options", "hindering"),
    [
        (["-E"], "-E"),
        (["-I"], "-I"),
        (["-S"], "-S"),
        (["-sE"], "-E"),
        (["-W", "x", "-I"], "-I"),
        (["-u", "-X", "dev", "-S"], "-S"),
        (["-Wignore", "-E"], "-E"),
        (["-OOI"], "-I"),
        (["--check-hash-based-pycs", "never", "-I"], "-I"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
@pytest.mark.parametrize("python", ["python", "/usr/bin/python3.11", "pypy3"])
@pytest.mark.parametrize("program", [["train.py"], ["-m", "train"], ["-c", "1"]], ids=" ".join)
def test_python_that_shuts_the_capture_out_is_refused(
    tmp_path: Path, python: str, options: list[str], hindering: str, program: list[str]
) -> None:
    with pytest.raises(CaptureError) as caught:
        run(tmp_path / "out", python, *options, *program)
    assert caught.value.what.startswith(f"python {hindering} ")
    assert f"run it without {hindering}" in caught.value.hint
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("{script}", "-I"),
        ("-m", "program", "-E"),
        ("-c", "import program", "-S"),
        ("-u", "{script}", "-E"),
        ("-X", "utf8", "{script}", "-I"),
        ("-O", "-B", "{script}"),
        ("-Wignore::SyntaxWarning", "{script}"),
        ("-W", "ignore::ImportWarning", "{script}"),
        ("-cimport program; 'E'",),
        ("-mprogram", "-I"),
    ],
    ids=" ".join,
)
def test_arguments_of_the_program_are_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    script = tmp_path / "program.py"
    script.write_text("import sys\nsys.exit(7)\n")
    monkeypatch.chdir(tmp_path)
    command = [word.format(script=script) for word in words]
    outcome = run(tmp_path / "out", sys.executable, *command)
    assert outcome.status == 7


@pytest.mark.parametrize("command", [("bash", "-c", "exit 7"), ("env", "-S", "bash -c 'exit 7'")])
def test_options_of_other_commands_are_theirs(tmp_path: Path, command: tuple[str, ...]) -> None:
    assert run(tmp_path / "out", *command).status == 7


# What cannot be run


def test_command_that_cannot_be_found(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"cannot run no-such-command: No such file"):
        run(tmp_path / "out", "no-such-command")


def test_command_that_may_not_be_run(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("")
    with pytest.raises(CaptureError, match=r"cannot run .*data\.txt: Permission denied"):
        run(tmp_path / "out", str(tmp_path / "data.txt"))


@pytest.mark.parametrize("name", ["full", "file", "file/below"])
def test_output_directory_that_is_taken_is_refused_before_anything_runs(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "file").touch()
    with pytest.raises(CaptureError) as caught:
        run(tmp_path / name, "touch", str(tmp_path / "ran"))
    assert str(tmp_path / name) in caught.value.what
    assert "--output" in caught.value.hint
    assert not (tmp_path / "ran").exists()


def test_empty_output_directory_is_used(tmp_path: Path) -> None:
    assert run(tmp_path, "true").runs[0].path == tmp_path


@pytest.mark.parametrize("exists", [False, True])
def test_output_directory_is_taken_by_one_of_two_that_start_at_once(
    tmp_path: Path, exists: bool
) -> None:
    path = tmp_path / "out"
    if exists:
        path.mkdir()

    def take(_: int) -> str:
        try:
            return str(make_directory(path, "train.py").path)
        except CaptureError as error:
            return error.what

    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(take, range(8)))
    assert taken.count(str(path)) == 1
    assert taken.count(f"{path} exists and is not an empty directory") == 7


def test_runs_that_start_at_once_get_directories_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: make_directory(None, "train.py"), range(8)))
    assert len({run.path for run in made}) == 8
    assert {run.path.parent for run in made} == {tmp_path / "xladoctor-runs"}


# How programs end


@pytest.mark.parametrize(
    ("command", "status", "ended"),
    [
        ("exit 0", 0, {"status": 0, "signal": None}),
        ("exit 3", 3, {"status": 3, "signal": None}),
        ("kill -KILL $$", 137, {"status": None, "signal": 9}),
    ],
)
def test_status_is_passed_on_and_written_down(
    tmp_path: Path, command: str, status: int, ended: dict[str, int | None]
) -> None:
    outcome = run(tmp_path / "out", "bash", "-c", command)
    assert (outcome.status, outcome.lost) == (status, ())
    written = json.loads((tmp_path / "out" / "run.json").read_text())["ended"]
    assert {name: written[name] for name in ended} == ended
    assert written["seconds"] >= 0


def test_run_directory_that_the_program_removed_is_told(tmp_path: Path) -> None:
    outcome = run(tmp_path / "out", "rm", "-r", str(tmp_path / "out"))
    assert outcome.status == 0
    assert "cannot write" in outcome.lost[0]


def test_command_in_the_manifest_has_no_secrets(tmp_path: Path) -> None:
    run(tmp_path / "out", "true", "--token", "hunter2")
    assert "hunter2" not in (tmp_path / "out" / "run.json").read_text()


def test_signals_are_let_through_again_afterwards(tmp_path: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    run(tmp_path / "out", "true")
    with pytest.raises(CaptureError):
        run(tmp_path / "other", "no-such-command")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


#: Two processes of a run, of which each can stop after another step.
TWO_CHILDREN = """
import os, pathlib, subprocess, sys, time
run = pathlib.Path(os.environ["XLADOCTOR_RUN_DIRECTORY"])
if len(sys.argv) == 1:
    children = [subprocess.Popen([sys.executable, __file__, step]) for step in ("7", "12")]
    sys.exit(max(child.wait() for child in children))
folder = run / f"process-{os.getpid()}"
folder.mkdir()
while not (run / "stop-asked").exists():
    time.sleep(0.02)
(folder / "can-stop").write_text(sys.argv[1])
while not (asked := (run / "stop-asked").read_text()):
    time.sleep(0.02)
pathlib.Path(f"stops-{sys.argv[1]}").write_text(asked)
"""


def test_processes_of_a_run_are_asked_to_stop_at_the_same_step(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(TWO_CHILDREN)
    given = ["-c", LIMITED, json.dumps({"stop_after_s": 1.5})]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    assert subprocess.call([sys.executable, *given], cwd=tmp_path, env=environ) == 0
    assert [file.read_text() for file in tmp_path.glob("stops-*")] == ["12", "12"]
    assert not [*tmp_path.glob("out/stop-asked"), *tmp_path.glob("out/process-*/can-stop")]


# Signals to all processes of a job

#: Holds a signal back, and never gets to end: a pattern that keeps the interpreter's lock.
STUCK = """
import os, pathlib, re
from xladoctor.recording.bootstrap._xladoctor import termination
pathlib.Path(os.environ["XLADOCTOR_RUN_DIRECTORY"], f"process-{{os.getpid()}}").mkdir()
termination.hold()
os.kill({whom}, 15)
re.match(r"(a+)+$", "a" * 40 + "b")
"""
#: Outlives the shell that started it, as it writes what it has recorded.
LEFT_BEHIND = """
import os, pathlib, signal, sys, time
run = pathlib.Path(os.environ["XLADOCTOR_RUN_DIRECTORY"])
folder = run / f"process-{os.getpid()}"
folder.mkdir()
signal.signal(signal.SIGTERM, lambda *_: None)
os.killpg(0, signal.SIGTERM)
while not (run / "flush-asked").exists():
    time.sleep(0.02)
time.sleep(0.5)
pathlib.Path("written").touch()
"""
IN_GROUP = """
import sys
from pathlib import Path
from tests.recording.test_launcher import launcher, run
{before}
sys.exit(run(Path("out"), *{command}).status)
"""


def in_group(folder: Path, command: Sequence[str], before: str = "") -> int:
    """The launcher's status; it runs a command in a group of processes of its own."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.call(
        [sys.executable, "-c", IN_GROUP.format(command=list(command), before=before)],
        cwd=folder,
        env=environ,
        start_new_session=True,
        timeout=LIMIT_S,
    )


def test_launcher_outlives_a_signal_that_ends_the_program_at_once(tmp_path: Path) -> None:
    for _ in range(3):
        status = in_group(tmp_path, ["sh", "-c", "sleep 0.3; kill -TERM 0; sleep 20"])
        assert status == 128 + signal.SIGTERM
        shutil.rmtree(tmp_path / "out")


@pytest.mark.parametrize("to_all", [True, False])
def test_program_gets_a_signal_once(tmp_path: Path, to_all: bool) -> None:
    sends = "os.killpg(0, number)" if to_all else "os.kill(os.getppid(), number)"
    (tmp_path / "child.py").write_text(f"""
import os, signal, sys, time
got = []
for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGTERM):
    signal.signal(number, lambda number, _: got.append(number))
    time.sleep(0.5)
    {sends}
    time.sleep(0.5)
sys.exit(got != [signal.SIGTERM, signal.SIGUSR1, signal.SIGTERM])
""")
    assert in_group(tmp_path, [sys.executable, "child.py"]) == 0


def test_what_a_shell_started_may_write_after_its_end(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(LEFT_BEHIND)
    status = in_group(tmp_path, ["sh", "-c", f"{sys.executable} child.py; true"])
    assert status == 128 + signal.SIGTERM
    assert (tmp_path / "written").exists()


@pytest.mark.parametrize("whom", ["os.getppid()", "os.getpid()"])
def test_process_that_cannot_end_itself_after_a_signal_is_killed(tmp_path: Path, whom: str) -> None:
    (tmp_path / "child.py").write_text(STUCK.format(whom=whom))
    status = in_group(tmp_path, [sys.executable, "child.py"], "launcher._HELD_S = 0.5")
    assert status == 128 + signal.SIGKILL


# Signals

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: Writes down the signals that it gets; ends after the pause that its argument says.
CHILD = """
import os, signal, sys, time
seen = open("seen", "a", buffering=1)
for number in ({numbers}):
    signal.signal(number, lambda number, frame: seen.write(f"{{number}}\\n"))
mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
open("ready", "w").write(repr(sorted(mask)))
ends = time.monotonic() + {seconds}
while time.monotonic() < ends:
    time.sleep(0.02)
"""
#: Also writes down what it sends, as a signal made up may be one that nobody can see.
LAUNCHER = """
import subprocess, sys
from pathlib import Path
from tests.recording.test_launcher import run
sent, send = open("sent", "a", buffering=1), subprocess.Popen.send_signal
subprocess.Popen.send_signal = lambda p, number: (sent.write(f"{number}\\n"), send(p, number))
sys.exit(run(Path("out"), sys.executable, "-u", "child.py").status)
"""


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[[float], subprocess.Popen[bytes]]]:
    """Starts a launcher whose child runs for so many seconds, in a process of its own."""
    started: list[subprocess.Popen[bytes]] = []
    root = str(Path(__file__).parents[2])

    def launch(seconds: float) -> subprocess.Popen[bytes]:
        numbers = ", ".join(str(int(number)) for number in FORWARDED)
        (tmp_path / "child.py").write_text(CHILD.format(seconds=seconds, numbers=numbers))
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER], cwd=tmp_path, env={**os.environ, "PYTHONPATH": root}
        )
        started.append(process)
        ends = time.monotonic() + LIMIT_S
        while not (tmp_path / "ready").exists() and time.monotonic() < ends:
            time.sleep(0.02)
        return process

    yield launch
    for process in started:
        process.kill()
        process.wait()


def numbers(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()]


def test_signals_sent_to_the_launcher_reach_the_program_once(
    tmp_path: Path, launch: Callable[[float], subprocess.Popen[bytes]]
) -> None:
    process = launch(1.5)
    for number in FORWARDED:
        process.send_signal(number)
        time.sleep(0.2)
    assert process.wait(LIMIT_S) == 0
    assert numbers(tmp_path / "seen") == numbers(tmp_path / "sent") == list(FORWARDED)


def test_program_starts_with_no_signal_blocked(
    tmp_path: Path, launch: Callable[[float], subprocess.Popen[bytes]]
) -> None:
    assert launch(0).wait(LIMIT_S) == 0
    assert (tmp_path / "ready").read_text() == "[]"


def test_launcher_that_was_stopped_for_a_while_makes_up_no_signal(
    tmp_path: Path, launch: Callable[[float], subprocess.Popen[bytes]]
) -> None:
    process = launch(2.5)
    for seconds in (1.2, 0.2, 0.2, 0.2):
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.07)
    assert process.wait(LIMIT_S) == 0
    assert numbers(tmp_path / "sent") == []


# Time limits

#: A process of the run that answers, or not, and that would handle SIGTERM, or not.
CAPTURED_CHILD = """
import os, pathlib, signal, sys, time
run = pathlib.Path(os.environ["XLADOCTOR_RUN_DIRECTORY"])
folder = run / f"process-{os.getpid()}"
folder.mkdir()
if "handles" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
while not ("stops" in sys.argv and (run / "stop-asked").exists()):
    if "answers" in sys.argv and (run / "flush-asked").exists():
        (folder / "written").touch()
        (folder / "flushed").touch()
    if "terminates" in sys.argv:
        os.kill(os.getppid(), signal.SIGTERM)
        sys.argv.remove("terminates")
    time.sleep(0.02)
"""
#: In a process of its own, as a signal that is sent to it may reach other threads of the tests.
LIMITED = """
import json, sys
from pathlib import Path
from tests.recording.test_launcher import Silent, hang, launcher, RunRequest
command = (sys.executable, "child.py", *sys.argv[2:])
limits = json.loads(sys.argv[1])
request = RunRequest(command, "child", Path("out"), needs_framework=False, **limits)
sys.exit(launcher.run(request, Silent(), hang.end).status)
"""


@pytest.mark.parametrize(
    ("words", "limits", "status", "written"),
    [
        (["stops"], {"stop_after_s": 0.5}, 0, False),
        (["answers"], {"timeout_s": 0.5}, 124, True),
        (["handles", "answers"], {"timeout_s": 0.5}, 124, True),
        (["terminates", "handles", "answers"], {}, 7, False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_was_recorded_is_written_before_a_program_is_ended(
    tmp_path: Path, words: list[str], limits: dict[str, float], status: int, written: bool
) -> None:
    (tmp_path / "child.py").write_text(CAPTURED_CHILD)
    given = ["-c", LIMITED, json.dumps(limits), *words]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    assert subprocess.call([sys.executable, *given], cwd=tmp_path, env=environ) == status
    assert bool(list(tmp_path.glob("out/process-*/written"))) is written
    assert not [*tmp_path.glob("out/*-asked"), *tmp_path.glob("out/process-*/flushed")]
