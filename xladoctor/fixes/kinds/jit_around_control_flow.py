"""Moves a call of ``jax.lax.scan``, ``cond`` or the like into a function that compiles once."""

from __future__ import annotations

import textwrap

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import effects
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.names import (
    fresh,
    function,
    is_of_module,
    read_from_around,
    top_statement,
    varies,
)
from xladoctor.fixes.source import Source
from xladoctor.fixes.text import indented

#: With the arguments that decide what is compiled, and may therefore be no arrays.
_CALLS = {
    "jax.lax.associative_scan": frozenset(("axis", "reverse")),
    "jax.lax.cond": frozenset(("linear",)),
    "jax.lax.fori_loop": frozenset(("unroll",)),
    "jax.lax.map": frozenset(("batch_size",)),
    "jax.lax.scan": frozenset(("length", "reverse", "unroll", "_split_transpose")),
    "jax.lax.switch": frozenset[str](),
    "jax.lax.while_loop": frozenset[str](),
}


def fix(case: Case) -> Change:
    """For the one such call on the finding's line."""
    source, line = case.source, case.line
    calls = [
        call
        for call in source.calls_of(frozenset(_CALLS), source.module)
        if source.begin(call).line == line
    ]
    if len(calls) != 1:
        raise Unsuited(f"line {line} has no call of jax.lax.scan, cond or the like of its own")
    call = calls[0]
    if any(isinstance(above, cst.Lambda) for above in source.around(call)):
        raise Refused("it is called in a lambda")
    name = next(iter(source.qualified(call.func) & set(_CALLS)))
    arguments = _arguments(source, call, _CALLS[name])
    _refuse_effects(source, call)
    jax, imports = source.import_of("jax", call)
    compiled = fresh(source, f"run_{name.rpartition('.')[2]}")
    source.refuse_long_strings(call)
    code = source.code(call).replace("\r\n", "\n")
    first, *rest = code.split("\n")
    body = "\n".join([first, textwrap.dedent("\n".join(rest))]) if rest else first
    top = top_statement(source, call)
    lines = (
        f"@{jax}.jit",
        f"def {compiled}({', '.join(arguments)}):",
        indented(f"return {body}", "    "),
        "",
        "",
    )
    return Change(
        f"call {name.rpartition('.')[2]} in a function that is compiled once",
        (
            source.insert_above(top, *lines),
            source.replace(call, f"{compiled}({', '.join(arguments)})"),
            *imports,
        ),
        relies_on=(f"{', '.join(arguments)}: arrays or numbers, which become arguments",),
    )


def _refuse_effects(source: Source, call: cst.Call) -> None:
    """Refuse functions that do something else whenever they are traced, which is then once."""
    named = [function(source, source.code(arg.value)) for arg in call.args]
    bodies: list[cst.CSTNode] = [each.body for each in named if each is not None]
    bodies += [each.body for each in source.all(cst.Lambda, call)]
    for each in bodies:
        found = effects(source, each)
        if found.ordered:
            line = source.begin(each).line
            raise Refused(f"line {line} has an effect on {min(found.ordered)} when it is traced")


def _arguments(source: Source, call: cst.Call, static: frozenset[str]) -> list[str]:
    """The variables that the call reads, other than functions and constants of the module."""
    found = []
    again: cst.CSTNode = [call, *source.loops_around(call)][-1]
    for name, uses in read_from_around(source, call).items():
        if is_of_module(source, uses[0]) and not varies(source, uses[0], again):
            continue
        for use in uses:
            _refuse(source, call, use, static)
        found.append(name)
    if not found:
        raise Refused("it reads no variable that could be its argument")
    return found


def _refuse(source: Source, call: cst.Call, use: cst.Name, static: frozenset[str]) -> None:
    above = source.parent(use)
    if isinstance(above, cst.Call) and above.func is use:
        raise Refused(f"it calls `{use.value}`, which is not a function of the module")
    if isinstance(above, cst.Attribute):
        owner = source.parent(above)
        if isinstance(owner, cst.Call) and owner.func is above and use.value == "self":
            raise Refused("it calls a method")
        if use.value == "self":
            raise Refused("it reads an attribute of self")
    for number, arg in enumerate(call.args):
        if use is not arg.value and arg not in source.around(use):
            continue
        if arg.star:
            raise Refused("it is called with *")
        if arg.keyword is not None and arg.keyword.value in static:
            raise Refused(f"{arg.keyword.value}={source.code(arg.value)} decides what is compiled")
        if arg.value is use and _is_function(source, call, number, arg):
            raise Refused(f"`{use.value}`, a function, is created where it is called")


def _is_function(source: Source, call: cst.Call, number: int, arg: cst.Arg) -> bool:
    """Whether an argument is one of those that have to be functions."""
    name = next(iter(source.qualified(call.func) & set(_CALLS))).rpartition(".")[2]
    if arg.keyword is not None:
        return arg.keyword.value in ("f", "fn", "body_fun", "cond_fun", "true_fun", "false_fun")
    places = {"cond": (1, 2), "while_loop": (0, 1), "fori_loop": (2,), "switch": (1,)}
    return number in places.get(name, (0,))
