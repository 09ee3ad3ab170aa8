"""Verdicts on real processes that hang, each with the user's line."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pexpect
import pytest

from tests.cli.command import ENVIRONMENT
from tests.stacks.programs import hanging, line_of, wait_for_state
from xladoctor.stacks.dump import dump, dump_tree
from xladoctor.stacks.interface import Kind, Stacks
from xladoctor.stacks.verdict import of_process, of_thread

READY = "print('ready', flush=True)"
#: By name: the program; what it does; a part of the line it does it at.
PROGRAMS: dict[str, tuple[str, Kind, str, str]] = {
    "sleep": (
        f"import time\n{READY}\ntime.sleep(1000)",
        Kind.sleep,
        "sleeps",
        "sleep(1000)",
    ),
    "queue": (
        f"import queue\n{READY}\nqueue.Queue().get(timeout=1000)",
        Kind.data,
        "waits for an item from a queue",
        "get(timeout",
    ),
    "subprocess": (
        f"import subprocess\n{READY}\nsubprocess.run(['sleep', '1000'])",
        Kind.waiting,
        "waits for a child process",
        "subprocess.run",
    ),
    "process pool": (
        "import time\nfrom concurrent.futures import ProcessPoolExecutor\n"
        f"pool = ProcessPoolExecutor(1)\n{READY}\npool.submit(time.sleep, 1000).result()",
        Kind.waiting,
        "waits for a task in another thread or process",
        "submit",
    ),
    "thread": (
        "import threading, time\nthread = threading.Thread(target=time.sleep, args=(1000,))\n"
        f"thread.start()\n{READY}\nthread.join()",
        Kind.waiting,
        "waits for a thread to end",
        "thread.join()",
    ),
    "event": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n"
        f"{READY}\nthreading.Event().wait()",
        Kind.lock,
        "waits for an event",
        "Event()",
    ),
    "event, alone": (
        f"import threading\n{READY}\nthreading.Event().wait()",
        Kind.deadlock,
        "waits forever",
        "Event()",
    ),
    "lock of processes": (
        f"import multiprocessing\nlock = multiprocessing.Lock()\nlock.acquire()\n{READY}\n"
        "with lock: pass",
        Kind.lock,
        "waits for a lock shared by processes",
        "with lock",
    ),
    "pipe": (
        f"import os\nend, _ = os.pipe()\n{READY}\nos.read(end, 1)",
        Kind.input,
        "waits for input from a pipe",
        "os.read",
    ),
    "standard input": (
        f"{READY}\ninput()",
        Kind.input,
        "waits for input from a pipe",
        "input()",
    ),
    "connection": (
        f"import socket\nserver = socket.create_server(('127.0.0.1', 0))\n{READY}\nserver.accept()",
        Kind.input,
        "waits for the network",
        "server.accept()",
    ),
    "signal": (
        f"import signal\n{READY}\nsignal.pause()",
        Kind.waiting,
        "waits for a signal",
        "signal.pause()",
    ),
    "event loop": (
        f"import asyncio\n{READY}\nasyncio.run(asyncio.Event().wait())",
        Kind.input,
        "waits for files or connections",
        "asyncio.run",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_process_waits_for_and_where(tmp_path: Path, name: str) -> None:
    source, kind, text, line = PROGRAMS[name]
    with hanging(tmp_path, source) as pid:
        verdict = of_process(dump(pid))
    assert (verdict.kind, verdict.text) == (kind, text)
    assert verdict.sure
    assert verdict.frame is not None
    assert (verdict.frame.file, verdict.frame.line) == (
        str(tmp_path / "program.py"),
        line_of(tmp_path, line),
    )


def test_terminal() -> None:
    program = "import threading\nthreading.Event()\ninput('? ')"
    with pexpect.spawn(
        sys.executable, ["-c", program], env={**ENVIRONMENT, "TERM": "dumb"}, timeout=60
    ) as terminal:
        terminal.expect(r"\? ")
        wait_for_state(terminal.pid, "S")
        verdict = of_process(dump(terminal.pid))
    assert (verdict.kind, verdict.text) == (Kind.input, "waits for input from the terminal")


def test_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = (
            f"import urllib.request\n{READY}\nurllib.request.urlopen('http://127.0.0.1:{port}')"
        )
        with hanging(tmp_path, source) as pid:
            verdict = of_process(dump(pid))
    assert (verdict.kind, verdict.text) == (Kind.input, "waits for the network")
    assert verdict.frame is not None
    assert verdict.frame.line == line_of(tmp_path, "urlopen")


@pytest.mark.parametrize("native", [False, True])
def test_line_that_runs(tmp_path: Path, native: bool) -> None:
    source = f"{READY}\nnumber = 0\nwhile True:\n    number += 1"
    with hanging(tmp_path, source, settles=False) as pid:
        verdict = of_process(dump(pid, native))
    assert verdict.kind in (Kind.python, Kind.native)
    assert verdict.frame is not None
    assert verdict.frame.line in (3, 4)


DEADLOCK = f"""
    import threading
    one, other = threading.Lock(), threading.RLock()
    both = threading.Barrier(3)
    def first():
        with one:
            both.wait()
            with other: pass
    def second():
        with other:
            both.wait()
            one.acquire()
    threads = [threading.Thread(target=each, name=each.__name__) for each in (first, second)]
    for thread in threads: thread.start()
    both.wait()
    {READY}
    for thread in threads: thread.join()
"""


@pytest.mark.parametrize("native", [False, True])
def test_deadlock_names_threads_and_lines(tmp_path: Path, native: bool) -> None:
    with hanging(tmp_path, DEADLOCK) as pid:
        stacks = dump(pid, native)
    verdict = of_process(stacks)
    assert verdict.kind is Kind.deadlock
    assert verdict.sure is native
    assert verdict.text == "is in a deadlock" if native else "seems to be in a deadlock"
    assert verdict.hints[1:3] == (
        f"first waits at program.py:{line_of(tmp_path, 'with other: pass')}",
        f"second waits at program.py:{line_of(tmp_path, 'one.acquire()')}",
    )


def test_locks_while_their_owner_works_are_no_deadlock(tmp_path: Path) -> None:
    source = f"""
        import threading, time
        lock = threading.Lock()
        lock.acquire()
        for name in "ab":
            threading.Thread(target=lock.acquire, name=name).start()
        {READY}
        time.sleep(1000)
    """
    with hanging(tmp_path, source) as pid:
        assert of_process(dump(pid)).kind is Kind.sleep


def test_fork_while_a_lock_is_held(tmp_path: Path) -> None:
    source = f"""
        import os, threading, time
        lock, held = threading.Lock(), threading.Event()
        def hold():
            with lock:
                held.set()
                time.sleep(1000)
        threading.Thread(target=hold, daemon=True).start()
        held.wait()
        child = os.fork()
        if child == 0:
            with lock: pass
        {READY}
        os.waitpid(child, 0)
    """
    with hanging(tmp_path, source) as pid:
        parent, child = read(pid)
    verdict = of_process(parent)
    assert verdict.text == f"waits for the child process {child.pid}"
    assert verdict.hints == ("its child processes hold it up",)
    verdict = of_process(child)
    assert (verdict.kind, verdict.text) == (Kind.deadlock, "waits forever")
    assert "forked while a thread of its parent held a lock" in verdict.hints[0]
    assert verdict.frame is not None
    assert verdict.frame.line == line_of(tmp_path, "with lock: pass")


def test_child_that_died(tmp_path: Path) -> None:
    source = f"""
        import os, queue, time
        child = os.fork()
        if child == 0:
            os._exit(1)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        {READY}
        queue.Queue().get(timeout=1000)
    """
    with hanging(tmp_path, source) as pid:
        (stacks,) = read(pid)
    (child,) = stacks.children
    assert child.state == "Z"
    assert f"its child process {child.pid} has died" in of_process(stacks).hints[0]


def test_thread_that_holds_up_the_main_one(tmp_path: Path) -> None:
    source = f"""
        import queue, threading, time
        def produce():
            time.sleep(1000)
        threading.Thread(target=produce, name="producer").start()
        threading.Thread(target=time.sleep, args=(1000,), name="xladoctor-writer").start()
        {READY}
        queue.Queue().get()
    """
    with hanging(tmp_path, source) as pid:
        stacks = dump(pid)
    line = line_of(tmp_path, "    time.sleep(1000)")
    assert of_process(stacks).hints == (f"thread producer sleeps at program.py:{line}",)
    assert [thread.own for thread in stacks.threads] == [False, False, True]


def test_main_thread_comes_first_and_has_a_name(tmp_path: Path) -> None:
    with hanging(tmp_path, f"import time\n{READY}\ntime.sleep(1000)") as pid:
        (thread,) = dump(pid).threads
    assert (thread.id, thread.name) == (pid, "MainThread")


def test_helper_of_a_library_waits_for_work(tmp_path: Path) -> None:
    source = f"""
        import time
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        pool.submit(int).result()
        {READY}
        time.sleep(1000)
    """
    with hanging(tmp_path, source) as pid:
        stacks = dump(pid)
    assert of_thread(stacks.threads[1], stacks).kind is Kind.idle


def read(pid: int) -> list[Stacks]:
    """The tree, of which every process can be read."""
    processes = dump_tree(pid)
    assert all(isinstance(each, Stacks) for each in processes), processes
    return [each for each in processes if isinstance(each, Stacks)]
