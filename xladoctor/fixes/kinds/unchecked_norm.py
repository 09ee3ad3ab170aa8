"""Switches off ``error_if_nonfinite`` of ``clip_grad_norm_``, which reads the norm in each step."""

from __future__ import annotations

from xladoctor.fixes.carried import refuse_caught
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.source import keyword

_CLIP = frozenset(
    f"torch.nn.utils{module}.{name}"
    for module in ("", ".clip_grad")
    for name in ("clip_grad_norm_", "get_total_norm")
)
_KEYWORD = "error_if_nonfinite"


def fix(case: Case) -> Change:
    """For the only such call in the finding's line that is asked to check the norm."""
    source = case.source
    statement = source.statement(case.line)
    refuse_caught(source, statement, source.owner(statement))
    calls = source.calls_of(_CLIP, statement)
    if len(calls) != 1:
        raise Unsuited("patches only switch off the check of clip_grad_norm_")
    call = calls[0]
    for number, arg in enumerate(call.args):
        if keyword(arg) != _KEYWORD:
            continue
        if not number or source.code(arg.value) != "True":
            raise Refused(f"`{_KEYWORD}` is {source.code(arg.value)}, which may be False")
        edit = source.delete_argument(call, number)
        if "#" in source.between(edit.begin, edit.end):
            raise Refused("there is a comment between its arguments")
        return Change(
            "clip the gradients without reading their norm",
            (edit,),
            behaviour="an infinite or NaN norm of the gradients raises no error",
        )
    raise Refused(f"the call does not pass `{_KEYWORD}` by its name")
