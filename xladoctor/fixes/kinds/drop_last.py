"""Sets ``drop_last=True`` for a loader, so that all batches have one size."""

from __future__ import annotations

import re
from pathlib import Path

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.loaders import loader_in
from xladoctor.fixes.source import Source, argument

_POSITION = 8  # of drop_last among the arguments
#: Names of data of which no sample may be missing.
_EVALUATION = re.compile(
    r"(val|valid|validation|test|testing|eval|evaluation|evaluate|dev|held|holdout|inference"
    r"|predict|prediction)"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PAD = "pad the last batch to the full size, and mask the padding in the sums"


def fix(case: Case) -> Change:
    """For the only loader that the finding names, if it is for training as far as names tell."""
    source = case.source
    loaders = case.cause.get("loaders") or []
    if len(loaders) != 1:
        raise Refused("more than one loader may have made the batch")
    if Path(loaders[0]["file"]).name != source.path.name:
        raise Refused(f"the loader is made in another file, {loaders[0]['file']}")
    call = loader_in(source, int(loaders[0]["line"]))
    if len(call.args) > _POSITION and not call.args[_POSITION].keyword:
        raise Refused("`drop_last` is already given")
    for name in ("batch_sampler", "batch_size"):
        value = argument(call, name)
        if value is not None and (name == "batch_sampler" or source.code(value) in ("None", "1")):
            raise Refused(
                f"the loader is given `{name}`, with which `drop_last` has no effect", _PAD
            )
    _refuse_evaluation(source, call)
    return Change(
        "drop the last, smaller batch",
        (source.add_argument(call, "drop_last=True"),),
        behaviour="each pass over the loader drops the samples of its last, smaller batch",
        relies_on=("the loader is for training: an evaluation needs every sample",),
    )


def _refuse_evaluation(source: Source, call: cst.Call) -> None:
    """Refuse loaders whose variable, data or function is named as for an evaluation."""
    function = source.function_around(call)
    named: list[cst.CSTNode] = [call, *([function.name] if function else [])]
    named += [above for above in source.around(call) if isinstance(above, cst.SimpleStatementLine)]
    for node in named:
        for name in source.all(cst.Name, node):
            if any(_EVALUATION.fullmatch(word.lower()) for word in _WORD.findall(name.value)):
                raise Refused(f"`{name.value}` looks like an evaluation's", _PAD)
