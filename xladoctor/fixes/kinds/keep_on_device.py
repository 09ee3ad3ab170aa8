"""Keeps values that a loop collects on the device until the loop is over."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.carried import Carried, carried, refuse_reused
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.reads import Read, the_read
from xladoctor.fixes.step_end import above_barrier, refuse_barrier_elsewhere
from xladoctor.fixes.values import ends

_MEMORY = "the values of all iterations are in the device's memory until the loop is over"


def fix(case: Case) -> Change:
    """For ``losses.append(loss.item())``, or ``total += loss.item()``, that the finding names."""
    if case.frontend not in ("torch_xla", "jax"):
        raise Refused(f"lists of {case.frontend} programs are not rewritten")
    statement = case.source.statement(case.line)
    read = the_read(case.source, statement)
    match statement.body[0]:
        case cst.Expr(
            value=cst.Call(
                func=cst.Attribute(value=cst.Name(name), attr=cst.Name("append")),
                args=[cst.Arg(value=value, star="")],
            )
        ) if value is read.call:
            variable = carried(case.source, statement, name)
            edits = _list_of_tensors(case, read, variable)
        case cst.AugAssign(target=cst.Name(name), operator=cst.AddAssign(), value=value) if (
            value is read.call
        ):
            variable = carried(case.source, statement, name)
            edits = _sum_of_list(case, read, variable)
        case _:
            raise Refused("it is not of the form `losses.append(loss.item())`")
    return Change(
        f"keep the values of `{name}` on the device, and read them below the loop",
        edits,
        behaviour=_MEMORY,
    )


def _list_of_tensors(case: Case, read: Read, variable: Carried) -> tuple[Edit, ...]:
    source, name = case.source, variable.name
    match variable.start:
        case cst.List(elements=[]):
            pass
        case cst.Call(func=func, args=[]) if source.qualified(func) == {"builtins.list"}:
            pass
        case _:
            raise Refused(f"`{name}` does not start as an empty list")
    variable.refuse_uses_inside()
    value, fetched, imported = _fetched(case, read, name)
    edits = _collected(case, read, variable, name)
    if not variable.after and source.function_around(variable.loop) is not None:
        return edits
    numbers = f"{read.read_later(value)} for {value} in {fetched}"  # other modules may look at them
    return (*edits, source.insert_after(variable.loop, f"{name} = [{numbers}]"), *imported)


def _sum_of_list(case: Case, read: Read, variable: Carried) -> tuple[Edit, ...]:
    """A list in place of the sum, which is computed of it below the loop."""
    source = case.source
    variable.refuse_uses_inside()
    if not ends(source, variable.loop):
        raise Refused("how many values the loop has is not known")
    taken = {name.value for name in source.all(cst.Name)}
    names = (f"{variable.name}_values", f"{variable.name}_on_device")
    name = next((each for each in names if each not in taken), "")
    if not name:
        raise Refused("the names for a list are taken")
    value, fetched, imported = _fetched(case, read, name)
    step = source.module.default_indent
    return (
        source.insert_before(variable.loop, f"{name} = []"),
        *_collected(case, read, variable, name),
        source.insert_after(
            variable.loop,
            f"for {value} in {fetched}:",
            f"{step}{variable.name} += {read.read_later(value)}",
        ),
        *imported,
    )


def _collected(case: Case, read: Read, variable: Carried, name: str) -> tuple[Edit, ...]:
    """What the loop does in place of the statement."""
    kept = read.kept if case.frontend == "torch_xla" else read.on_device
    text = f"{name}.append({kept})"
    refuse_reused(case.source, variable.loop, read.tensor)
    if isinstance(read.tensor, cst.Name):  # nothing is computed: it may be below the barrier
        return (case.source.replace(variable.statement.body[0], text),)
    if case.frontend == "torch_xla":
        refuse_barrier_elsewhere(case)
    return above_barrier(case, variable.statement, text, own=(variable.name,))


def _fetched(case: Case, read: Read, name: str) -> tuple[str, str, tuple[Edit, ...]]:
    """A variable for one value of a list, the values as they are fetched, and imports for that."""
    taken = {each.value for each in case.source.all(cst.Name)}
    variable = next(each for each in ("value", "each", f"{name}_value") if each not in taken)
    if case.frontend != "jax":
        return variable, name, ()
    module, imported = case.source.import_of("jax", read.call)
    return variable, f"{module}.device_get({name})", imported
