"""However the program ends, its status is passed on, and what was captured is reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.forked import Finished
from tests.live.harness import (
    INTERRUPTIBLE,
    LIMIT_S,
    LIVE,
    ON_DEVICE,
    Captured,
    capture,
    command,
    environment,
    line_of,
    write,
)
from xladoctor.evidence.load import load

pytestmark = LIVE

STEPS = 30
#: Trains, with a read in each step, then does what is appended.
TRAIN = f"""{ON_DEVICE}
for step in range({STEPS}):
    weights = weights * 0.9
    weights.sum().item()
    torch_xla.sync()
"""
WAIT_UNTIL_WRITTEN = f"""
import glob
def text(name):
    run = os.environ["XLADOCTOR_RUN_DIRECTORY"]
    return "".join(open(file).read() for file in glob.glob(f"{{run}}/process-*/{{name}}"))
while text("steps.jsonl").count('"event":"step"') < {STEPS} or (
    "weights.sum()" not in text("call_sites.json")
):
    time.sleep(0.1)
"""
WAIT_FOR_THE_END = f"""{INTERRUPTIBLE}
print("ready", flush=True)
try:
    time.sleep(100)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


def assert_names_the_read(run: Captured) -> None:
    (finding,) = run.findings("XD201")
    assert finding["count"] == STEPS
    (place,) = finding["locations"]
    assert (place["file"], place["line"]) == ("train.py", line_of(run.program, "weights.sum()"))


def cut_short(run: Captured) -> bool:
    return any("the process was cut short" in note for note in run.report["warnings"])


@pytest.mark.thorough
def test_exception_keeps_its_traceback_and_status(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", f"{TRAIN}\nraise ValueError('broken')\n")

    run = command(tmp_path / "out", program, cwd=tmp_path)

    assert run.finished.status == 1
    assert run.finished.stderr.endswith(
        "Traceback (most recent call last):\n"
        f'  File "{program}", line {line_of(program, "raise")}, in <module>\n'
        "    raise ValueError('broken')\n"
        "ValueError: broken\n"
    )
    assert run.report["run"]["status"] == 1
    assert run.notes == []
    assert_names_the_read(run)


def test_exit_that_skips_everything_leaves_what_was_written(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", f"{TRAIN}{WAIT_UNTIL_WRITTEN}\nos._exit(4)\n")

    run = capture(tmp_path / "out", program, cwd=tmp_path)

    assert run.finished.status == 4
    assert run.report["run"]["status"] == 4
    assert cut_short(run)
    assert_names_the_read(run)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(signal.SIGINT, 130, id="SIGINT"),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM", marks=pytest.mark.thorough),
        pytest.param(signal.SIGHUP, 129, id="SIGHUP", marks=pytest.mark.thorough),
    ],
)
def test_signal_to_us_reaches_the_program_once(
    tmp_path: Path, sent: signal.Signals, status: int
) -> None:
    program = write(tmp_path, "train.py", TRAIN + WAIT_FOR_THE_END)
    interrupted = sent is signal.SIGINT

    run = _end(tmp_path, program, lambda doctor: doctor.send_signal(sent))

    assert run.finished.status == status
    assert run.report["run"]["signal"] == sent
    assert run.finished.stdout == "ready\n" + "interrupted\n" * interrupted
    assert run.finished.stderr.count("KeyboardInterrupt") == interrupted
    assert not cut_short(run)
    assert list(run.directory.glob("plugins/profile/*/*"))
    assert not list(run.directory.rglob("flush*"))
    assert_names_the_read(run)


@pytest.mark.parametrize(
    "to_all",
    [pytest.param(True, id="group"), pytest.param(False, id="alone", marks=pytest.mark.thorough)],
)
def test_signal_to_the_program_ends_it_once_everything_is_written(
    tmp_path: Path, to_all: bool
) -> None:
    program = write(tmp_path, "train.py", TRAIN + WAIT_FOR_THE_END)

    def end(doctor: subprocess.Popen[str]) -> None:
        if to_all:
            os.killpg(doctor.pid, signal.SIGTERM)
        else:
            os.kill(_pid(tmp_path), signal.SIGTERM)

    run = _end(tmp_path, program, end)

    assert run.finished.status == 143
    assert run.report["run"]["signal"] == signal.SIGTERM
    assert run.finished.stderr == ""
    assert run.notes == []
    assert list(run.directory.glob("plugins/profile/*/*"))
    assert_names_the_read(run)


@pytest.mark.thorough
def test_programs_own_handler_of_a_signal_runs(tmp_path: Path) -> None:
    handler = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    program = write(tmp_path, "train.py", f"{TRAIN}{handler}{WAIT_FOR_THE_END}")

    run = _end(tmp_path, program, lambda doctor: os.killpg(doctor.pid, signal.SIGTERM))

    assert run.finished.status == 7
    assert run.notes == []
    assert list(run.directory.glob("plugins/profile/*/*"))


def test_program_that_is_killed_is_diagnosed_from_what_it_wrote(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", TRAIN + WAIT_FOR_THE_END)

    run = _end(tmp_path, program, lambda _: os.kill(_pid(tmp_path), signal.SIGKILL))

    assert run.finished.status == 137
    assert run.report["run"]["signal"] == signal.SIGKILL
    assert run.finished.stdout == "ready\n"
    assert cut_short(run)
    assert_names_the_read(run)


@pytest.mark.thorough
def test_what_is_cut_off_is_told_although_the_launcher_was_killed(tmp_path: Path) -> None:
    parent_ends = """
print("ready", flush=True)
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.1)
"""
    program = write(tmp_path, "train.py", TRAIN + parent_ends)

    run = _end(tmp_path, program, lambda doctor: doctor.kill()).directory

    (log,) = run.glob("process-*/steps.jsonl")
    sizes = json.loads(log.with_name("process.json").read_text())["files"]
    assert {name: (run / name).stat().st_size for name in sizes} == sizes
    assert {Path(name).name for name in sizes} >= {log.name, "metrics.txt", "analysis.log"}
    assert any(name.startswith("plugins/") for name in sizes)
    (cut_short,) = load(str(run)).lost
    assert cut_short.endswith("run.json: the run was cut short; its end is missing")
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:2]))
    assert "is cut off after" in load(str(run)).cut["step"]


@pytest.mark.thorough
def test_hanging_program_leaves_its_stacks_and_is_ended(tmp_path: Path) -> None:
    hang = "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n"
    program = write(tmp_path, "train.py", f"{TRAIN}\n{hang}")

    run = command(tmp_path / "out", program, flags=("--timeout", "25s"), cwd=tmp_path)

    assert run.finished.status == 124
    (stacks,) = run.directory.glob("stacks-*.txt")
    text = stacks.read_text()
    last = len(program.read_text().splitlines())
    assert f"train.py:{last}" in text
    assert "wait for a lock" in text
    assert any(stacks.name in note for note in run.report["warnings"])
    assert list(run.directory.glob("plugins/profile/*/*"))
    assert not run.findings("XD904")
    assert_names_the_read(run)


@pytest.mark.parametrize("step", ["torch_xla.sync()", ""], ids=["barriers", "reads"])
def test_program_ends_at_the_first_step_after_a_time(tmp_path: Path, step: str) -> None:
    program = write(
        tmp_path,
        "train.py",
        f"""{ON_DEVICE}
try:
    while True:
        weights = weights * 0.9
        weights.sum().item()
        {step}
        time.sleep(0.05)
finally:
    print("the end")
""",
    )

    run = command(tmp_path / "out", program, flags=("--stop-after", "12s"), cwd=tmp_path)

    assert run.finished.status == 0
    assert run.finished.stdout == "the end\n"
    assert run.notes == []
    assert not cut_short(run)
    assert list(run.directory.glob("plugins/profile/*/*"))
    assert not list(run.directory.glob("stop*"))


def test_full_disk_ends_the_capture_alone(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: writing fails with an OSError."""
    program = write(
        tmp_path,
        "train.py",
        f"""{TRAIN}
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
for step in range(300):
    weights = weights * 0.9
    torch_xla.sync()
    time.sleep(0.01)
print("end")
""",
    )

    run = capture(tmp_path / "out", program, cwd=tmp_path)

    assert run.finished.status == 0
    assert run.finished.stdout == "end\n"
    assert run.finished.stderr == ""
    (fault,) = run.findings("XD902")
    assert "File too large" in fault["message"]
    assert fault["severity"] == "warning"


@pytest.mark.thorough
def test_run_directory_that_vanishes(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "train.py",
        f"""{TRAIN}
import shutil
shutil.rmtree(os.environ["XLADOCTOR_RUN_DIRECTORY"])
time.sleep(1)
weights.sum().item()
print("end")
sys.exit(7)
""",
    )

    run = command(tmp_path / "out", program, cwd=tmp_path)

    assert run.finished.status == 7
    assert run.finished.stdout == "end\n"
    assert run.finished.stderr.splitlines()[0].endswith(
        "out is gone, and what was captured with it"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
            "",
            "process.json: cannot be read (not written, as on a full disk, or removed)",
        ),
        (
            "",
            "[shutil.rmtree(path) for path in glob.glob(f'{run}/process-*')]",
            "a process could not be captured: FileNotFoundError",
        ),
    ],
    ids=["full", "removed"],
)
def test_capture_that_lost_everything_says_what_happened(
    tmp_path: Path, before: str, after: str, told: str
) -> None:
    program = write(
        tmp_path,
        "train.py",
        f"""
import glob, os, resource, shutil
run = os.environ["XLADOCTOR_RUN_DIRECTORY"]
import torch, torch_xla
{before}
{ON_DEVICE}
{after}
for step in range(50):
    weights = weights * 0.9
    torch_xla.sync()
    time.sleep(0.01)
print("end")
sys.exit(7)
""",
    )

    run = command(tmp_path / "out", program)

    assert (run.finished.status, run.finished.stdout) == (7, "end\n")
    assert told in run.finished.stderr
    assert "no computation" not in run.finished.stderr
    assert "Traceback" not in run.finished.stderr


def test_fault_of_the_capture_leaves_the_program_alone(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "train.py",
        f"""{TRAIN}
import gc
(recorder,) = [one for one in gc.get_objects()
               if type(one).__name__ == "Recorder" and one.compilations.count]
recorder.compilations._begun = "".join  # which is not called without an argument
for step in range(20):
    weights = weights * 0.9
    torch_xla.sync()
print(f"{{weights.sum().item():.9g}}")
""",
    )

    bare_weights = 64 * 0.9**50
    run = capture(tmp_path / "out", program, cwd=tmp_path)

    assert run.finished.status == 0
    assert run.finished.stderr == ""
    assert float(run.finished.stdout) == pytest.approx(bare_weights, rel=1e-3)
    (fault,) = run.findings("XD902")
    assert "TypeError" in fault["message"]
    assert_names_the_read(run)


@pytest.mark.thorough
def test_program_whose_name_is_not_utf_8_is_captured_without_lines_of_operations(
    tmp_path: Path,
) -> None:
    """Recording them would end it: torch_xla takes such a name for text."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    program = write(
        folder,
        "train.py",
        f"""{TRAIN}
torch.save(weights, os.devnull)
print(f"{{weights.sum().item():.9g}}")
sys.exit(3)
""",
    )

    run = command(folder / "out", program)

    assert run.finished.status == 3
    assert len(run.finished.stdout.splitlines()) >= 1
    assert "Traceback" not in run.finished.stderr
    assert not run.findings("XD902")
    (missing,) = [text for text in run.report["warnings"] if "no analysis log" in text]
    assert "is not UTF-8; so the lines of operations are missing, too" in missing
    assert r"/caf\xe9" in missing
    assert "udce9" not in missing
    assert json.loads((run.process / "process.json").read_text())["main"] == str(program)
    assert run.log_lines("step")


def _end(folder: Path, program: Path, end: Callable[[subprocess.Popen[str]], None]) -> Captured:
    """Run the program until its steps are on disk and it says that it is ready; ``end`` it."""
    words = ("--output", "out", "--format", "terminal=report", str(program))
    command = [sys.executable, "-m", "xladoctor", "run", *words]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            _wait_for_the_last_step(folder, process)
            assert process.stdout is not None
            ready = process.stdout.readline()
            end(process)
            rest, stderr = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    return Captured(program, folder / "out", Finished(process.returncode, ready + rest, stderr))


def _wait_for_the_last_step(folder: Path, process: subprocess.Popen[str]) -> None:
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit and process.poll() is None:
        logs = folder.glob("out/process-*/steps.jsonl")
        sites = folder.glob("out/process-*/call_sites.json")
        if sum(log.read_text().count('"event":"step"') for log in logs) == STEPS and any(
            "weights.sum()" in file.read_text() for file in sites
        ):
            return
        time.sleep(0.1)
    pytest.fail("the program did not come to its last step")


def _pid(folder: Path) -> int:
    (file,) = folder.glob("out/process-*/process.json")
    pid: int = json.loads(file.read_text())["pid"]
    return pid
