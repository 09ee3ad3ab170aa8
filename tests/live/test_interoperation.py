"""What else programs do with their interpreter goes as without us, and they are diagnosed still."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.harness import LIVE, ON_DEVICE, bare, capture, line_of, python, write

pytestmark = LIVE

STEPS = 12
#: Trains with a read in each step; what is put before and behind it does something else besides.
TRAIN = f"""
def train(steps={STEPS}):
    global weights
    for step in range(steps):
        weights = weights * 0.9
        total = weights.sum().item()
        torch_xla.sync()
    return f"{{total:.6g}}"
"""
PROGRAMS = {
    "asyncio": """
import asyncio
async def main():
    tick = asyncio.create_task(asyncio.sleep(0, "ticked"))
    return await asyncio.to_thread(train), await tick
print(asyncio.run(main()))
""",
    "coverage": """
import coverage
covered = coverage.Coverage(data_file=None, include=[__file__])
covered.start()
print(train())
covered.stop()
print(covered.get_data().lines(__file__))
""",
    "gevent": """
import gevent.monkey
gevent.monkey.patch_all()
print(gevent.spawn(train).get())
""",
    "cProfile": """
import cProfile, pstats
profile = cProfile.Profile()
print(profile.runcall(train))
calls = pstats.Stats(profile).stats
print(sorted((name, value[0]) for (file, _, name), value in calls.items() if file == __file__))
""",
    "settrace": """
lines = []
def trace(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        lines.append((event, frame.f_lineno))
        return trace
sys.settrace(trace)
print(train())
print(sys.gettrace() is trace, lines)
""",
    "patched": """
calls, original = [], torch.Tensor.item
def item(tensor):
    calls.append(tensor.shape)
    return original(tensor)
torch.Tensor.item = item
print(train(), len(calls), torch.Tensor.item is item)
""",
    "daemon": """
import threading
def idle():
    while True:
        time.sleep(0.001)  # no more: a thread that is in C++ when the program ends may abort it
threading.Thread(target=idle, daemon=True).start()
print(train())
""",
    "atexit": """
import atexit
atexit.register(lambda: print("at the end", weights.shape))
print(train())
sys.exit(3)
""",
    "chdir": """
import tempfile
os.chdir(tempfile.mkdtemp())
print(train())
""",
    "replaced": """
import builtins, io, threading
def refuse(*args, **kwargs):
    raise RuntimeError("replaced")
names = {builtins: ["open"], io: ["open"], time: ["perf_counter_ns", "time_ns", "sleep"],
         threading: ["current_thread", "get_ident", "get_native_id"]}
kept = [(module, name, getattr(module, name)) for module in names for name in names[module]]
for module, name, _ in kept:
    setattr(module, name, refuse)
total = train()
for module, name, function in kept:
    setattr(module, name, function)
print(total)
""",
    "tracebacks": """
import traceback
import torch_xla.core.xla_model as xm
from torch.utils.data import DataLoader
def closure():
    raise ArithmeticError
def sync():
    xm.add_step_closure(closure)
    torch_xla.sync()
class Unsaved:
    def __reduce__(self):
        raise TypeError
print(train())
for fails in (lambda: torch.ones(3).item(), lambda: weights.item(), lambda: weights.to("nothing"),
              lambda: torch.ones(1).to("xla:77"), lambda: os.environ.update(A="\\0"), sync,
              lambda: DataLoader([1], batch_size=-1), lambda: next(iter(DataLoader([object()]))),
              lambda: torch.save([weights, Unsaved()], os.devnull)):
    try:
        fails()
    except Exception:
        traceback.print_exc()
raise ValueError
""",
    "closed": """
train()
sys.stdout.close()
sys.stderr.close()
os.close(1)
os.close(2)
""",
    "fork": """
print(train(), flush=True)
if (child := os.fork()) == 0:
    print("child", flush=True)
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
}
#: What others show too; gevent is not among what the tests need.
_THOROUGH = {
    "asyncio",
    "coverage",
    "cProfile",
    "chdir",
    "gevent",
    "closed",
    "atexit",
    "daemon",
    "settrace",
    "patched",
}

#: Its loop is stopped a hundred times, wherever it is, even in the capture.
STOPPED = """
class Stop(Exception):
    pass
def stop(number, frame):
    raise Stop
def stopped(seconds):
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            (torch.ones(2).to(device) * 0.9).sum().item()
            torch_xla.sync()
    except Stop:
        return 1
signal.signal(signal.SIGALRM, stop)
print(sum(stopped(0.002 + attempt * 1e-5) for attempt in range(100)))
"""


def marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.thorough] * (name in _THOROUGH)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in PROGRAMS])
def test_program_does_as_without_us_and_its_reads_are_found(tmp_path: Path, name: str) -> None:
    if name == "gevent":
        pytest.importorskip(name)
    source = f"{ON_DEVICE}\nSTEPS = {STEPS}{TRAIN}{PROGRAMS[name]}"
    program = write(tmp_path, "train.py", source)

    alone, _ = bare(program, tmp_path / "log", {})
    run = capture(tmp_path / "out", program, cwd=tmp_path)

    assert run.finished == alone
    assert run.notes == []
    assert run.report["steps"]["count"] == STEPS
    (finding,) = run.findings("XD201")
    assert finding["count"] == STEPS
    assert [place["line"] for place in finding["locations"]] == [
        line_of(program, "return original" if name == "patched" else "total = weights")
    ]


@pytest.mark.thorough
def test_program_that_starts_itself_anew_is_captured_both_times(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "train.py",
        f"""{ON_DEVICE}{TRAIN}
print(train(), flush=True)
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
""",
    )

    alone = python(program)
    run = capture(tmp_path / "out", program, cwd=tmp_path)

    assert run.finished == alone
    assert len(list(run.directory.glob("process-*"))) == 2
    assert any("the process was cut short" in note for note in run.report["warnings"])
    (finding,) = run.findings("XD201")
    assert finding["count"] >= STEPS


def test_error_of_a_signal_handler_reaches_the_program_wherever_it_is(tmp_path: Path) -> None:
    program = write(tmp_path, "train.py", ON_DEVICE + STOPPED)

    alone, _ = bare(program, tmp_path / "log", {})
    run = capture(tmp_path / "out", program, cwd=tmp_path)

    assert run.finished == alone
    assert run.finished.stdout == "100\n"
    assert run.findings("XD902") == []
