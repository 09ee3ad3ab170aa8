"""How busy the devices were, in a line or two."""

from __future__ import annotations

from pathlib import PurePath

from xladoctor.diagnosis.interface import DeviceOp, DeviceUse
from xladoctor.quantities import percent

_WORDS = {
    "compile": "compiling", "wait": "waiting", "upload": "uploads", "input": "input",
    "save": "saving", "dispatch": "dispatch", "tracing": "tracing", "other": "Python",
}  # fmt: skip
_TOP = 3
_WORTH_NAMING = 0.01


def describe(devices: list[DeviceUse]) -> list[str]:
    """The least busy device, what the host did while it was idle, and what it ran longest."""
    if not devices:
        return []
    least = min(devices, key=lambda device: device.busy)
    whose = "device" if len(devices) == 1 else f"least busy of {len(devices)} devices:"
    steps = f"{least.steps} step{'s' * (least.steps != 1)}"
    text = f"{whose} busy {percent(least.busy)} of {steps} in the timeline"
    reasons = sorted(least.idle.items(), key=lambda item: -item[1])
    named = [f"{doing(reason)} {percent(share)}" for reason, share in reasons
             if share >= _WORTH_NAMING]  # fmt: skip
    if named:
        text += f"; idle during {', '.join(named)}"
    ops = [f"{_operation(op, least.top_ops)} {percent(op.share)}" for op in least.top_ops[:_TOP]
           if op.share >= _WORTH_NAMING]  # fmt: skip
    scopes = [f"{scope.scope} {percent(scope.share)}" for scope in least.top_scopes[:_TOP]
              if scope.share >= _WORTH_NAMING]  # fmt: skip
    longest = {"longest operations": ops, "longest named scopes": scopes}
    told = [f"{what} (share of the device's time): {', '.join(named)}"
            for what, named in longest.items() if named]  # fmt: skip
    return [text, *told]


def _operation(op: DeviceOp, beside: list[DeviceOp]) -> str:
    """As ``mm at train.py:40``; of those whose line is not known, told from others of the name."""
    if op.file is not None:
        return f"{op.op} at {PurePath(op.file).name}:{op.line}"
    alike = any(other.op == op.op for other in beside if other is not op)
    return f"{op.op} elsewhere" if alike else op.op


def doing(reason: str) -> str:
    """What the host did while a device was idle, in a word."""
    return _WORDS.get(reason, reason)
