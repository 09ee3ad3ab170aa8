"""Saves a checkpoint every ten minutes, and once more at the end."""

from __future__ import annotations

import textwrap

import libcst as cst

from xladoctor.fixes.carried import is_occasional
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.names import free
from xladoctor.fixes.source import Loop, Source
from xladoctor.fixes.text import indented, lines_of

_INTERVAL = 600  # seconds
_SAVES = frozenset(("torch.save", "torch_xla.core.xla_model.save"))
_NAME = "last_saved"


def fix(case: Case) -> Change:
    """For a call of ``torch.save`` or ``xm.save`` that stands alone, in a loop of this function."""
    source = case.source
    statement = source.statement(case.line)
    call = source.only_call(statement)
    if call is None or not source.qualified(call.func) & _SAVES:
        raise Refused(f"line {case.line} is not just a call of torch.save or xm.save")
    source.loop_around(statement)  # or it is refused
    loop = source.loops_around(statement)[-1]
    _refuse_condition(source, statement, loop)
    bound = source.names_bound(loop)
    inside = {name.value for name in source.variables(statement)} & bound
    if inside:
        raise Refused(f"it saves or names what changes in the loop: `{min(inside)}`")
    free(source, _NAME)
    if any(source.all((cst.Break, cst.Return, cst.Yield), loop)) or loop.orelse:
        raise Refused("the loop may end early, and then would not save it")
    time, imported = source.import_of("time", statement)
    source.refuse_long_strings(statement)
    inner = source.indentation(statement)
    step = source.module.default_indent
    begin, after = source.whole_lines(statement)
    saving = "".join(source.lines[begin.line - 1 : after.line - 1])
    now, newline = f"{time}.monotonic()", source.newline
    text = (
        f"{inner}if {now} - {_NAME} >= {_INTERVAL}:{newline}"
        f"{indented(saving, step)}{inner}{step}{_NAME} = {now}{newline}"
    )
    last = [line.rstrip() for line in lines_of(textwrap.dedent(saving).rstrip())]
    return Change(
        "save by the clock",
        (
            *imported,
            source.insert_before(loop, f"{_NAME} = {now}"),
            Edit(begin, after, text),
            source.insert_after(loop, *last),
        ),
        behaviour=f"it is saved every {_INTERVAL // 60} minutes, and once more below the loop"
        f" in line {source.begin(loop).line}",
    )


def _refuse_condition(source: Source, statement: cst.CSTNode, loop: Loop) -> None:
    """Refuse what is saved in some cases only, as the best, or loaded again in the loop."""
    if source.calls_of(frozenset(("torch.load",)), loop):
        raise Refused("the loop loads what it saves, or may do so")
    if any(is_occasional(source, each, statement) for each in source.loops_around(statement)):
        return
    for above in source.around(statement):
        if above is loop:
            return
        if isinstance(above, (cst.If, cst.Else, cst.Try, cst.ExceptHandler)):
            raise Refused(f"line {source.begin(above).line} decides whether it is saved")
