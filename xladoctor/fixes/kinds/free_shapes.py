"""Removes ``dynamic=False`` from ``torch.compile``, so that a size that changes becomes dynamic."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.source import keyword

#: Else the comparisons of sizes are compiled by a C++ compiler, which can take minutes.
_IN_PYTHON = "_dynamo.config.enable_cpp_symbolic_shape_guards"
_STATIC = frozenset(("torch._dynamo.mark_static",))


def fix(case: Case) -> Change:
    """For the one call of ``torch.compile`` in the file that fixes shapes."""
    if case.frontend != "torch":
        raise Unsuited(f"padding depends on your data; see `xladoctor explain {case.finding.rule}`")
    source = case.source
    found = [
        (call, number)
        for call in source.calls_of(frozenset(("torch.compile",)), source.module)
        for number, arg in enumerate(call.args)
        if keyword(arg) == "dynamic" and source.code(arg.value) == "False"
    ]
    if len(found) != 1:
        what = "no call" if not found else "more than one call"
        raise Unsuited(f"{what} of torch.compile has dynamic=False in this file")
    if source.calls_of(_STATIC, source.module):
        raise Refused("torch._dynamo.mark_static fixes sizes too")
    torch, imports = source.import_of("torch")
    statement: cst.CSTNode = found[0][0]
    while (parent := source.parent(statement)) and not isinstance(parent, cst.Module):
        statement = parent
    return Change(
        "let sizes that change become dynamic",
        (
            *imports,
            source.insert_above(statement, f"{torch}.{_IN_PYTHON} = False"),
            source.delete_argument(*found[0]),
        ),
        relies_on=(
            "the run is long: compiling for all sizes takes several times as long as for one",
            "torch is 2.7 or newer: older ones compare sizes in Python anyway, without the setting",
        ),
    )
