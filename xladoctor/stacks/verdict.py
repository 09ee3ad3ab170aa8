"""Finds what each thread of a process does, what the process waits for, and the user's line.

Three sources, in this order: native frames if they were read, Python frames between the user's
line and the innermost one, and the system call that the kernel has the thread in.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from xladoctor.ingest import frames as ingest
from xladoctor.stacks.interface import Frame, Kind, Stacks, SystemCall, Thread, Verdict
from xladoctor.stacks.patterns import Call, Pattern, patterns

_FOR_OTHERS = {Kind.waiting, Kind.data, Kind.idle}
_BUSY = {Kind.collective, Kind.data}  # kinds in which a running thread can be
_BATCH = "waits for the next batch"
_ASK_NATIVE = "--native shows its native code"
_BARRIER = (
    "--native distinguishes compiling, building the graph, and waiting for the device",
    "compilations so far, with their causes: xladoctor run, then xladoctor compilations",
)
_PARTNER = ("a replica has not joined: compare the verdicts of all processes, on all hosts",)
_ALONE = (
    "it has one thread, which waits for a lock that no other thread can release; only a signal"
    " handler could",
)
_FORKED = (
    "it was forked while a thread of its parent held a lock; that thread does not exist here",
    'start processes with spawn or forkserver, not fork: multiprocessing.set_start_method("'
    'spawn"), or DataLoader(…, multiprocessing_context="spawn")',
)
_SAME_DEVICES = (
    "several replicas wait for their devices: it looks the same when one of them has not joined"
    " a collective",
)


def of_thread(thread: Thread, stacks: Stacks) -> Verdict:
    """What one thread does."""
    frame = user_frame(thread)
    found = (
        _by_native(thread)
        or _by_python(thread, frame)
        or _by_call(thread.call, frame)
        or _by_source(thread, frame)
    )
    kind, text, sure, hints = found or _otherwise(thread, stacks)
    if thread.id != stacks.pid and frame is None and not thread.running:
        kind, text, hints = Kind.idle, "waits for work", ()  # a helper of some library
    return Verdict(kind, text, frame, sure, hints)


def of_process(stacks: Stacks) -> Verdict:
    """What the process as a whole waits for: what its main thread does, or what blocks it."""
    if not stacks.threads:
        return Verdict(Kind.unknown, "runs no Python")
    if stacks.state == "T":
        return _stopped(stacks)
    verdicts = [(thread, of_thread(thread, stacks)) for thread in stacks.threads if not thread.own]
    deadlock = _deadlock(stacks, verdicts)
    if deadlock is not None or not verdicts:
        return deadlock or Verdict(Kind.idle, "waits for work")
    main = verdicts[0][1]
    if main.kind not in _FOR_OTHERS:
        return main
    return _held_up(main, [pair for pair in verdicts[1:] if pair[1].kind is not Kind.idle], stacks)


def user_frame(thread: Thread) -> Frame | None:
    """The innermost frame of the user; without one the innermost of a library."""
    python = [frame for frame in thread.frames if not frame.native]
    folders = ingest.Folders(main=_main(python))
    site = folders.locate(ingest.Frame(f.file, f.line, f.function) for f in python)
    file, line = site.user_file or site.file, site.user_line or site.line
    return next((f for f in python if (f.file, f.line) == (file, line)), None)


def _at(frame: Frame | None) -> str:
    """Such as `` at train.py:41``; empty without a frame. The whole path is shown at the thread."""
    return f" at {Path(frame.file).name}:{frame.line}" if frame else ""


def _main(python: list[Frame]) -> str | None:
    """The file of the program, which is the user's even where it is installed (``-m package``)."""
    files = [frame.file for frame in reversed(python) if "runpy" not in frame.file]
    if not files or not (python[-1].function == "<module>" or "runpy" in python[-1].file):
        return None
    spawned = any("/multiprocessing/" in file for file in files[1:2])  # -c "from multiprocessing…"
    return None if spawned else files[0]


# One thread

Found = tuple[Kind, str, bool, tuple[str, ...]]


def _by_native(thread: Thread) -> Found | None:
    top = list(takewhile(lambda frame: frame.native, thread.frames))
    pattern = _first(patterns().native, top)
    inside = _first(patterns().python, _inside(thread, None))
    if pattern is None or (pattern.kind is Kind.lock and inside):
        return None  # a lock in threading.py or queue.py; their frames are more specific
    return pattern.kind, pattern.text, True, _PARTNER if pattern.kind is Kind.collective else ()


def _by_python(thread: Thread, frame: Frame | None) -> Found | None:
    inside = list(_inside(thread, frame))
    pattern = _first(patterns().python, inside)
    if pattern is not None and thread.running:
        pattern = pattern if pattern.kind in _BUSY else None
    if pattern is not None:
        text = "makes the next batch" if thread.running and pattern.text == _BATCH else pattern.text
        return pattern.kind, text, True, _PARTNER if pattern.kind is Kind.collective else ()
    if _first(patterns().barriers, inside) is None:
        return None
    if thread.running:
        return Kind.compiling, "compiles or builds a graph in a barrier", False, _BARRIER
    return Kind.device, "waits in a barrier, for the device or for a compilation", False, _BARRIER


def _inside(thread: Thread, frame: Frame | None) -> Iterable[Frame]:
    """The Python frames that the user's line called."""
    folders = ingest.Folders()
    python = (f for f in thread.frames if not f.native)
    return takewhile(lambda f: f is not frame and not folders.is_user(f.file), python)


def _first(known: Sequence[Pattern], frames: Iterable[Frame]) -> Pattern | None:
    frames = list(frames)
    return next((each for each in known if any(map(each.matches, frames))), None)


def _by_call(call: SystemCall | None, frame: Frame | None) -> Found | None:
    if call is None:
        return None
    if call.name in ("wait4", "waitid") and call.pid:
        return Kind.waiting, f"waits for the child process {call.pid}", True, ()
    if call.name in ("read", "write"):
        return _by_target(call)
    known = patterns().calls.get(call.name, Call())
    return (known.kind, known.text, True, ()) if known.text else None


def _by_target(call: SystemCall) -> Found:
    what = "input from" if call.name == "read" else "room in"
    if call.target.startswith(("/dev/pts/", "/dev/tty", "/dev/console")):
        return Kind.input, f"waits for {what} the terminal", True, ()
    for prefix, name in (("pipe:", "a pipe"), ("socket:", "the network")):
        if call.target.startswith(prefix):
            return Kind.input, f"waits for {what} {name}", True, ()
    return Kind.input, f"{call.name}s {call.target or 'a file'}", True, ()


def _by_source(thread: Thread, frame: Frame | None) -> Found | None:
    """The verdict from the line's text, if native code waits there; the file may have changed."""
    if frame is None or thread.running or thread.frames[0] is not frame:
        return None
    text = linecache.getline(frame.file, frame.line)
    found = next((each for each in patterns().source if re.search(each.line, text)), None)
    return (found.kind, found.text, False, (_ASK_NATIVE,)) if found else None


def _otherwise(thread: Thread, stacks: Stacks) -> Found:
    names = [symbol(f) for f in takewhile(lambda f: f.native, thread.frames)]
    name = next((name for name in names if not name.startswith("0x")), "")
    if name:
        does = "runs" if thread.running else "waits in"
        return Kind.native, f"{does} native code, {name}", True, ()
    if thread.running or thread.holds_gil:
        return Kind.python, "runs Python", True, ()
    return Kind.unknown, "waits in native code", True, () if stacks.native else (_ASK_NATIVE,)


def symbol(frame: Frame) -> str:
    """The name without the arguments of templates, which can be pages long."""
    depth, kept = 0, []
    for letter in frame.function if frame.native else "":
        depth += letter == "<"
        if depth == 0:
            kept.append(letter)
        depth -= letter == ">" and depth > 0
    return "".join(kept) or frame.function


# The process


def _stopped(stacks: Stacks) -> Verdict:
    frame = user_frame(stacks.threads[0])
    hint = f"a signal stopped it (Ctrl-Z sends one); to continue: kill -CONT {stacks.pid}"
    return Verdict(Kind.stopped, "is stopped", frame, hints=(hint,))


def _deadlock(stacks: Stacks, verdicts: list[tuple[Thread, Verdict]]) -> Verdict | None:
    alone = _left_alone(stacks, verdicts)
    if alone is not None:
        return alone
    active = [(thread, verdict) for thread, verdict in verdicts if verdict.kind is not Kind.idle]
    waiting = [(thread, verdict) for thread, verdict in active if _for_a_lock(verdict)]
    others = [verdict for _, verdict in active if not _for_a_lock(verdict)]
    if len(waiting) < 2 or any(verdict.kind is not Kind.waiting for verdict in others):
        return None
    sure = all(verdict.sure for _, verdict in waiting)
    return Verdict(
        Kind.deadlock,
        "is in a deadlock" if sure else "seems to be in a deadlock",
        waiting[0][1].frame,
        sure,
        (
            f"{len(waiting)} threads wait for locks, and no running thread could release one:",
            *(f"{thread.name} waits{_at(verdict.frame)}" for thread, verdict in waiting),
            "take locks in the same order everywhere, or hold one at a time",
        ),
    )


def _for_a_lock(verdict: Verdict) -> bool:
    """Whether it waits for a plain lock; an event or a condition can depend on the outside."""
    return verdict.kind is Kind.lock and verdict.text.endswith("a lock")


def _left_alone(stacks: Stacks, verdicts: list[tuple[Thread, Verdict]]) -> Verdict | None:
    """The verdict if a process's only thread waits on a private futex, which nothing can wake."""
    call = stacks.threads[0].call
    if stacks.tasks > 1 or not verdicts or call is None or call.name != "futex":
        return None
    if not call.private or call.timed:
        return None
    hints = _FORKED if stacks.forked else _ALONE
    return Verdict(Kind.deadlock, "waits forever", verdicts[0][1].frame, hints=hints)


def _held_up(main: Verdict, others: list[tuple[Thread, Verdict]], stacks: Stacks) -> Verdict:
    """The main thread's verdict, with those of the threads or children that it may wait for."""
    hints: list[str] = []
    if "process" not in main.text:
        hints += [f"{name} {verdict.text}{_at(verdict.frame)}" for name, verdict in _merged(others)]
        waiting = sum(verdict.kind in (Kind.device, Kind.transfer) for _, verdict in others)
        hints += _SAME_DEVICES if waiting > 1 else ()
    if main.kind is not Kind.idle:
        hints += _children(stacks, bool(hints))
    return replace(main, hints=(*main.hints, *hints))


def _children(stacks: Stacks, explained: bool) -> Iterator[str]:
    """Hints about children that have died; or about any, if nothing else explains the wait."""
    for child in stacks.children:
        if child.state == "Z":
            yield f"its child process {child.pid} has died: {child.command}"
    if not explained and any(child.state != "Z" for child in stacks.children):
        yield "its child processes hold it up"


def _merged(pairs: list[tuple[Thread, Verdict]]) -> Iterator[tuple[str, Verdict]]:
    """Threads that do the same at the same line, under one name."""
    names: dict[Verdict, list[str]] = {}
    for thread, verdict in pairs:
        names.setdefault(verdict, []).append(thread.name)
    for verdict, of in names.items():
        yield (f"thread {of[0]}" if len(of) == 1 else f"each of {', '.join(of)}"), verdict
