"""Timelines of programs that call compiled functions: their compilations, reads and steps."""

from __future__ import annotations

from pathlib import Path

from tests.ingest.hlo_modules import module
from tests.xspace import builder
from xladoctor.doctor import load_evidence
from xladoctor.evidence.database import Database


class Trace:
    """A program that calls functions; times in microseconds."""

    def __init__(self) -> None:
        self.space = builder.Space()
        self.python = self.space.plane("/host:CPU").line("python")
        self.programs = 0

    def call(self, function: str, begin: float, lasts: float = 20) -> Trace:
        """As the profiler notes it: twice."""
        self.python.event(f"PjitFunction({function})", begin, lasts)
        self.python.event(f"PjitFunction({function})", begin + 1, lasts - 2)
        return self

    def compile(self, function: str, begin: float, rows: int = 16, *, kept: bool = True) -> Trace:
        """A call of 90, compiled in 50; with a module whose first input has so many rows."""
        self.call(function, begin, 90).python.event("backend_compile_and_load", begin + 20, 50)
        proto = module()
        proto.hlo_module.computations[1].instructions[0].shape.dimensions[0] = rows
        if kept:
            self.space.hlo(self.programs, f"jit_{function}", proto.SerializeToString())
        self.programs += 2
        return self

    def read(self, begin: float, lasts: float) -> Trace:
        self.python.event("np.asarray(jax.Array)", begin, lasts)
        return self

    def evidence(self, folder: Path) -> Database:
        file = folder / "vm.xplane.pb"
        file.write_bytes(self.space.bytes())
        return load_evidence(str(file)).database


def loop(*, kept: bool = True) -> Trace:
    """An initializer, and 12 steps, the first and the tenth of which compile."""
    trace = Trace().compile("init", 0)
    for number in range(12):
        if number in {0, 9}:
            trace.compile("step", 100.0 + 100 * number, 16 + number, kept=kept or number == 9)
        else:
            trace.call("step", 100.0 + 100 * number)
    return trace


def test_compilations_name_their_function_and_step(tmp_path: Path) -> None:
    database = loop().evidence(tmp_path)
    assert database.table(
        "SELECT via, step, ordinal, graph_hash, duration_ns / 1e3 FROM compilation ORDER BY index"
    )[1] == [("init", 0, 0, "module 0", 70), ("step", 0, 0, "module 2", 70),
             ("step", 9, 9, "module 4", 70)]  # fmt: skip  # 20 of tracing, 50 of the compiler


def test_a_new_shape_of_a_functions_input_is_a_cause(tmp_path: Path) -> None:
    database = loop().evidence(tmp_path)
    assert database.table("SELECT kind, basis, was, now FROM recompilation")[1] == [
        ("input_shape", "hlo", "f32[16,64]", "f32[25,64]")
    ]


def test_modules_of_before_the_timeline_are_of_no_compilation(tmp_path: Path) -> None:
    trace = Trace()
    trace.space.hlo(0, "jit_step", module().SerializeToString())
    trace.programs = 2
    database = trace.compile("step", 0).evidence(tmp_path)
    assert database.table("SELECT program_id, graph_hash FROM hlo_module ORDER BY 1")[1] == [
        (0, None),
        (2, "module 2"),
    ]


def test_a_function_with_fewer_modules_than_compilations_is_not_joined(tmp_path: Path) -> None:
    database = loop(kept=False).evidence(tmp_path)
    assert database.table("SELECT graph_hash FROM compilation ORDER BY index")[1] == [
        ("module 0",),
        (None,),
        (None,),
    ]
    assert database.scalar("SELECT count(*) FROM hlo_module WHERE graph_hash IS NOT NULL") == 1


def test_what_a_call_that_compiles_for_another_compiles_is_its_own(tmp_path: Path) -> None:
    trace = Trace().call("step", 0, 400).compile("eager", 100)
    trace.python.event("backend_compile_and_load", 250, 100)
    database = trace.evidence(tmp_path)
    assert database.table("SELECT via, duration_ns FROM compilation ORDER BY index")[1] == [
        ("eager", 170_000),  # what the outer call did until then is told with its first
        ("step", 180_000),
    ]


def test_reads_are_told_from_other_waiting(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(5):
        trace.call("step", 100.0 * number).read(100.0 * number + 30, 40)
    database = trace.evidence(tmp_path)
    steps = database.table("SELECT read_ns, barrier_ns, executions FROM step WHERE NOT tail")[1]
    assert steps == [(40_000, 20_000, 1)] * 5
    reads = database.table("SELECT step, tail, kind, count FROM host_sync ORDER BY step")[1]
    assert reads == [(n, False, "fetch", 1) for n in range(5)]


def test_a_loop_that_calls_functions_lacks_no_barrier(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(30):
        trace.compile("step", 200.0 * number, number + 1).read(200.0 * number + 95, 90)
    assert trace.evidence(tmp_path).scalar("SELECT count(*) FROM missing_barrier") == 0


def test_the_functions_of_the_program_are_call_sites(tmp_path: Path) -> None:
    trace = Trace()
    trace.python.event("$train.py:7 main", 0, 5000)
    trace.python.event("$pjit.py:130 cache_miss", 1, 4000)
    database = trace.compile("step", 10).compile("other", 200).evidence(tmp_path)
    assert database.table("SELECT file, line, function, via FROM compilation")[1] == [
        ("/home/ada/train.py", 7, "main", "step"),
        ("/home/ada/train.py", 7, "main", "other"),
    ]
