"""Gives a PyTorch loader workers, which make batches ahead of time."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import Effects, effects
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.loaders import data_set, is_random, loader_in, methods, refuse_changes
from xladoctor.fixes.source import Source, argument

_POSITION = 5  # of num_workers among the arguments
_WORKERS = 8
#: A loader draws a number at the beginning of each pass, for its workers, unless it has them still.
_LATER_PASSES = "later passes over the loader start with different random numbers"
#: Names of what must not be used in a process that was forked.
_DEVICE = frozenset(("torch_xla", "xm", "xr", "cuda", "device"))


def fix(case: Case) -> Change:
    """For the loader in the finding's line, if the file shows that its data set is no iterable one
    and does not change.
    """
    source = case.source
    if case.frontend not in ("torch_xla", "torch"):
        raise Refused("workers are forked, which the framework's threads do not survive")
    call = loader_in(source, case.line)
    if len(call.args) > _POSITION and not call.args[_POSITION].keyword:
        raise Refused("`num_workers` is already given")
    class_ = data_set(source, call)
    if class_ is not None:
        _refuse_class(source, class_)
        _refuse_settings(source, call, class_)
    workers = case.cause.get("most") or _WORKERS
    more = "" if argument(call, "persistent_workers") else ", persistent_workers=True"
    behaviours = [_ahead(source, class_, workers)]
    if more and not _is_passed_once(source, call):
        behaviours.append(_LATER_PASSES)
    relies_on = ["the data set works in a forked process, as with files that it opens there"]
    if class_ is not None and is_random(source, class_):
        behaviours[0] = "each worker draws the data set's random numbers from its own generator"
    else:
        relies_on.append("making samples draws no random numbers, as workers would draw their own")
    return Change(
        f"let {workers} workers prepare the batches",
        (source.add_argument(call, f"num_workers={workers}{more}"),),
        behaviour="; ".join(filter(None, behaviours)),
        relies_on=tuple(relies_on),
    )


def _is_passed_once(source: Source, call: cst.Call) -> bool:
    """Whether the function that makes a loader has one loop over it, which is in no other loop."""
    if _loop_over(source, call) is not None:
        return True
    match source.parent(call):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]) as made:
            pass
        case _:
            return False
    uses = source.names_used(source.module, name)
    loops = [
        _loop_over(source, use)
        for use in uses
        if not isinstance(source.parent(use), cst.AssignTarget)
    ]
    if len(loops) != 1 or loops[0] is None or source.loops_around(loops[0]):
        return False
    return source.owner(loops[0]) is source.owner(made)


def _loop_over(source: Source, loader: cst.Name | cst.Call) -> cst.For | None:
    """The loop that goes over a loader, as it is or enumerated."""
    below: cst.CSTNode = loader
    for above in source.around(loader):
        if isinstance(above, cst.For):
            return above if below is above.iter else None
        below = above
    return None


def _ahead(source: Source, class_: cst.ClassDef | None, workers: int) -> str:
    """What others see of samples that are made elsewhere; empty if nothing."""
    found = effects(source, class_) if class_ is not None else Effects()
    if not found.ordered:
        return ""
    return f"{workers} processes make samples ahead, and have their effects on {min(found.ordered)}"


def _refuse_class(source: Source, class_: cst.ClassDef) -> None:
    own = methods(class_)
    if "__iter__" in own or not {"__getitem__", "__getitems__"} & set(own):
        raise Refused("its data set is not a map from index to sample")
    if any(source.code(base.value).endswith("IterableDataset") for base in class_.bases):
        raise Refused("workers would each give all samples of an IterableDataset")
    for name in ("__getitem__", "__getitems__"):
        body = own.get(name)
        if body is None:
            continue
        refuse_changes(source, class_, body)
        kept = effects(source, body.body).changes - {"self"} - source.names_bound(body.body)
        if kept:
            raise Refused(
                f"its data set changes `{min(kept)}`, which each worker would do separately"
            )
        if any(each.value in _DEVICE for each in source.all(cst.Name, body)):
            raise Refused("its data set uses the device, which workers must not")
        if any(source.all((cst.Global, cst.Nonlocal, cst.AugAssign), body)) and _keeps(
            source, body
        ):
            raise Refused("its data set counts something, which each worker would do separately")


def _refuse_settings(source: Source, call: cst.Call, class_: cst.ClassDef) -> None:
    """Refuse a data set of which the program sets an attribute, which copies of it do not see."""
    given = argument(call, "dataset") or call.args[0].value
    kept = {
        each.target.attr.value
        for each in source.all(cst.AssignTarget, class_)
        if isinstance(each.target, cst.Attribute)
        and (method := source.function_around(each)) is not None
        and method.name.value != "__init__"
    }
    for each in source.all(cst.Attribute):
        line = source.begin(each).line
        if each.attr.value in kept and class_ not in source.around(each):
            raise Refused(f"line {line} uses what its data set keeps, which workers do not send")
        if each.attr.value == "dataset" and source.code(each.value) != "self":
            raise Refused(
                f"line {line} uses the data set of the loader, which workers have copies of"
            )
        setter = methods(class_).get(each.attr.value)
        is_own = source.code(each.value) == source.code(given)
        if setter is not None and is_own and "self" in effects(source, setter.body).changes:
            raise Refused(f"its data set is changed in line {line}, which workers do not see")
    targets = [each.target for each in source.all(cst.AssignTarget)]
    targets += [each.target for each in source.all(cst.AugAssign)]
    for assign in source.all(cst.Assign):
        if source.code(assign.value) == source.code(given):
            raise Refused(f"its data set has another name in line {source.begin(assign).line}")
    for target in targets:
        if isinstance(target, cst.Attribute) and source.code(target.value) == source.code(given):
            line = source.begin(target).line
            raise Refused(f"its data set is changed in line {line}, which workers do not see")


def _keeps(source: Source, body: cst.CSTNode) -> bool:
    """Whether a method changes something that outlives its call."""
    if any(source.all((cst.Global, cst.Nonlocal), body)):
        return True
    return any(
        isinstance(each.target, (cst.Attribute, cst.Subscript))
        for each in source.all(cst.AugAssign, body)
    )
