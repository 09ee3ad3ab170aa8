"""What is used up by going through it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from xladoctor.fixes.calls import ITERATORS
from xladoctor.fixes.names import definition_of
from xladoctor.fixes.source import Source

_STEPS = ("__iter__", "__next__")


def is_iterator(source: Source, node: cst.CSTNode) -> bool:
    """Whether something may be used up by going through it: a variable that holds an iterator."""
    if isinstance(node, cst.Name):
        made = [
            each.value
            for each in source.all(cst.Assign)
            if any(source.code(target.target) == node.value for target in each.targets)
        ]
        return any(is_iterator(source, each) for each in made if not isinstance(each, cst.Name))
    if isinstance(node, cst.GeneratorExp):
        above = source.parent(node)
        return not isinstance(above, (cst.Arg, cst.CompFor))
    if isinstance(node, cst.Call):
        above = source.parent(node)
        if source.qualified(node.func) & ITERATORS:
            return isinstance(above, cst.Assign)
        if any(map(_goes_through_itself, _classes(source, node))):
            return True
        definition = definition_of(source, node)
        if definition is not None and any(source.all(cst.Yield, definition)):
            return isinstance(above, cst.Assign)
    return False


def _classes(source: Source, call: cst.Call) -> Iterator[cst.ClassDef]:
    """The class of the file that a call makes an object of."""
    names = source.qualified(call.func)
    return (each for each in source.all(cst.ClassDef) if each.name.value in names)


def _goes_through_itself(class_: cst.ClassDef) -> bool:
    body = class_.body.body
    return any(isinstance(each, cst.FunctionDef) and each.name.value in _STEPS for each in body)
