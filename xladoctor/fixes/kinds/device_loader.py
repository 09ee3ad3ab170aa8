"""Wraps the loader in MpDeviceLoader, which sends batches ahead and ends each step itself."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from xladoctor.fixes.barriers import SYNC, has_barrier, has_device_loader, random_numbers
from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import effects
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.source import Source

_MODULE = "torch_xla.distributed.parallel_loader"
_LOADER = "MpDeviceLoader"
_AHEAD = "the loader makes batches ahead, in a thread, including its random numbers and output"


def fix(case: Case) -> Change:
    """For a loop that begins by sending all of its batch to one device, and ends with a barrier."""
    if case.device == "CPU":
        raise Refused(
            "on the CPU, the thread that sends batches ahead takes the cores of the step",
            "on a TPU, wrap the loader: MpDeviceLoader(loader, device)",
        )
    source = case.source
    sends = source.statement(case.line)
    loop = source.loop_around(sends)
    barrier = loop.body.body[-1]
    if not isinstance(loop, cst.For) or not isinstance(loop.iter, cst.Name):
        raise Refused("the loop is not over a loader in a variable")
    if loop.orelse or any(source.all((cst.Break, cst.Return, cst.Yield), loop.body)):
        raise Refused("the loop may end before its loader, whose thread would continue")
    if has_device_loader(source, loop):
        raise Refused("the loader already is an MpDeviceLoader")
    if loop.body.body[0] is not sends:
        raise Refused("the loop does not start by sending the batch")
    call = _barrier(source, barrier)
    if has_barrier(source, loop, but=call):
        raise Refused("the loop has another barrier")
    if changed := effects(source, loop.body).changes & _held(source, loop.iter):
        raise Refused(f"the loop changes `{min(changed)}`, which the loader reads ahead")
    device = _device(source, loop, sends)
    name, imported = _loader(source)
    return Change(
        "let MpDeviceLoader send the batches ahead and end each step",
        (
            source.replace(loop.iter, f"{name}({source.code(loop.iter)}, {device})"),
            source.delete(sends),
            source.delete(barrier),
            *imported,
        ),
        behaviour="; ".join(filter(None, (_AHEAD, random_numbers(source)))),
    )


def _held(source: Source, loader: cst.Name) -> set[str]:
    """The loader's variable, and those that it may have its batches of."""
    held, names = {loader.value}, [loader]
    while names:
        name = names.pop()
        for bound in source.bindings(name):
            assign = next((a for a in source.around(bound) if isinstance(a, cst.Assign)), None)
            parts = source.all(cst.Name, assign.value) if assign is not None else []
            for part in parts:
                if part.value not in held:
                    held.add(part.value)
                    names.append(part)
    return held


def _barrier(source: Source, statement: cst.CSTNode) -> cst.Call:
    """The barrier that a loop ends with."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        call = source.only_call(statement)
        if call is not None and not call.args and source.qualified(call.func) & SYNC:
            return call
    raise Refused("the loop does not end with a barrier")


def _device(source: Source, loop: cst.For, sends: cst.SimpleStatementLine) -> str:
    """The device to which a statement sends all that the loop takes from its loader."""
    match sends.body:
        case [cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]:
            names, values = _parts(target), _parts(value)
        case _:
            names, values = [], []
    taken = [source.code(each) for each in _parts(loop.target)]
    devices = [_sent(source, each, name) for each, name in zip(values, taken, strict=False)]
    same = len(set(devices)) == 1 and len(devices) == len(values) == len(taken)
    if not same or devices[0] is None or [source.code(each) for each in names] != taken:
        raise Refused("its line does not send just the whole batch to one device")
    return devices[0]


def _parts(node: cst.BaseExpression | cst.BaseAssignTargetExpression) -> Sequence[cst.CSTNode]:
    return [each.value for each in node.elements] if isinstance(node, cst.Tuple) else [node]


def _sent(source: Source, value: cst.CSTNode, name: str) -> str | None:
    """The device of ``name.to(device)``; None for anything else."""
    match value:
        case cst.Call(
            func=cst.Attribute(value=cst.Name(sent), attr=cst.Name("to")),
            args=[cst.Arg(value=cst.Name() as device, keyword=None), *others],
        ) if sent == name and all(
            each.keyword and each.keyword.value == "non_blocking" for each in others
        ):
            return source.code(device)
    return None


def _loader(source: Source) -> tuple[str, list[Edit]]:
    """How the file names MpDeviceLoader, and its import if there is none."""
    for imported in source.all(cst.ImportFrom, source.module):
        if imported.module is None or source.code(imported.module) != _MODULE:
            continue
        if not isinstance(imported.names, cst.ImportStar):
            for alias in imported.names:
                if alias.evaluated_name == _LOADER:
                    return alias.evaluated_alias or _LOADER, []
    if source.names_used(source.module, _LOADER):
        raise Refused(f"`{_LOADER}` is a name of the program")
    return _LOADER, [source.insert_import(f"from {_MODULE} import {_LOADER}")]
