"""Signals that would end a captured process at once are held back, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Holds signals back as a captured process does, and lets them go on once one came.
HOLDS = """
import faulthandler, os, signal, subprocess, sys, threading, time
from xladoctor.recording.bootstrap._xladoctor import termination

def until_due(seconds=5):
    ends = time.monotonic() + seconds
    while not termination.is_due() and time.monotonic() < ends:
        time.sleep(0.01)
    return termination.is_due()

def send(number=signal.SIGTERM):
    os.kill(os.getpid(), number)

"""
HANDLE = "signal.signal(15, lambda *_: sys.exit(7))\n"
HOLD = "termination.hold()\n"


def held(program: str) -> tuple[int, str]:
    """The status of a program, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", HOLDS + program],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signal_ends_the_process_once_it_is_released(name: str) -> None:
    program = f"""{HOLD}send(signal.{name}); print(until_due(), flush=True)
termination.release(); time.sleep(30)"""
    number = {"SIGTERM": 15, "SIGHUP": 1}[name]
    assert held(program) == (-number, "True\n")


def test_signal_is_noticed_by_another_thread_while_the_main_one_is_busy() -> None:
    program = f"""{HOLD}
def watch():
    until_due(); print("due", flush=True); termination.release()
threading.Thread(target=watch).start()
threading.Timer(0.2, send).start()
threading.Event().wait(30)"""
    assert held(program) == (-15, "due\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [(HANDLE, ""), ("", HANDLE)],
    ids=["before", "after"],
)
def test_handler_of_the_program_is_kept(before: str, after: str) -> None:
    assert held(f"{before}{HOLD}{after}send(); time.sleep(5); print('late')") == (7, "")
    released = f"{before}{HOLD}{after}termination.release()\nsend(); time.sleep(5)"
    assert held(released) == (7, "")


def test_signal_that_the_program_ignores_or_blocks_stays_so() -> None:
    ignores = f"signal.signal(15, signal.SIG_IGN)\n{HOLD}send(); print(until_due(0.2))"
    assert held(ignores) == (0, "False\n")
    blocks = f"""signal.pthread_sigmask(signal.SIG_BLOCK, [15])
{HOLD}send(); print(until_due(0.2), signal.sigwait([15]).name)"""
    assert held(blocks) == (0, "False SIGTERM\n")


def test_program_sees_no_handler() -> None:
    assert held(f"{HOLD}print(signal.getsignal(15) is signal.SIG_DFL)") == (0, "True\n")


def test_children_are_ended_as_ever() -> None:
    program = f"""{HOLD}
os.register_at_fork(after_in_child=termination.forget)
child = os.fork()
if not child:
    time.sleep(30)
time.sleep(0.2)
other = subprocess.Popen(["sleep", "30"])
os.kill(child, 15), other.terminate()
print(os.WTERMSIG(os.waitpid(child, 0)[1]), other.wait(), termination.is_due())"""
    assert held(program) == (0, "15 -15 False\n")


def test_program_that_closes_all_files_can_still_be_ended() -> None:
    program = f"""{HOLD}os.closerange(3, 100); own = open("/dev/null")
print(termination.is_due(), flush=True); send(); print(until_due(), flush=True)
termination.release(); time.sleep(30)"""
    assert held(program) == (-15, "False\nTrue\n")
