"""Calls ``jax.jit(…)`` once, before the loop or in the module, instead of in each iteration."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import effects
from xladoctor.fixes.interface import Change, Edit, Position, Refused, Unsuited
from xladoctor.fixes.names import (
    compiles,
    fresh,
    function,
    is_of_module,
    read_from_around,
    top_statement,
    varies,
    varying_below,
)
from xladoctor.fixes.parameters import more_parameters, passing, place_of, refuse_signature
from xladoctor.fixes.source import Source

_COMPILERS = frozenset(("jax.jit", "torch.compile"))
#: What may be done with an argument while JAX traces.
_OF_ARRAYS = frozenset(
    ("T", "at", "astype", "dtype", "max", "mean", "min", "ndim", "reshape", "shape", "size", "sum")
)


@dataclass(frozen=True)
class _Made:
    """A compiled function, where it is made.

    Attributes:
        node: what makes it: a call of the compiler, or a decorated function.
        of: what is compiled.
        name: the variable that holds it; None if it is called at once.
    """

    node: cst.Call | cst.FunctionDef
    of: cst.BaseExpression | cst.FunctionDef
    name: str | None


def fix(case: Case) -> Change:
    """For the line that makes the function."""
    source = case.source
    made = _made(case)
    loops = source.loops_around(made.node)
    within = loops[-1] if loops else source.function_around(made.node)
    if within is None:
        raise Refused("it is not in a loop of this file")
    statement = _statement(source, made, within)
    _refuse_effects(source, made)
    arguments = _arguments(source, made, within)
    new = f"compiled_{made.of.value}" if isinstance(made.of, cst.Name) else "compiled"
    name = made.name or fresh(source, new)
    if not loops:
        _refuse_method(source, within)
        name = name if _is_free(source, name) else fresh(source, f"{name}_compiled")
    text = _text(source, made, name, arguments)
    edits = [_inserted(source, made, within, text)]
    edits.append(source.cut(statement) if made.name else source.replace(made.node, name))
    edits += _calls(source, made, within, name, arguments)
    return Change(
        f"compile once, {'before the loop' if loops else 'in the module'}",
        tuple(edits),
        relies_on=(*_relied_on(source, made, arguments),),
    )


def _refuse_effects(source: Source, made: _Made) -> None:
    """Refuse a function that does more than compute while it is traced, which is then done once."""
    of = function(source, made.of.value) if isinstance(made.of, cst.Name) else made.of
    if not isinstance(of, (cst.FunctionDef, cst.Lambda)):
        return
    found = effects(source, of.body)
    for effect in sorted(found.ordered - {"gradients"}):
        raise Refused(f"what it compiles has an effect on {effect}")
    outer = found.changes & set(read_from_around(source, of))
    if outer:
        raise Refused(f"what it compiles changes `{min(outer)}`")


def _relied_on(source: Source, made: _Made, arguments: Sequence[str]) -> Iterator[str]:
    if arguments:
        yield f"{', '.join(arguments)}: arrays or numbers, which become arguments"
    kept = [
        name
        for name, uses in read_from_around(source, made.node).items()
        if name not in (*arguments, made.name) and not is_of_module(source, uses[0])
    ]
    if kept:
        yield f"{', '.join(kept)}: not changed in place meanwhile"


# -- what is made, and where -----------------------------------------------------------------


def _made(case: Case) -> _Made:
    """The compiled function that the finding's line makes."""
    if case.cause.get("argument"):
        raise Unsuited(f"it is not clear where {case.cause['argument']} is created")
    source, lines = case.source, {place.line for place in case.finding.locations}
    calls = [
        call
        for call in source.calls_of(_COMPILERS, source.module)
        if source.begin(call).line in lines and not isinstance(source.parent(call), cst.Decorator)
    ]
    if len(calls) == 1:
        return _by_call(source, calls[0])
    defined = [
        each
        for each in source.all(cst.FunctionDef)
        if len(each.decorators) == 1
        and (source.loops_around(each) or source.function_around(each))
        and compiles(source, each.decorators[0].decorator, _COMPILERS)
        and lines & set(range(source.first_line(each), source.begin(each).line + 1))
    ]
    if calls or len(defined) != 1:
        raise Unsuited("the line does not make exactly one compiled function")
    return _Made(defined[0], defined[0], defined[0].name.value)


def _by_call(source: Source, call: cst.Call) -> _Made:
    if not call.args or call.args[0].keyword or call.args[0].star:
        raise Refused("what is compiled is not its first argument")
    of, above = call.args[0].value, source.parent(call)
    if isinstance(above, cst.Call) and above.func is call:
        return _Made(call, of, None)
    if not isinstance(above, cst.Assign):
        raise Refused("the compiled function is not assigned to a variable")
    target = above.targets[0].target
    if len(above.targets) != 1 or not isinstance(target, cst.Name):
        raise Refused("the compiled function is not assigned to one variable")
    return _Made(call, of, target.value)


def _statement(source: Source, made: _Made, within: cst.CSTNode) -> cst.CSTNode:
    """The statement that makes it, which must be one of the loop's or function's body itself."""
    if isinstance(made.node, cst.FunctionDef):
        statement: cst.CSTNode = made.node
    else:
        statement = source.statement(source.begin(made.node).line)
    for above in source.around(statement):
        if above is within:
            return statement
        if not isinstance(above, (cst.IndentedBlock, cst.For, cst.While)) and made.name:
            raise Refused("it is made only under a condition or within another block")
        if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
            break
    if made.name:
        raise Refused("it is made within another function")
    return statement


def _refuse_method(source: Source, within: cst.CSTNode) -> None:
    if top_statement(source, within) is not within:
        raise Refused(
            "it is made in a method or an inner function",
            "make it once: self.step = jax.jit(…) in __init__, or a function of the module",
        )


def _is_free(source: Source, name: str) -> bool:
    """Whether the module has no variable of this name."""
    return all(
        isinstance(top, cst.FunctionDef) and top.name.value != name
        for each in source.names_used(source.module, name)
        for top in (top_statement(source, each),)
    )


# -- what it reads ---------------------------------------------------------------------------


def _arguments(source: Source, made: _Made, within: cst.CSTNode) -> list[str]:
    """The variables that the function reads and that change, in the order in which it does.

    Raises:
        Refused: one of them cannot become an argument.
    """
    found = []
    for name, uses in read_from_around(source, made.node).items():
        below = varying_below(source, uses[0], within)
        if below:
            raise Refused(f"{name} reads {below}, which may change between its calls")
        changes = _varies(source, uses[0], within) or _is_passed_on(source, made, uses[0], within)
        if name != made.name and changes:
            _refuse_use(source, made, name, uses)
            found.append(name)
    if found:
        refuse_signature(made.of)
    return found


def _varies(source: Source, name: cst.Name, within: cst.CSTNode) -> bool:
    """Whether a variable may hold something else in the next iteration or call."""
    is_local = not isinstance(within, (cst.For, cst.While)) and not is_of_module(source, name)
    return is_local or varies(source, name, within)


def _is_passed_on(source: Source, made: _Made, name: cst.Name, within: cst.CSTNode) -> bool:
    """Whether a local variable is given to other calls too, which may change what it holds."""
    if name is made.of or is_of_module(source, name):
        return False
    others = [
        above
        for use in source.names_used(within, name.value)
        if isinstance(source.parent(use), cst.Arg) and made.node not in source.around(use)
        for above in list(source.around(use))[1:2]
    ]
    return any(
        isinstance(call, cst.Call) and source.code(call.func) != made.name for call in others
    )


def _refuse_use(source: Source, made: _Made, name: str, uses: Sequence[cst.Name]) -> None:
    if not isinstance(made.of, (cst.Lambda, cst.FunctionDef)):
        raise Refused(f"{name}, from which it is made, changes in each iteration")
    for use in uses:
        if not any(above is made.of.body for above in (use, *source.around(use))):
            raise Refused(f"how it is compiled depends on {name}")
        above = source.parent(use)
        if isinstance(above, cst.Call) and above.func is use:
            raise Refused(f"{name}, which it calls, changes in each iteration")
        if isinstance(above, cst.Attribute) and above.attr.value not in _OF_ARRAYS:
            raise Refused(f"`{source.code(above)}` changes in each iteration")


# -- the new text ----------------------------------------------------------------------------


def _text(source: Source, made: _Made, name: str, arguments: Sequence[str]) -> list[str]:
    """The lines that make it, without indentation."""
    source.refuse_long_strings(made.node)
    if isinstance(made.node, cst.FunctionDef):
        first = Position(source.first_line(made.node), 0)
        text = source.between(first, place_of(source, made.node))
        text += more_parameters(made.node, arguments)
        text += source.between(place_of(source, made.node), source.end(made.node))
    else:
        begin, end = source.begin(made.node), source.end(made.node)
        line = source.lines[begin.line - 1]
        indentation = line[: len(line) - len(line.lstrip())]
        plain = _plain(source, made.of, arguments)
        if plain is not None:
            text = source.between(begin, source.begin(made.of)) + plain
            text += source.between(source.end(made.of), end)
        elif arguments:
            at = place_of(source, made.of)
            text = (
                source.between(begin, at)
                + more_parameters(made.of, arguments)
                + source.between(at, end)
            )
        else:
            text = source.between(begin, end)
        text = f"{indentation}{name} = {text}"
    return textwrap.dedent(text).replace("\r\n", "\n").split("\n")


def _plain(source: Source, of: cst.CSTNode, arguments: Sequence[str]) -> str | None:
    """The function that a lambda only calls, with its own arguments in order and these behind."""
    if not isinstance(of, cst.Lambda) or not isinstance(of.body, cst.Call):
        return None
    names = [each.name.value for each in (*of.params.posonly_params, *of.params.params)]
    passed = [source.code(arg.value) for arg in of.body.args]
    compiled = of.body.func
    if any(arg.keyword or arg.star for arg in of.body.args):
        return None
    if passed == [*names, *arguments] and isinstance(compiled, cst.Name):
        return compiled.value
    return None


def _inserted(source: Source, made: _Made, within: cst.CSTNode, text: Sequence[str]) -> Edit:
    """The lines above the loop; or in the module, below the function that is compiled."""
    if isinstance(within, (cst.For, cst.While)):
        if isinstance(made.node, cst.FunctionDef):
            return source.insert_function_above(within, *text)
        return source.insert_above(within, *text)
    compiled = function(source, made.of.value) if isinstance(made.of, cst.Name) else None
    if compiled is not None:
        return source.insert_after(compiled, "", "", *text)
    return source.insert_above(within, *text, "", "")


def _refuse_below(source: Source, use: cst.Name, loop: cst.CSTNode) -> None:
    """Refuse a function that is used below the loop: without an iteration there is none."""
    if loop not in source.around(use) and source.begin(use) > source.begin(loop):
        raise Refused(f"{use.value} is used after the loop, which may not run")


def _calls(
    source: Source, made: _Made, within: cst.CSTNode, name: str, arguments: Sequence[str]
) -> list[Edit]:
    """What passes the arguments in each call.

    Raises:
        Refused: it is used otherwise, or has another meaning somewhere.
    """
    if made.name is None:
        call = source.parent(made.node)
        return (
            [passing(source, call, arguments)] if arguments and isinstance(call, cst.Call) else []
        )
    edits = []
    for use in source.names_used(source.owner(made.node), made.name):
        above = source.parent(use)
        if isinstance(above, cst.AssignTarget) and source.parent(above) is source.parent(made.node):
            continue
        if isinstance(above, cst.FunctionDef) and above is made.node:
            continue
        _refuse_below(source, use, within)
        if not isinstance(above, cst.Call) or above.func is not use:
            if arguments or not isinstance(above, (cst.Arg, cst.Attribute)):
                raise Refused(f"{made.name} has uses other than calls")
            continue
        if within not in source.around(use):
            raise Refused(f"{made.name} is called outside of the loop too")
        if arguments:
            edits.append(passing(source, above, arguments))
        if name != made.name:
            edits.append(source.replace(use, name))
    return edits
