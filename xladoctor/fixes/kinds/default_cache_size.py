"""Removes the program's limit of compiled graphs, which leaves the default of 2048."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.kinds.setting_removed import refuse_looks, set_by

_SETTING = "XLA_COMPILATION_CACHE_SIZE"


def fix(case: Case) -> Change:
    """For the one statement of the finding's file that sets it, and nothing else."""
    if case.frontend != "torch_xla":
        raise Unsuited(f"only torch_xla has {_SETTING}")
    source = case.source
    found = [
        statement
        for statement in source.all(cst.SimpleStatementLine)
        if len(statement.body) == 1 and set_by(source, statement.body[0]) == _SETTING
    ]
    if len(found) != 1:
        raise Refused(
            f"this file does not set {_SETTING}, or in several places",
            f"unset {_SETTING} where the program is started",
        )
    refuse_looks(source, found[0], _SETTING)
    return Change(
        f"leave {_SETTING} unset",
        (source.delete(found[0]),),
        relies_on=("there is memory for the graphs that were dropped",),
    )
