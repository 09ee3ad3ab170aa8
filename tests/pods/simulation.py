"""Pods, simulated: hosts that drive devices, which wait for each other in collectives.

A host fetches a batch, works in Python, sends the batch, launches the step, and then waits for the
step before, so that a device can begin a step when it has ended the last. A device computes
and takes part in collectives, each of which ends when its last device has arrived and the exchange
is done. Times are microseconds of one true clock; what the clocks of the hosts show is derived from
it at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

Sickness = Literal[
    "input",  # a host's loader is slow: its devices starve
    "python",  # a host works in Python for longer than a step takes
    "compute",  # all devices of a host are slow
    "device",  # one device is slow
    "throttled",  # one device is slow in some runs of steps
    "compilation",  # a host compiles again and again
    "graph",  # a host runs another graph
    "feeding",  # a host has the input of all, and is slow
    "bandwidth",  # exchanges take long, on all devices
    "skew",  # in each step another host is late
    "idle",  # a device takes no part
    "drift",  # a host's clock runs fast
    "offset",  # without collectives, a host falls behind
]
SICKNESSES: tuple[Sickness, ...] = get_args(Sickness)

Times = np.ndarray[Any, np.dtype[np.float64]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

#: The steps before the first that a profile has; they leave room for profiles to start apart.
LEAD = 14
_FIRST = 100  # number of the first simulated step: the program has run for a while
_APART_US = 200_000.0  # profiles start within

_FETCH, _PYTHON, _UPLOAD, _CALL = 3_000.0, 700.0, 250.0, 800.0  # of the host, in a step
_WORK, _EXCHANGE = 17_000.0, 800.0  # of a device in a step, of a collective
_AFTER, _READ, _BETWEEN = 5.0, 60.0, 20.0  # device's end to next begin, to host, step to step
_SLOW_HOST = 32_000.0  # for what takes longer than a step
_COMPILING = 45_000.0
_FAST_CLOCK = 2e-4
#: How much longer all devices of a host compute.
_SLOWER: dict[str, float] = {"compute": 1.3, "graph": 1.15, "offset": 1.1}


class Compute(NamedTuple):
    """A part of a device's step that is its own."""

    share: float


class Exchange(NamedTuple):
    """A collective of all devices, by the name of its HLO instruction."""

    op: str


Part = Compute | Exchange


@dataclass(frozen=True)
class Pod:
    """A job of many processes, one on each host.

    Attributes:
        steps: whole steps that each host's profile has.
        ops: operations that a device runs in a step, besides collectives.
        host, device: what the sickness strikes, if it strikes one.
        struck: how many hosts compute longer, from that one on.
        jitter: standard deviation of durations, as a share.
        annotated: whether the program marks its steps, with its own numbers.
    """

    hosts: int = 4
    devices: int = 4
    kind: Literal["TPU", "GPU"] = "TPU"
    steps: int = 24
    seed: int = 0
    sickness: Sickness | None = None
    host: int = 1
    device: int = 2
    struck: int = 1
    ops: int = 12
    jitter: float = 0.01
    annotated: bool = True

    @property
    def program(self) -> tuple[Part, ...]:
        """What a device does in a step, in order."""
        if self.sickness == "offset":
            return (Compute(1.0),)
        usual = (Compute(0.45), Exchange("all-reduce.1"), Compute(0.55), Exchange("all-reduce.2"))
        if self.sickness == "feeding":
            return (Exchange("collective-broadcast.1"), *usual)
        return usual


class Span(NamedTuple):
    """Begin and end of the same thing everywhere: arrays (steps, hosts) or (…, devices)."""

    begin: Times
    end: Times


@dataclass(frozen=True)
class Host:
    """The host's part of each step: arrays (steps, hosts). What follows begins where this ends."""

    begin: Times
    fetched: Times
    prepared: Times
    sent: Times
    compiled: Times
    called: Times
    end: Times


@dataclass(frozen=True)
class Clock:
    """How a host's clock differs, and when its profile began and ended in true time: (hosts,)."""

    ahead: Times
    drift: Times
    start: Times
    stop: Times

    def shown(self, host: int, instants: Times) -> Times:
        """What the host's clock shows at true instants."""
        return np.asarray(self.ahead[host] + instants * (1 + self.drift[host]))


@dataclass(frozen=True)
class Run:
    """What happened.

    Attributes:
        number: the program's number of each step, (steps,).
        launched: when the host had handed the step to each device, (steps, hosts, devices).
        module: which version of its graph each host ran: 0, or another.
        parts: each part of the program with its spans, (steps, hosts, devices).
        working: which devices take part, (hosts, devices).
    """

    pod: Pod
    number: Numbers
    host: Host
    launched: Times
    module: Numbers
    parts: list[tuple[Part, Span]]
    working: Flags
    clock: Clock

    def recorded(self, host: int, span: Span) -> Flags:
        """Which spans of a host its profile has: those that began and ended within."""
        within = span.begin >= self.clock.start[host]
        return np.asarray(within & (span.end <= self.clock.stop[host]))

    def shown(self, host: int, span: Span) -> Span:
        """Spans by the host's clock, from the start of its profile."""
        start = self.clock.shown(host, self.clock.start[host])
        begin, end = (self.clock.shown(host, each) - start for each in span)
        return Span(begin, end)

    def collectives(self) -> Iterator[tuple[str, Span]]:
        """The names and spans of collectives, in order."""
        return ((part.op, span) for part, span in self.parts if isinstance(part, Exchange))


@dataclass
class _Durations:
    """How long everything takes: (steps, hosts), of devices (steps, hosts, devices)."""

    fetch: Times
    python: Times
    compile: Times
    work: Times
    exchange: float = _EXCHANGE
    working: Flags = field(default_factory=lambda: np.ones((1, 1), bool))


def simulate(pod: Pod) -> Run:
    """Run a pod; the same each time for the same pod."""
    random = np.random.default_rng(pod.seed)
    count = LEAD + pod.steps + 3
    durations = _durations(pod, count, random)
    return _run(pod, durations, count, random)


def _durations(pod: Pod, count: int, random: np.random.Generator) -> _Durations:
    def varied(usual: float, *shape: int) -> Times:
        return usual * np.maximum(random.normal(1, pod.jitter, shape), 0.5)

    hosts = count, pod.hosts
    lasting = _Durations(
        fetch=varied(_FETCH, *hosts),
        python=varied(_PYTHON, *hosts),
        compile=np.zeros(hosts),
        work=varied(_WORK, *hosts, pod.devices),
        working=np.ones((pod.hosts, pod.devices), bool),
    )
    _strike(pod, lasting, random)
    return lasting


def throttled(steps: Numbers) -> Flags:
    """In which steps a throttled device is slow, counted from the first that is simulated."""
    return np.asarray(steps % 12 >= 7)


def compiles(steps: Numbers) -> Flags:
    """In which steps a host compiles."""
    return np.asarray(steps % 6 == 3)


def _strike(pod: Pod, lasting: _Durations, random: np.random.Generator) -> None:
    """Change the durations as the pod's sickness does."""
    steps, host, device = np.arange(len(lasting.fetch)), pod.host, pod.device
    if pod.sickness in _SLOWER:
        lasting.work[:, host : host + pod.struck] *= _SLOWER[pod.sickness]
    match pod.sickness:
        case "input":
            lasting.fetch[:, host] *= _SLOW_HOST / _FETCH
        case "python":
            lasting.python[:, host] *= _SLOW_HOST / _PYTHON
        case "device":
            lasting.work[:, host, device] *= 1.3
        case "throttled":
            lasting.work[throttled(steps), host, device] *= 1.5
        case "compilation":
            lasting.compile[compiles(steps), host] = _COMPILING
        case "feeding":
            lasting.fetch[:] = 20.0
            lasting.fetch[:, host] = random.normal(_SLOW_HOST, 0.03 * _SLOW_HOST, len(steps))
        case "bandwidth" | "skew" | "idle":
            _strike_all(pod, lasting, random)


def _strike_all(pod: Pod, lasting: _Durations, random: np.random.Generator) -> None:
    match pod.sickness:
        case "bandwidth":
            lasting.work *= 0.5
            lasting.exchange = 5_500.0
        case "skew":
            steps = np.arange(len(lasting.fetch))
            lasting.work[steps, random.integers(pod.hosts, size=len(steps))] += 9_000.0
        case _:
            lasting.working[pod.host, pod.device] = False


def _run(pod: Pod, lasting: _Durations, count: int, random: np.random.Generator) -> Run:
    """Go through the steps in order of time."""
    host: dict[str, list[Times]] = {name: [] for name in Host.__annotations__}
    launched, parts = [], [([], []) for _ in pod.program]  # type: ignore[var-annotated]
    ready = random.uniform(0, 300, pod.hosts)  # when a host can begin its next step
    free = np.zeros((pod.hosts, pod.devices))  # when a device can
    for step in range(count):
        fetched = ready + lasting.fetch[step]
        prepared = fetched + lasting.python[step]
        sent = prepared + _UPLOAD
        compiled = sent + lasting.compile[step]
        called = compiled + _CALL * random.uniform(0.9, 1.1, pod.hosts)
        launch = called[:, None] - 30.0 * np.arange(pod.devices, 0, -1)
        end = np.maximum(called + 2, free.max(axis=1, where=lasting.working, initial=0)) + _READ
        moments = (ready, fetched, prepared, sent, compiled, called, end)
        for name, moment in zip(host, moments, strict=True):
            host[name].append(moment)
        launched.append(launch)
        at = np.maximum(launch, free + _AFTER)
        for part, (begins, ends) in zip(pod.program, parts, strict=True):
            begins.append(at)
            if isinstance(part, Compute):
                at = at + part.share * lasting.work[step]
            else:
                arrived = at.max(where=lasting.working, initial=0)
                at = arrived + lasting.exchange + random.uniform(0, 4, at.shape)
            ends.append(at)
            at = at + 1.0
        free = at
        ready = end + _BETWEEN
    done = Host(**{name: np.array(moments) for name, moments in host.items()})
    spans = [Span(np.array(begins), np.array(ends)) for begins, ends in parts]
    return Run(
        pod,
        _FIRST + np.arange(count),
        done,
        np.array(launched),
        _modules(pod, count),
        list(zip(pod.program, spans, strict=True)),
        lasting.working,
        _clock(pod, done, random),
    )


def _modules(pod: Pod, count: int) -> Numbers:
    """The version of the graph that each host runs in each step."""
    version = np.zeros((count, pod.hosts), np.int64)
    if pod.sickness == "graph":
        version[:, pod.host] = 1
    elif pod.sickness == "compilation":
        version[:, pod.host] = np.cumsum(compiles(np.arange(count)))
    return version


def _clock(pod: Pod, host: Host, random: np.random.Generator) -> Clock:
    """Profiles begin at different instants and have the same number of whole steps."""
    ahead = random.normal(0, 3_000, pod.hosts)
    drift = random.normal(0, 2e-6, pod.hosts)
    if pod.sickness == "drift":
        drift[pod.host] = _FAST_CLOCK
    base = host.begin[2].max()
    turn = random.permutation(pod.hosts) + random.uniform(0, 1, pod.hosts)
    start = base + turn / pod.hosts * _APART_US
    first = (host.begin < start).sum(axis=0)
    last = first + pod.steps - 1
    which = np.arange(pod.hosts)
    gap = host.end[last + 1, which] - host.begin[last + 1, which]
    return Clock(ahead, drift, start, host.end[last, which] + 0.3 * gap)
