"""The patterns by which a thread's verdict is known: names of functions, files, system calls.

They are tried from the top, the first that matches wins. Names of native code are those of
torch 2.9 and torch_xla 2.9; CPython's of 3.8 to 3.13.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xladoctor.stacks.interface import Frame, Kind


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a frame inside the user's line means.

    Attributes:
        function: matches a part of the function's name.
        file: the end of the file's path matches it; empty for any. For Python frames alone.
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
_COLLECTIVE = "waits in a collective"
_COMPILING = "compiles a graph"
_DEVICE = "waits for the device"
_TRANSFER = "waits for a value from the device"
_LOCK = "waits for a lock"
_IDLE = "waits for work"

#: Frames of native code inside the innermost Python frame.
NATIVE = (
    _native(Kind.compiling, _COMPILING,
            r"^llvm::|::Compile\b|::CompileInternal|::CompileAndLoad|::RunHloPasses|::RunBackend"),
    _native(Kind.collective, _COLLECTIVE,
            r"Rendezvous|RendezvousKey|::(AllReduce|AllGather|AllToAll|ReduceScatter"
            r"|CollectivePermute)|^c10d::|^gloo::|^nccl[A-Z]"),
    _native(Kind.transfer, _TRANSFER, r"::TransferFromDevice|::ToLiteralSync"),
    _native(Kind.transfer, "sends data to the device", r"::TransferToDevice|::BufferFromHost"),
    _native(Kind.device, _DEVICE, r"WaitDeviceOps|::DeviceBarrier|::DeviceLocker::|::LockDevices"
            r"|::BlockUntilReady|::BlockHostUntilReady"),
    _native(Kind.device, "launches a computation", r"::ExecuteComputation|::ExecuteReplicated"),
    _native(Kind.native, "builds the graph",
            r"::SyncTensorsGraph|::RunPostOrder|::LoweringContext"),
    _native(Kind.data, "waits for an item from a queue", r"SimpleQueue_get"),
    _native(Kind.waiting, "waits for a thread to end", r"^ThreadHandle_join"),
    _native(Kind.lock, _LOCK,
            r"^PyThread_acquire_lock_timed|^_?PyMutex_Lock|^_PyRecursiveMutex_Lock"),
    _native(Kind.lock, "waits for a lock in native code",
            r"^(__)?pthread_(mutex|rwlock)_\w*lock|^__lll_lock_wait|^absl::\S*Mutex::Lock"),
)  # fmt: skip

_XLA_COLLECTIVES = (
    r"^(all_reduce|all_gather|all_to_all|reduce_scatter|collective_permute|reduce_gradients"
    r"|rendezvous|mesh_reduce|collective_broadcast|_all_gather\w*|broadcast_master_param)$"
)
#: Frames of the standard library, torch, torch_xla and the capture inside the user's line.
PYTHON = (
    # Waiting for others that run the program
    _python(Kind.waiting, "waits for the processes of torchrun",
            r"torch/distributed/elastic/.*\.py"),
    _python(Kind.waiting, "waits for the processes of torch_xla.launch",
            r"torch_xla/_internal/pjrt\.py", r"^run_multiprocess"),
    _python(Kind.waiting, "waits for the threads of torch_xla.launch",
            r"torch_xla/_internal/pjrt\.py", r"^_run_thread_per_device$"),
    _python(Kind.waiting, "waits for the processes of torch.multiprocessing.spawn",
            r"torch/multiprocessing/spawn\.py"),
    # Helpers
    _python(Kind.idle, _IDLE, r"torch/utils/data/_utils/(worker|pin_memory)\.py",
            r"^(_worker_loop|_pin_memory_loop)"),
    _python(Kind.idle, _IDLE, r"multiprocessing/queues\.py", r"^Queue\._feed$"),
    _python(Kind.idle, _IDLE, r"multiprocessing/(resource_tracker|forkserver|managers)\.py"),
    # The input pipeline
    _python(Kind.data, BATCH, r"torch/utils/data/dataloader\.py", r"__next__|_next_data|_get_data"),
    _python(Kind.data, BATCH, r"torch_xla/distributed/parallel_loader\.py",
            r"__next__|\bnext(_item)?$"),
    _python(Kind.data, BATCH, r"_xladoctor/adapter\.py", r"next_batch"),
    # Devices
    _python(Kind.collective, _COLLECTIVE, r"torch_xla/core/xla_model\.py", _XLA_COLLECTIVES),
    _python(Kind.collective, _COLLECTIVE,
            r"torch/distributed/(distributed_c10d|rendezvous|device_mesh|_functional_collectives)"
            r"\.py"),
    _python(Kind.device, _DEVICE, r"torch_xla/core/xla_model\.py", r"^wait_device_ops$"),
    _python(Kind.device, _DEVICE, r"_xladoctor/adapter\.py", r"wait_device_ops"),
    _python(Kind.transfer, _TRANSFER, r"torch/_tensor(_str)?\.py",
            r"(__(repr|format|int|float|bool|index|array|contains)__|^_str|tolist)"),
    _python(Kind.transfer, _TRANSFER, r"_xladoctor/adapter\.py", r"_read\b|_timed_read|_save\b"),
    _python(Kind.transfer, _TRANSFER, r"torch_xla/core/xla_model\.py", r"^(save|_maybe_convert)"),
    # Processes and threads
    _python(Kind.waiting, "waits for a child process", r"subprocess\.py"),
    _python(Kind.waiting, "waits for a child process",
            r"multiprocessing/(process|popen_\w+)\.py", r"\bjoin$|\bwait$|\bpoll$"),
    _python(Kind.waiting, "waits for a thread to end", r"threading\.py",
            r"^Thread\.(join|_wait_for_tstate_lock)$|^(join|_wait_for_tstate_lock|_shutdown)$"),
    _python(Kind.waiting, "waits for a task in another thread or process",
            r"concurrent/futures/_base\.py", r"(Future\.)?(result|exception|wait)$"),
    _python(Kind.waiting, "waits for a task in a pool", r"multiprocessing/pool\.py",
            r"(get|wait|next)$"),
    _python(Kind.data, "waits for data from another process",
            r"multiprocessing/(queues|connection)\.py"),
    _python(Kind.data, "waits for an item from a queue", r"(queue|keyd_queue)\.py", r"\bget$"),
    _python(Kind.lock, "waits for room in a queue", r"(queue|keyd_queue)\.py", r"\bput$"),
    _python(Kind.lock, "waits for an event", r"threading\.py", r"\bEvent\.wait$"),
    _python(Kind.lock, "waits at a barrier for other threads", r"threading\.py",
            r"\bBarrier\.\w*wait$"),
    _python(Kind.lock, "waits for a semaphore", r"threading\.py",
            r"Semaphore\.(acquire|__enter__)"),
    _python(Kind.lock, "waits for a condition", r"threading\.py", r"\bCondition\.wait(_for)?$"),
    _python(Kind.lock, _LOCK, r"threading\.py", r"acquire|__enter__"),
    _python(Kind.lock, "waits for a lock shared by processes",
            r"multiprocessing/synchronize\.py", r"acquire|__enter__|wait"),
    # The outside
    _python(Kind.input, "waits for the network",
            r"(socket|ssl|http/client|urllib/request|socketserver)\.py"),
    _python(Kind.input, "waits for files or connections", r"(selectors|asyncio/\w+)\.py"),
)  # fmt: skip

#: What a barrier does cannot be told from Python alone.
BARRIERS = (
    _python(Kind.device, "", r"torch_xla/torch_xla\.py", r"^(sync|step|_.*sync.*)$"),
    _python(Kind.device, "", r"torch_xla/core/xla_model\.py", r"^(mark_step|optimizer_step)$"),
    _python(Kind.device, "", r"_xladoctor/adapter\.py", r"step_marker"),
)  # fmt: skip

#: What the text of a line that waits in native code suggests.
SOURCE = (
    (Kind.transfer, "seems to wait for a value from the device",
     re.compile(r"\.(item|tolist|cpu|numpy)\(|\bprint\(")),
    (Kind.lock, "seems to wait for a lock",
     re.compile(r"\.acquire\(|^\s*with\b[^(]*:|lock|mutex", re.IGNORECASE)),
    (Kind.waiting, "seems to wait for a thread to end", re.compile(r"\.join\(")),
)  # fmt: skip

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
