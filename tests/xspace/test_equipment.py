"""The equipment is right: what the reference reads, what the fixtures say, what is generated."""

from __future__ import annotations

import gzip
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from tests.xspace import devices, generated
from tests.xspace.builder import Ref, Space, Unsigned
from tests.xspace.reference import ReferenceEvent, read
from tests.xspace.schema import message
from tests.xspace.truth import Gap, Operation, Step, Truth

TRACES = Path(__file__).parents[2] / "sample_traces"
Interval = tuple[float, float]

_slow = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class TestReference:
    def test_names_lines_and_times(self) -> None:
        space = Space()
        space.plane("/host:metadata")
        host = space.plane("/host:CPU")
        host.line("empty")
        host.line("python", id=-5, timestamp_ns=7).event("StepMarker", 1.5, 100, step_num=3)
        (event,) = read(space.bytes())
        assert (event.plane, event.line, event.name) == (1, 1, "StepMarker")
        assert (event.start_ps, event.duration_ps) == (1_500_000, 100_000_000)
        assert event.occurrences is None
        assert event.stats == (("step_num", "int64", 3),)

    def test_every_kind_of_stat(self) -> None:
        space = Space()
        space.plane("/host:CPU").line("python").event(
            "a",
            0,
            1,
            d=math.inf,
            u=Unsigned(2**64 - 1),
            i=-(2**63),
            s="Größe",
            b=b"\x00",
            r=Ref("shared"),
        )
        (event,) = read(space.bytes())
        assert event.stats == (
            ("d", "double", math.inf),
            ("u", "uint64", 2**64 - 1),
            ("i", "int64", -(2**63)),
            ("s", "str", "Größe"),
            ("b", "bytes", b"\x00"),
            ("r", "ref", "shared"),
        )

    def test_many_events_at_once_are_those_one_by_one(self) -> None:
        starts, lasted = [0.0, 1.5, 2e5, 3e7], [1e-6, 0.0, 127e-6, 5e6]
        numbers, texts = [0, 127, 128, 2**40], [Ref("a"), Ref("b"), Ref("a"), Ref("c")]
        one_by_one, at_once = Space(), Space()
        line = one_by_one.plane("/device:GPU:0").line("Stream #13(Compute)")
        for row in range(4):
            stats: dict[str, Any] = {"number": Unsigned(numbers[row]), "text": texts[row]}
            line.event("xyzx"[row], starts[row], lasted[row], **stats)
        at_once.plane("/device:GPU:0").line("Stream #13(Compute)").events(
            "xyzx", np.array(starts), np.array(lasted), number=np.array(numbers), text=texts
        )
        assert read(at_once.bytes()) == read(one_by_one.bytes())

    def test_aggregated_event_has_occurrences_and_no_place(self) -> None:
        space = Space()
        space.plane("/host:CPU").line("python").aggregated("sum", 12, 3)
        (event,) = read(space.bytes())
        assert (event.occurrences, event.start_ps, event.duration_ps) == (12, 0, 3_000_000)

    def test_metadata_has_display_name_and_stats(self) -> None:
        space = Space()
        plane = space.plane("/device:TPU:0")
        plane.metadata("%add = f32[] add()", display_name="add", hlo_category="fusion")
        plane.line("XLA Ops").event("%add = f32[] add()", 0, 1)
        (event,) = read(space.bytes())
        assert event.display_name == "add"
        assert event.metadata_stats == (("hlo_category", "str", "fusion"),)

    def test_missing_metadata_is_named_by_its_number(self) -> None:
        (event,) = read(_one_event(metadata_id=9, stats=[{"metadata_id": 8, "ref_value": 7}]))
        assert event.name == "#9"
        assert event.stats == (("#8", "ref", None),)

    def test_reference_beyond_63_bits_is_a_negative_key(self) -> None:
        data = _one_event({-5: "minus five"}, stats=[{"metadata_id": 1, "ref_value": 2**64 - 5}])
        assert read(data)[0].stats == (("#1", "ref", "minus five"),)

    def test_compressed_text_is_a_text(self) -> None:
        value = gzip.compress(b"long")
        data = _one_event(stats=[{"metadata_id": 1, "compressed_str_value": value}])
        assert read(data)[0].stats == (("#1", "str", "long"),)

    def test_stat_without_value_is_left_out(self) -> None:
        assert read(_one_event(stats=[{"metadata_id": 1}]))[0].stats == ()


def _one_event(names: dict[int, str] | None = None, **event: Any) -> bytes:
    stat_metadata = [{"key": key, "value": {"name": name}} for key, name in (names or {}).items()]
    plane = {"lines": [{"events": [event]}], "stat_metadata": stat_metadata}
    return bytes(message("XSpace")(planes=[plane]).SerializeToString())


def _nesting(*spans: Interval) -> list[tuple[int, float]]:
    """(depth, self time in microseconds) of the events of one line."""
    space = Space()
    line = space.plane("/host:CPU").line("python")
    for number, (begin, end) in enumerate(spans):
        line.event(f"event {number}", begin, end - begin)
    return [(event.depth, event.self_ps / 1e6) for event in read(space.bytes())]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 10), (2, 5), (3, 4), (6, 8)], [(0, 5), (1, 2), (2, 1), (1, 2)]),
        ([(2, 5), (0, 10)], [(1, 3), (0, 7)]),  # the order of the file does not matter
        ([(0, 10), (10, 20)], [(0, 10), (0, 10)]),  # touching is not inside
        ([(0, 4), (0, 10)], [(1, 4), (0, 6)]),  # the longer one is outside
        ([(0, 10), (0, 10)], [(0, 0), (1, 10)]),  # of equal ones the first is outside
        ([(0, 10), (5, 15)], [(0, 5), (1, 5)]),  # cut where the outer one ends
        ([(0, 10), (5, 15), (12, 14)], [(0, 5), (1, 5), (0, 2)]),
        ([(0, 10), (3, 3), (3, 4)], [(0, 9), (2, 0), (1, 1)]),  # an instant is inside the longer
        ([(3, 3), (3, 3)], [(0, 0), (0, 0)]),  # and holds nothing
    ],
)
def test_nesting(spans: Sequence[Interval], expected: list[tuple[int, float]]) -> None:
    assert _nesting(*spans) == expected


class TestSampleTraces:
    @pytest.mark.parametrize(
        "path",
        sorted(TRACES.glob("*/plugins/profile/*/*.xplane.pb")),
        ids=lambda path: str(path.parent.name),
    )
    def test_all_events_are_read_and_self_times_add_up(self, path: Path) -> None:
        data = path.read_bytes()
        space = message("XSpace").FromString(data)
        events = read(data)
        lines = [line for plane in space.planes for line in plane.lines]
        counts = Counter(event.line for event in events)
        assert [counts[number] for number in range(len(lines))] == [len(x.events) for x in lines]
        for number in counts:
            own = [event for event in events if event.line == number]
            busy = _length((e.start_ps, e.start_ps + e.duration_ps) for e in own)
            assert sum(event.self_ps for event in own) == busy

    def test_values_of_a_trace(self) -> None:
        (path,) = TRACES.glob("scalar_read/plugins/profile/*/*.xplane.pb")
        events = read(path.read_bytes())
        names = Counter(event.name for event in events)
        assert names["PjRtComputationClient::ExecuteComputation"] == 80
        assert {event.plane for event in events} == {1}
        first_read = next(event for event in events if event.name == "xladoctor.read")
        assert ("kind", "ref", "item") in first_read.stats
        assert first_read.stat("line") == 35
        compiled = next(event for event in events if event.name == "XLAGraphExecutor::Compile")
        assert len(compiled.stat("graph_hash")) == 32
        assert compiled.depth == 2


_PROGRAMS: dict[str, tuple[Callable[[], Space], Truth]] = {
    "tpu": (devices.tpu, devices.TPU),
    "gpu": (devices.gpu, devices.GPU),
    "gpu as captured": (lambda: devices.gpu(derived=False), devices.GPU),
    "jax": (devices.jax_cpu, devices.JAX_CPU),
    "jax, older": (lambda: devices.jax_cpu("PjRtCpuExecutable::ExecuteHelper"), devices.JAX_CPU),
    "tensorflow": (devices.tensorflow, devices.TENSORFLOW),
    "tensorflow, older": (lambda: devices.tensorflow("TraceContext"), devices.TENSORFLOW),
}

#: What the host's events mean; of those that overlap, the first in this order counts.
_MEANING = {
    "compile": {"backend_compile"},
    "input": {"IteratorGetNextOp::DoCompute"},
    "upload": {"DevicePut"},
    "wait": {"np.asarray(jax.Array)"},
    "dispatch": {"PjitFunction(train_step)", "PjitFunction(convert_element_type)", "train_step"},
}

_CALLS = _MEANING["dispatch"]


class Trace:
    """A fixture as the reference reads it; times in microseconds from the fixtures' origin."""

    def __init__(self, space: Space) -> None:
        data = space.bytes()
        planes = message("XSpace").FromString(data).planes
        self.planes = [plane.name for plane in planes]
        self.lines = [line for plane in planes for line in plane.lines]
        self.events = read(data)

    def span(self, event: ReferenceEvent) -> Interval:
        origin = self.lines[event.line].timestamp_ns - devices.ORIGIN_NS
        return _times(event, origin)

    def on(self, plane: str) -> list[ReferenceEvent]:
        return [event for event in self.events if self.planes[event.plane] == plane]

    def work(self, plane: str) -> list[ReferenceEvent]:
        """What a device ran: operations, kernels and copies; of a host, what has an hlo_op."""
        if plane == "/host:CPU":
            return [event for event in self.on(plane) if event.stat("hlo_op")]
        return [
            event
            for event in self.on(plane)
            if self.lines[event.line].name.startswith(("XLA Ops", "Stream #"))
            and self.lines[event.line].id > 0
        ]

    def operation(self, event: ReferenceEvent) -> Operation:
        if event.display_name:  # a TPU's: the module is the one that runs then
            (module,) = (
                other.name
                for other in self.on(self.planes[event.plane])
                if self.lines[other.line].name == "XLA Modules"
                and _within(self.span(event), self.span(other))
            )
            return module.partition("(")[0], event.display_name
        return event.stat("hlo_module"), event.stat("hlo_op") or event.name

    def steps(self) -> tuple[Step, ...]:
        return tuple(
            Step(str(event.stat("step_num")), *self.span(event))
            for event in self.on("/host:CPU")
            if event.stat("step_num") is not None
        )

    def doing(self, gap: Interval) -> dict[str, float]:
        """How long the host did each activity in ``gap``."""
        seen: list[Interval] = []
        result = {}
        for meaning, names in _MEANING.items():
            before = _length(seen)
            spans = [self.span(event) for event in self.on("/host:CPU") if event.name in names]
            if meaning == "compile":
                spans = [(self._called_us(begin), end) for begin, end in spans]
            seen += [
                (max(a, gap[0]), min(b, gap[1])) for a, b in spans if a < gap[1] and b > gap[0]
            ]
            result[meaning] = _length(seen) - before
        return {**result, "python": gap[1] - gap[0] - _length(seen)}

    def _called_us(self, compiled_us: float) -> float:
        """When the call that compiled then began: it launches only when it has compiled."""
        calls = (self.span(event) for event in self.on("/host:CPU") if event.name in _CALLS)
        return min(
            (begin for begin, end in calls if begin <= compiled_us < end), default=compiled_us
        )


@pytest.fixture(params=_PROGRAMS)
def program(request: pytest.FixtureRequest) -> tuple[Trace, Truth]:
    make, truth = _PROGRAMS[request.param]
    return Trace(make()), truth


class TestTruth:
    def test_steps(self, program: tuple[Trace, Truth]) -> None:
        trace, truth = program
        assert trace.steps() == truth.steps

    def test_busy_time_and_gaps(self, program: tuple[Trace, Truth]) -> None:
        trace, truth = program
        for plane, device in truth.devices.items():
            work = [trace.span(event) for event in trace.work(plane)]
            assert _length(work) == device.busy_us
            loop = truth.steps[0].begin_us, truth.steps[-1].end_us
            assert _between(work, loop) == [(gap.begin_us, gap.end_us) for gap in device.gaps]

    def test_reasons_of_gaps(self, program: tuple[Trace, Truth]) -> None:
        trace, truth = program
        for device in truth.devices.values():
            for gap in device.gaps:
                doing = trace.doing((gap.begin_us, gap.end_us))
                reason = max(doing, key=lambda meaning: doing[meaning])
                assert Gap(gap.begin_us, gap.end_us, reason, doing[reason]) == gap
                assert sorted(doing.values())[-1] > sorted(doing.values())[-2]

    def test_operations(self, program: tuple[Trace, Truth]) -> None:
        trace, truth = program
        for plane, device in truth.devices.items():
            kernels = [e for e in trace.work(plane) if not e.name.startswith("Memcpy")]
            assert _operations(trace, kernels) == device.operations

    def test_copies(self, program: tuple[Trace, Truth]) -> None:
        trace, truth = program
        for plane, device in truth.devices.items():
            kernels = [e for e in trace.work(plane) if not e.name.startswith("Memcpy")]
            alone = device.busy_us - _length(trace.span(event) for event in kernels)
            assert alone == device.copies_us

    def test_every_device_plane_has_its_truth(self, program: tuple[Trace, Truth]) -> None:
        trace, truth = program
        named = {name for name in trace.planes if name.startswith("/device:")} or {"/host:CPU"}
        assert named == truth.devices.keys()


def _operations(
    trace: Trace, events: Iterable[ReferenceEvent]
) -> dict[Operation, tuple[int, float, float]]:
    by_operation: dict[Operation, list[ReferenceEvent]] = defaultdict(list)
    for event in events:
        by_operation[trace.operation(event)].append(event)
    return {
        operation: (len(own), sum(e.duration_ps for e in own) / 1e6, _own_time(own))
        for operation, own in by_operation.items()
    }


def _own_time(events: Iterable[ReferenceEvent]) -> float:
    return sum(event.self_ps for event in events) / 1e6


def _times(event: ReferenceEvent, origin_ns: int) -> Interval:
    begin = event.start_ps / 1e6 + origin_ns / 1e3
    return begin, begin + event.duration_ps / 1e6


def _within(inner: Interval, outer: Interval) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _union(spans: Iterable[Interval]) -> list[Interval]:
    result: list[Interval] = []
    for begin, end in sorted(spans):
        if result and begin <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((begin, end))
    return result


def _length(spans: Iterable[Interval]) -> float:
    return sum(end - begin for begin, end in _union(spans))


def _between(spans: Iterable[Interval], loop: Interval) -> list[Interval]:
    """The parts of ``loop`` that no span covers."""
    edges = [loop[0], *(edge for span in _union(spans) for edge in span), loop[1]]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return [(begin, end) for begin, end in gaps if end > begin]


class TestGenerated:
    @_slow
    @given(generated.spaces(groups=True))
    def test_every_space_can_be_read(self, data: bytes) -> None:
        space = message("XSpace").FromString(data)
        assert len(read(data)) == sum(len(x.events) for p in space.planes for x in p.lines)

    @_slow
    @given(generated.spaces())
    def test_self_times_add_up_and_depths_are_those_of_the_open(self, data: bytes) -> None:
        by_line: dict[int, list[ReferenceEvent]] = defaultdict(list)
        for event in read(data):
            by_line[event.line].append(event)
        for events in by_line.values():
            assert all(event.self_ps >= 0 for event in events)
            spans = [(event.start_ps, event.start_ps + event.duration_ps) for event in events]
            assert sum(event.self_ps for event in events) <= _length(spans)

    @pytest.mark.thorough
    def test_what_occurs(self) -> None:
        events = [event for data in _drawn(generated.spaces()) for event in read(data)]
        stats = [(kind, value) for event in events for _, kind, value in event.stats]
        assert any(event.name and not event.name.startswith("#") for event in events)
        assert any(event.depth > 1 for event in events)
        assert any(event.occurrences is not None for event in events)
        assert any(event.start_ps > 1 << 50 for event in events)
        assert any(event.metadata_stats for event in events)
        assert any(kind == "ref" and value is not None for kind, value in stats)
        assert any(kind == "ref" and value is None for kind, value in stats)
        assert any(kind == "double" and not math.isfinite(value) for kind, value in stats)
        assert any(kind == "uint64" and value >= 1 << 63 for kind, value in stats)
        assert {kind for kind, _ in stats} == {"double", "uint64", "int64", "str", "bytes", "ref"}

    @_slow
    @given(generated.damaged())
    def test_damage_is_read_or_refused(self, data: bytes) -> None:
        """Nothing else is raised, and depths stay those of nested spans."""
        try:
            events = read(data)
        except DecodeError:
            return
        assert all(0 <= event.depth < len(events) for event in events)

    def test_damage_occurs(self) -> None:
        refused = 0
        drawn = _drawn(generated.damaged(), 100)
        for data in drawn:
            try:
                read(data)
            except DecodeError:
                refused += 1
        assert 0 < refused < len(drawn)

    @pytest.mark.parametrize("value", [0, 1, 127, 128, 2**63, 2**64 - 1, -1])
    @pytest.mark.parametrize("padding", [0, 1, 9])
    def test_varints_are_protobufs(self, value: int, padding: int) -> None:
        stat = message("XStat").FromString(generated.field(3, value, padding))
        assert stat.uint64_value == value % 2**64


def _drawn(strategy: SearchStrategy[bytes], examples: int = 400) -> list[bytes]:
    """What a strategy draws, the same on each call."""
    drawn: list[bytes] = []

    @settings(
        _slow, max_examples=examples, derandomize=True, phases=[Phase.generate], database=None
    )
    @given(strategy)
    def draw(data: bytes) -> None:
        drawn.append(data)

    draw()
    return drawn
