"""Whatever becomes of the child is an outcome, and nothing of it stays."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.tpu_check.fakes import MODULE, graph, interpreter
from xladoctor.tpu_check.compiler.cache import Cache
from xladoctor.tpu_check.compiler.outcome import (
    Compiled,
    DoesNotFit,
    Least,
    Outcome,
    Refused,
)
from xladoctor.tpu_check.compiler.run import Limits, Progress, compile_graph
from xladoctor.tpu_check.compiler.topology import GENERATIONS, Topology

V5E = Topology("v5e")
ROOT = Path(__file__).parents[2]
OOM = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory"
    " required for HLO temporaries (37.20G) exceeds available HBM (15.75G)."
    " HLO module: jit_f.\\nSee"
)


def outcome(folder: Path, body: str, limits: Limits | None = None) -> Outcome:
    compiler = interpreter(folder, body)
    return compile_graph(graph(), V5E, compiler, limits=limits, cache=Cache(folder / "cache"))


def refusal(folder: Path, body: str, limits: Limits | None = None) -> Refused:
    found = outcome(folder, body, limits)
    assert isinstance(found, Refused)
    return found


def work_left(folder: Path) -> list[Path]:
    return [*(folder / "cache").glob("work-*")]


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2]
    except FileNotFoundError:
        return False
    return state.split()[0] != "Z"


def wait_until_ended(process: int) -> None:
    end = time.monotonic() + 60
    while is_running(process):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_executable_with_its_numbers_and_text(tmp_path: Path) -> None:
    found = outcome(tmp_path, "answer()")
    assert isinstance(found, Compiled)
    assert gzip.decompress(found.module.read_bytes()).decode() == MODULE
    assert (found.topology, found.operations, found.devices) == ("v5e:1x1", 3, 1)
    assert not found.cached
    assert work_left(tmp_path) == []


def test_sentinels_are_unknown(tmp_path: Path) -> None:
    found = outcome(tmp_path, "answer()")
    assert isinstance(found, Compiled)
    memory = found.memory
    assert (memory.peak, memory.arguments, memory.temporaries) == (300, 100, 0)
    assert (memory.outputs, memory.aliased) == (None, None)


def test_the_child_gets_the_graph_and_usual_shapes(tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    body = (
        f"request['content'] = Path(request['content']).read_text()\n"
        f"Path({str(copy)!r}).write_text(json.dumps(request)); answer()"
    )
    outcome(tmp_path, body)
    request = json.loads(copy.read_bytes())
    assert request["content"] == "module @jit_f {}"
    assert request["topologies"][:2] == [
        {"devices": 1, "memory": V5E.memory, "name": "v5e:1x1", "options": {}},
        {"devices": 4, "memory": V5E.memory, "name": "v5e:2x2", "options": {}},
    ]


def test_settings_of_the_users_programs_do_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TPU_LIBRARY_PATH", "XLA_FLAGS", "JAX_ENABLE_X64", "PJRT_DEVICE"):
        monkeypatch.setenv(name, "of the user")
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--flag")
    copy = tmp_path / "copy.json"
    outcome(tmp_path, f"Path({str(copy)!r}).write_text(json.dumps(dict(os.environ))); answer()")
    seen = json.loads(copy.read_bytes())
    assert "of the user" not in seen.values()
    assert (seen["JAX_PLATFORMS"], seen["LIBTPU_INIT_ARGS"]) == ("cpu", "--flag")
    assert Path(seen["TPU_LOG_DIR"]).parent.name.startswith("work-")


def test_a_graph_that_does_not_fit(tmp_path: Path) -> None:
    found = outcome(tmp_path, f"answer('does_not_fit', None, detail='{OOM}')")
    assert isinstance(found, DoesNotFit)
    assert found.available == round(15.75 * 2**30)


def test_a_message_about_memory_in_other_words_is_still_a_verdict(tmp_path: Path) -> None:
    found = outcome(tmp_path, "answer('does_not_fit', None, detail='Oom: 1.2.3G of 1G')")
    assert isinstance(found, DoesNotFit)
    assert found.available is None


def test_a_child_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    body = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); other = os.fork()\n"
        f"if other: Path({str(pids)!r}).write_text(f'{{os.getpid()}} {{other}}')\n"
        "time.sleep(600)"
    )
    found = refusal(tmp_path, body, Limits(seconds=4))
    assert found.kind == "timed_out"
    assert "no verdict for v5e in 4 s, " in found.what
    assert found.what.endswith("on a processor")
    for process in map(int, pids.read_text(encoding="ascii").split()):
        wait_until_ended(process)
    assert work_left(tmp_path) == []


def test_a_child_that_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    body = "held = []\nwhile True: held.append(bytearray(1 << 24)); time.sleep(0.01)"
    found = refusal(tmp_path, body, Limits(seconds=60, memory=1 << 28))
    assert found.kind == "out_of_memory"
    assert "the limit is 0.25 GiB" in found.what


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "out_of_memory",
            "Linux killed it (SIGKILL), as it does when memory runs out",
        ),
        (
            "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
            "print('F1127 18:47:01.500707 1 shape_util.cc:1035] Check failed: !count_overflow',"
            " flush=True); os.abort()",
            "crashed",
            "signal 6 (SIGABRT): Check failed: !count_overflow",
        ),
        ("print('no module named jax'); sys.exit(3)", "no_result", "status 3, no module named jax"),
        ("", "no_result", "status 0, it printed nothing"),
        ("os.write(1, bytes(range(128, 256)))", "no_result", "status 0"),
        ("(folder / 'result.json').write_bytes(b'\\xff{')", "no_result", "damaged result"),
        ("(folder / 'result.json').write_text('[]')", "no_result", "damaged result"),
        ("(folder / 'result.json').mkdir()", "no_result", "damaged result"),
        ("answer('splendid')", "no_result", "damaged result"),
        ("answer('refused', None, kind='mood')", "no_result", "damaged result"),
        ("answer(memory={'peak_memory_in_bytes': 'much'})", "no_result", "damaged result"),
        ("answer(text=None)", "no_result", "damaged result"),
        ("answer(text='<html>')", "no_result", "damaged result"),
        (
            "answer(); file = folder / 'module.pb.gz'; file.write_bytes(file.read_bytes()[:-9])",
            "no_result",
            "damaged result",
        ),
    ],
)
def test_a_child_that_dies_or_writes_garbage(
    tmp_path: Path, body: str, kind: str, words: str
) -> None:
    found = refusal(tmp_path, body)
    assert (found.kind, words in found.what) == (kind, True), found
    assert work_left(tmp_path) == []


def test_a_crash_after_the_result_is_no_matter(tmp_path: Path) -> None:
    assert isinstance(outcome(tmp_path, "answer(); os.kill(os.getpid(), 9)"), Compiled)


def test_an_interpreter_that_cannot_be_started(tmp_path: Path) -> None:
    compiler = interpreter(tmp_path, "")
    compiler.python.chmod(0o644)
    found = compile_graph(graph(), V5E, compiler, cache=Cache(tmp_path / "cache"))
    assert isinstance(found, Refused)
    assert found.kind == "no_result"
    assert "Permission denied" in found.what


@pytest.mark.parametrize(
    ("kind", "detail", "words", "hint"),
    [
        ("dynamic_shape", "tensor<?x64xf32>", "sizes without a bound (tensor<?x64xf32>)", "fixed"),
        ("host_callback", "xla_ffi_python_cpu_callback", "calls back into Python", "callbacks"),
        ("custom_call", "lapack_sgeqrf_ffi", "custom call lapack_sgeqrf_ffi", "platforms=['tpu']"),
        ("optimized", "fusion", "another platform's compiler", "JAX_DUMP_IR_TO"),
        ("devices", "4", "it is for 4 devices", "compile it for v5e:2x2"),
        ("devices", "5000", "it is for 5000 devices", "more devices than any usual shape"),
        ("topology", "not divisible", "libtpu 3 does not describe v5e", "usual shapes are 1x1"),
        ("interface", "no name x", "jaxlib 2 lacks a name", "another release"),
        ("flatbuffers", "", "the package flatbuffers", "-m pip install flatbuffers"),
        ("failed", "INTERNAL: {braces}", "refuses it for v5e: INTERNAL: {braces}", ""),
    ],
)
def test_refusals_say_what_and_what_to_do(
    tmp_path: Path, kind: str, detail: str, words: str, hint: str
) -> None:
    found = refusal(tmp_path, f"answer('refused', None, kind={kind!r}, detail={detail!r})")
    assert found.kind == kind
    assert words in found.what
    assert hint in found.hint


def test_progress_is_told_once_a_second(tmp_path: Path) -> None:
    told: list[Progress] = []
    body = (
        "time.sleep(0.5)\n"
        "told = {'phase': 'compiling', 'operations': 4812, 'loops': 2, 'topology': 'v5e:1x1'}\n"
        "(folder / 'progress.json').write_text(json.dumps(told)); time.sleep(2.2); answer()"
    )
    compile_graph(
        graph(),
        V5E,
        interpreter(tmp_path, body),
        progress=told.append,
        cache=Cache(tmp_path / "cache"),
    )
    assert (told[0].phase, told[0].operations, told[0].topology) == ("starting", None, "v5e")
    assert (told[-1].phase, told[-1].operations, told[-1].topology) == (
        "compiling",
        4812,
        "v5e:1x1",
    )
    assert all(later.seconds - each.seconds >= 1 for each, later in pairwise(told))


def test_what_interrupts_us_ends_the_child(tmp_path: Path) -> None:
    """What was found by then stays."""
    pid = tmp_path / "pid"
    body = (
        "told = {'phase': 'compiling', 'operations': 9, 'least': {'bytes': 5, 'arguments': 5}}\n"
        "(folder / 'progress.json').write_text(json.dumps(told))\n"
        f"Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(600)"
    )
    compiler = interpreter(tmp_path, body)

    def interrupt(_: Progress) -> None:
        if pid.exists() and pid.read_text(encoding="ascii"):
            raise SystemExit(130)

    cache = Cache(tmp_path / "cache")
    found = compile_graph(graph(), V5E, compiler, progress=interrupt, cache=cache)
    assert isinstance(found, Refused)
    assert (found.kind, found.least) == ("interrupted", Least(5, 5))
    wait_until_ended(int(pid.read_text(encoding="ascii")))
    assert work_left(tmp_path) == []


@pytest.mark.parametrize(
    "body", ["time.sleep(600)", "held = []\nwhile True: held.append(bytearray(1 << 24))"]
)
def test_a_lower_bound_outlives_the_child(tmp_path: Path, body: str) -> None:
    told = (
        "told = {'phase': 'compiling', 'operations': 9, 'least': {'bytes': 7, 'arguments': 7}}\n"
        "(folder / 'progress.json').write_text(json.dumps(told))\n"
    )
    assert refusal(tmp_path, told + body, Limits(4, 1 << 28)).least == Least(7, arguments=7)


def test_a_plan_larger_than_a_device_is_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As older releases plan, which say so only after they have generated code."""
    body = "answer(plan='layers.plan.pb.gz', stage='plan')"
    found = outcome(tmp_path, body)
    assert isinstance(found, Compiled)
    assert found.memory.peak == 495_326_208
    assert (found.memory.arguments, found.memory.aliased) == (117_440_512, 100_663_296)
    small = replace(GENERATIONS["v5e"], memory=0.4)
    monkeypatch.setitem(GENERATIONS, "v5e", small)
    found = outcome(tmp_path, body)
    assert isinstance(found, DoesNotFit)
    assert found.needed == 495_326_208


@pytest.mark.parametrize(
    ("limits", "operations", "seconds"),
    [
        (Limits(), None, 600),
        (Limits(), 1_273, 600),
        (Limits(), 32_498, 812.45),
        (Limits(whole=True), 1_273, 2546),
        (Limits(whole=True), 32_498, 7200),
        (Limits(5), 32_498, 5),
    ],
)
def test_the_limit_fits_the_graph(limits: Limits, operations: int, seconds: float) -> None:
    assert limits.allowed(operations) == pytest.approx(seconds)


_COMPILES = """
import sys
from pathlib import Path
from tests.tpu_check.fakes import graph
from xladoctor.tpu_check.compiler.cache import Cache
from xladoctor.tpu_check.compiler.interpreter import Compiler
from xladoctor.tpu_check.compiler.run import compile_graph
from xladoctor.tpu_check.compiler.topology import Topology
python, cache = map(Path, sys.argv[1:])
compiler = Compiler(python, "2", "3")
compile_graph(graph(b"another"), Topology("v5e"), compiler, cache=Cache(cache))
"""


def test_one_process_compiles_at_a_time_and_others_say_that_they_wait(tmp_path: Path) -> None:
    go, pid = tmp_path / "go", tmp_path / "pid"
    body = (
        f"Path({str(pid)!r}).touch()\n"
        f"while not Path({str(go)!r}).exists(): time.sleep(0.02)\n"
        "answer()"
    )
    compiler, cache = interpreter(tmp_path, body), tmp_path / "cache"
    command = [sys.executable, "-c", _COMPILES, str(compiler.python), str(cache)]
    with subprocess.Popen(command, cwd=ROOT) as first:
        while not pid.exists():
            assert first.poll() is None
            time.sleep(0.05)
        told: list[Progress] = []

        def tell(progress: Progress) -> None:
            told.append(progress)
            go.touch()

        found = compile_graph(graph(), V5E, compiler, progress=tell, cache=Cache(cache))
    assert first.returncode == 0
    assert isinstance(found, Compiled)
    assert (told[0].phase, told[0].holder) == ("waiting", first.pid)


def test_the_child_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """The real child, before it imports JAX: a module of that name hangs."""
    (tmp_path / "jax.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n",
        encoding="utf-8",
    )
    cache = tmp_path / "cache"
    command = [sys.executable, "-c", _COMPILES, sys.executable, str(cache)]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as parent:
        while not [file for file in cache.glob("work-*/pid") if file.stat().st_size]:
            assert parent.poll() is None
            time.sleep(0.05)
        child = int(next(cache.glob("work-*/pid")).read_text(encoding="ascii"))
        parent.send_signal(signal.SIGKILL)
    wait_until_ended(child)
    assert work_left(tmp_path)
    assert isinstance(outcome(tmp_path, "answer()"), Compiled)
    assert work_left(tmp_path) == []
