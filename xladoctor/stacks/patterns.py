"""The patterns that give a thread's verdict: names of functions, files, system calls.

They are tried in order, and the first match counts. Names in CPython are from 3.8 to 3.13; names in
frameworks come from their frontends.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from xladoctor.frontends.vocabulary import vocabularies
from xladoctor.frontends.vocabulary_file import FramePattern
from xladoctor.stacks.interface import Frame, Kind


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a frame below the user's line means.

    Attributes:
        function: regular expression for part of the function's name.
        file: regular expression for the end of the file's path; empty for any. For Python frames.
    """

    kind: Kind
    text: str
    function: re.Pattern[str]
    file: re.Pattern[str] | None = None

    def matches(self, frame: Frame) -> bool:
        """Whether the frame is of this pattern."""
        if self.file is not None and not self.file.search(frame.file):
            return False
        return bool(self.function.search(frame.function))


def _native(kind: Kind, text: str, function: str) -> Pattern:
    return Pattern(kind, text, re.compile(function))


def _python(kind: Kind, text: str, file: str, function: str = "") -> Pattern:
    return Pattern(kind, text, re.compile(function), re.compile(rf"/{file}$"))


BATCH = "waits for the next batch"
_DEVICE = "waits for the device"
_TRANSFER = "waits for a value from the device"
_LOCK = "waits for a lock"
_IDLE = "waits for work"

_ORDER = (
    Kind.compiling,
    Kind.collective,
    Kind.transfer,
    Kind.device,
    Kind.native,
    Kind.data,
    Kind.waiting,
    Kind.lock,
)
#: Native code of XLA's runtime, of Python and of the system.
_RUNTIME = (
    _native(
        Kind.compiling,
        "compiles a graph",
        r"^llvm::|::Compile\b|::CompileInternal|::CompileAndLoad|::RunHloPasses|::RunBackend",
    ),
    _native(
        Kind.collective,
        "waits in a collective",
        r"Rendezvous|RendezvousKey|::(AllReduce|AllGather|AllToAll|ReduceScatter"
        r"|CollectivePermute)|^nccl[A-Z]",
    ),
    _native(Kind.transfer, _TRANSFER, r"::ToLiteralSync"),
    _native(Kind.transfer, "sends data to the device", r"::BufferFromHost"),
    _native(Kind.device, _DEVICE, r"::BlockUntilReady|::BlockHostUntilReady"),
    _native(Kind.device, "launches a computation", r"::ExecuteReplicated"),
    _native(Kind.data, "waits for an item from a queue", r"SimpleQueue_get"),
    _native(Kind.waiting, "waits for a thread to end", r"^ThreadHandle_join"),
    _native(
        Kind.lock, _LOCK, r"^PyThread_acquire_lock_timed|^_?PyMutex_Lock|^_PyRecursiveMutex_Lock"
    ),
    _native(
        Kind.lock,
        "waits for a lock in native code",
        r"^(__)?pthread_(mutex|rwlock)_\w*lock|^__lll_lock_wait|^absl::\S*Mutex::Lock",
    ),
)

#: Frames of the capture inside the user's line.
_CAPTURE = (
    _python(Kind.data, BATCH, r"_xladoctor/calls\.py", r"next_batch"),
    _python(Kind.device, _DEVICE, r"_xladoctor/(\w+/)?adapter\.py", r"wait_device_ops"),
    _python(Kind.transfer, _TRANSFER, r"_xladoctor/calls\.py", r"\b(read|save)$"),
)
#: Frames of the standard library inside the user's line.
_STANDARD = (
    _python(Kind.idle, _IDLE, r"multiprocessing/queues\.py", r"^Queue\._feed$"),
    _python(Kind.idle, _IDLE, r"multiprocessing/(resource_tracker|forkserver|managers)\.py"),
    # Processes and threads
    _python(Kind.waiting, "waits for a child process", r"subprocess\.py"),
    _python(
        Kind.waiting,
        "waits for a child process",
        r"multiprocessing/(process|popen_\w+)\.py",
        r"\bjoin$|\bwait$|\bpoll$",
    ),
    _python(
        Kind.waiting,
        "waits for a thread to end",
        r"threading\.py",
        r"^Thread\.(join|_wait_for_tstate_lock)$|^(join|_wait_for_tstate_lock|_shutdown)$",
    ),
    _python(
        Kind.waiting,
        "waits for a task in another thread or process",
        r"concurrent/futures/_base\.py",
        r"(Future\.)?(result|exception|wait)$",
    ),
    _python(
        Kind.waiting, "waits for a task in a pool", r"multiprocessing/pool\.py", r"(get|wait|next)$"
    ),
    _python(
        Kind.data, "waits for data from another process", r"multiprocessing/(queues|connection)\.py"
    ),
    _python(Kind.data, "waits for an item from a queue", r"(queue|keyd_queue)\.py", r"\bget$"),
    _python(Kind.lock, "waits for room in a queue", r"(queue|keyd_queue)\.py", r"\bput$"),
    _python(Kind.lock, "waits for an event", r"threading\.py", r"\bEvent\.wait$"),
    _python(
        Kind.lock, "waits at a barrier for other threads", r"threading\.py", r"\bBarrier\.\w*wait$"
    ),
    _python(
        Kind.lock, "waits for a semaphore", r"threading\.py", r"Semaphore\.(acquire|__enter__)"
    ),
    _python(Kind.lock, "waits for a condition", r"threading\.py", r"\bCondition\.wait(_for)?$"),
    _python(Kind.lock, _LOCK, r"threading\.py", r"acquire|__enter__"),
    _python(
        Kind.lock,
        "waits for a lock shared by processes",
        r"multiprocessing/synchronize\.py",
        r"acquire|__enter__|wait",
    ),
    # The outside
    _python(
        Kind.input,
        "waits for the network",
        r"(socket|ssl|http/client|urllib/request|socketserver)\.py",
    ),
    _python(Kind.input, "waits for files or connections", r"(selectors|asyncio/\w+)\.py"),
)


def _of_frontends(fits: Callable[[FramePattern], bool]) -> tuple[Pattern, ...]:
    """What frames of the frameworks mean."""
    frames = [frame for each in vocabularies().values() for frame in each.frames if fits(frame)]
    return tuple(
        _native(Kind(frame.kind), frame.text, frame.function)
        if frame.file is None
        else _python(Kind(frame.kind), frame.text, frame.file, frame.function)
        for frame in frames
    )


def _rank(pattern: Pattern) -> int:
    return _ORDER.index(pattern.kind)


#: Frames of native code inside the innermost Python frame: what is going on before what it is
#: part of, the runtime's before a framework's.
NATIVE = tuple(sorted((*_RUNTIME, *_of_frontends(lambda frame: frame.file is None)), key=_rank))
#: Frames of a framework, the capture and the standard library inside the user's line.
PYTHON = (
    *_of_frontends(lambda frame: frame.file is not None and not frame.barrier),
    *_CAPTURE,
    *_STANDARD,
)
#: Barriers: what they do cannot be seen from Python alone.
BARRIERS = (
    *_of_frontends(lambda frame: frame.barrier),
    _python(Kind.device, "", r"_xladoctor/calls\.py", r"barrier$"),
)

#: What the text of a line that waits in native code suggests.
SOURCE = (
    (
        Kind.transfer,
        "seems to wait for a value from the device",
        re.compile(r"\.(item|tolist|cpu|numpy)\(|\bprint\("),
    ),
    (
        Kind.lock,
        "seems to wait for a lock",
        re.compile(r"\.acquire\(|^\s*with\b[^(]*:|lock|mutex", re.IGNORECASE),
    ),
    (Kind.waiting, "seems to wait for a thread to end", re.compile(r"\.join\(")),
)

#: System calls that say what a thread waits for, whatever its frames are.
CALLS = {
    "clock_nanosleep": (Kind.sleep, "sleeps"),
    "nanosleep": (Kind.sleep, "sleeps"),
    "wait4": (Kind.waiting, "waits for a child process"),
    "waitid": (Kind.waiting, "waits for a child process"),
    "accept": (Kind.input, "waits for a connection"),
    "accept4": (Kind.input, "waits for a connection"),
    "connect": (Kind.input, "connects to the network"),
    "recvfrom": (Kind.input, "waits for the network"),
    "recvmsg": (Kind.input, "waits for the network"),
    "sendto": (Kind.input, "waits for the network to accept data"),
    "sendmsg": (Kind.input, "waits for the network to accept data"),
    "flock": (Kind.lock, "waits for a file lock"),
    "fcntl": (Kind.lock, "waits for a file lock"),
    "pause": (Kind.waiting, "waits for a signal"),
    "rt_sigtimedwait": (Kind.waiting, "waits for a signal"),
    **dict.fromkeys(
        ("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait"),
        (Kind.input, "waits for files or connections"),
    ),
}
