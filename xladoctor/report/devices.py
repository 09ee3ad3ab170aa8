"""Describes how busy the devices were, in a line or two."""

from __future__ import annotations

import re

from xladoctor.diagnosis.device_use import DeviceOp, DeviceUse
from xladoctor.facts.parts import IDLE_FOR
from xladoctor.quantities import binary_size, clipped, counted, percent
from xladoctor.repository import spot

_TOP = 3
_MOST_OF_NAME = 60
_WITHIN = " > "  # between the names of scopes
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::")
#: The return type before the name of a template.
_RETURNED = re.compile(r"^(?:typename )?std::enable_if<.*?>::type ")
_QUALIFIER = re.compile(r"^(?:void )?(?:\w+::)*")
#: Uninformative wrapper templates: CUTLASS's.
_HOLDER = re.compile(r"(?:void )?cutlass::(?:Kernel\d?|device_kernel)<(?:\w+::)*(\w+)")
_FUNCTOR = re.compile(
    r"\b((?!Binary|Unary|AUnary|BUnary)\w*[Ff]unctor\w*|\w+_kernel_cuda|\w+Ops)\b"
)
_WORTH_NAMING = 0.01
_FEW = 10  # a smaller mean is shown with a decimal


def describe(devices: list[DeviceUse]) -> list[str]:
    """The least busy recorded device, what the host did while it was idle, and its longest
    operations.
    """
    if not devices:
        return []
    recorded = [device for device in devices if device.busy] or devices
    least = min(recorded, key=lambda device: device.busy)
    whose = "device" if len(recorded) == 1 else f"least busy of {len(recorded)} devices:"
    part = f"of {least.steps} step{'s' * (least.steps != 1)} in the timeline"
    if not least.steps:
        part = "from its first operation in the timeline to its last"
    if (without := len(devices) - len(recorded)) > 0:
        part += f" (without {counted(without, 'device')} that ran nothing in it)"
    text = f"{whose} busy {percent(least.busy)} {part}"
    reasons = sorted(least.idle.items(), key=lambda item: -item[1])
    named = [
        f"{doing(reason)} {percent(share)}" for reason, share in reasons if share >= _WORTH_NAMING
    ]
    if named:
        text += f"; idle during {', '.join(named)}"
    ops = [
        f"{_operation(op, least.top_ops)} {percent(op.share)}"
        for op in least.top_ops[:_TOP]
        if op.share >= _WORTH_NAMING
    ]
    scopes = [
        f"{_inner(scope.scope)} {percent(scope.share)}"
        for scope in least.top_scopes[:_TOP]
        if scope.share >= _WORTH_NAMING
    ]
    longest = {"longest operations": ops, "longest named scopes": scopes}
    notes = [
        f"{what} (share of the device's time): {', '.join(named)}"
        for what, named in longest.items()
        if named
    ]
    return [text, *notes, *_memory(recorded), *launched(least)]


def _memory(devices: list[DeviceUse]) -> list[str]:
    """The most memory of a device that was in use; empty if not recorded."""
    known = [
        (device.peak_bytes / device.memory_bytes, device.peak_bytes, device.memory_bytes)
        for device in devices
        if device.peak_bytes and device.memory_bytes
    ]
    if not known:
        return []
    _, peak, whole = max(known)
    return [f"device memory: at most {binary_size(peak)} of {binary_size(whole)} in use"]


def launched(device: DeviceUse) -> list[str]:
    """How many kernels a device ran, and whether in CUDA graphs; empty if not recorded."""
    kernels = device.kernels
    if kernels is None:
        return []
    each = " a step" if device.steps else ""
    count, inside, lost, graphs, made = (
        _mean(number, device.steps)
        for number in (
            kernels.count,
            kernels.in_graphs,
            kernels.unknown,
            kernels.graph_launches,
            kernels.graphs_made,
        )
    )
    recorded = f"{graphs} CUDA graph{'s' * (graphs != '1')}"
    if not kernels.graph_launches:  # only the kernels are recorded
        recorded = "CUDA graphs"
    how = {
        "used": f", all in {recorded}",
        "partly used": f", {inside} of them in {recorded}, the others launched one by one",
        "not used": ", launched one by one; no CUDA graphs",
        "recorded": ", launched one by one",
        "recorded again": f", {inside} of them in {recorded}",
        None: "; whether in CUDA graphs is not known, as the calls that launch them are not in the"
        " timeline",
    }[kernels.cuda_graphs]
    if kernels.graphs_made:
        how += f"; {made} graph{'s' * (made != '1')} recorded{each}"
    if kernels.cuda_graphs and kernels.unknown:
        how += f"; {lost} without a launch in the timeline"
    return [f"kernels{each}: {count}{how}"]


def _mean(count: int, steps: int) -> str:
    mean = count / max(steps, 1)
    return f"{mean:.1f}" if mean < _FEW and mean % 1 else f"{mean:,.0f}"


def _operation(op: DeviceOp, beside: list[DeviceOp]) -> str:
    """Such as ``mm at train.py:40``; without a line, distinguished from others with its name."""
    name = _kernel(op.op)
    if op.file is not None:
        return f"{name} at {spot(op.file, op.line or 0)}"
    alike = any(other.op == op.op for other in beside if other is not op)
    return f"{name} elsewhere" if alike else name


def _kernel(name: str) -> str:
    """A short name for a kernel from a C++ template, such as ``elementwise_kernel<MulFunctor>``.

    Other names, and short ones, stay as they are.
    """
    if len(name) <= _MOST_OF_NAME:
        return name
    bare = _RETURNED.sub("", _ANONYMOUS.sub("", name))
    if held := _HOLDER.match(bare):
        bare = held[1]
    base = _QUALIFIER.sub("", re.split(r"[<(]", bare, maxsplit=1)[0])
    functor = _FUNCTOR.search(bare)
    short = f"{base}<{functor[1]}>" if functor else base
    return clipped(short, _MOST_OF_NAME)


def _inner(scope: str) -> str:
    """A scope without its outermost names, if it is long."""
    if len(scope) <= _MOST_OF_NAME:
        return scope
    names = scope.split(_WITHIN)
    while len(names) > 1 and len(_WITHIN.join(names)) > _MOST_OF_NAME:
        names.pop(0)
    return f"…{_WITHIN}{clipped(_WITHIN.join(names), _MOST_OF_NAME)}"


def doing(reason: str) -> str:
    """What the host did while a device was idle, in a word."""
    return IDLE_FOR.get(reason, reason)
