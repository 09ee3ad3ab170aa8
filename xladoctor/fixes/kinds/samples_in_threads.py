"""Makes the samples of a batch at once, in threads, if the framework does not allow forks."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.loaders import data_set, is_random, loader_in, methods, refuse_changes
from xladoctor.fixes.source import Source, argument

_THREADS = 8
_POOL = "pool"


def fix(case: Case) -> Change:
    """For the loader in the finding's line, whose data set is a class of the same file that only
    looks up one sample.
    """
    source = case.source
    if case.frontend != "jax":
        raise Refused("workers can be forked")
    call = loader_in(source, case.line)
    class_ = data_set(source, call)
    if class_ is None:
        raise Refused("its samples lie in memory already")
    own = methods(class_)
    if set(own) & {"__iter__", "__getitems__"} or "__getitem__" not in own:
        raise Refused("its data set is not a map from index to sample, or makes batches itself")
    method = own["__getitem__"]
    size = argument(call, "batch_size")
    if size is not None and source.code(size) in ("None", "1"):
        raise Refused("its batches have one sample")
    _refuse_state(source, method)
    refuse_changes(source, class_, method)
    if source.names_used(source.module, _POOL):
        raise Refused(f"`{_POOL}` is a name of the program")
    if source.parent(class_) is not source.module:
        raise Refused("its data set is a class within a function or class")
    if method.decorators or isinstance(method.body, cst.SimpleStatementSuite):
        raise Refused("its __getitem__ is decorated, or on one line")
    indentation = source.indentation(method)
    edits = (
        source.insert_after(
            method,
            "",
            "def __getitems__(self, indices):",
            f"{indentation}return list({_POOL}.map(self.__getitem__, indices))",
        ),
        source.insert_import(
            "from concurrent.futures import ThreadPoolExecutor\n\n"
            f"{_POOL} = ThreadPoolExecutor({_THREADS})"
        ),
    )
    return Change(
        "make the samples of a batch at once, in threads",
        edits,
        behaviour="the samples of a batch are made in several threads at once, in any order",
        relies_on=("it waits, or computes outside of Python: threads share one interpreter",),
    )


def _refuse_state(source: Source, body: cst.FunctionDef) -> None:
    """Refuse a method that keeps something, or draws from a generator that threads would share."""
    if is_random(source, body) and "default_rng" not in source.code(body):
        raise Refused("its data set draws random numbers, whose order would change")
    kept = [each.target for each in source.all(cst.AugAssign, body)]
    kept += [each.target for each in source.all(cst.AssignTarget, body)]
    if any(isinstance(each, (cst.Attribute, cst.Subscript)) for each in kept) or any(
        source.all((cst.Global, cst.Nonlocal), body)
    ):
        raise Refused("its data set changes while samples are looked up")
