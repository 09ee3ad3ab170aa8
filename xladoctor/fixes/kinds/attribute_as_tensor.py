"""Keeps a number that changes, in an attribute of a module, in a buffer: data, not a constant."""

from __future__ import annotations

import re

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused, Unsuited
from xladoctor.fixes.names import refuse_by_text
from xladoctor.fixes.source import Source, method_of

_ATTRIBUTE = re.compile(r"^self\.([A-Za-z_]\w*)$")
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)
#: Functions whose first argument is a size or number.
_MAKERS = frozenset(
    (
        *("arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint"),
        *("randn", "randperm", "tensor", "zeros"),
    )
)
#: Built-in functions that show or take numbers.
_NUMBERS = frozenset(("int", "float", "bool", "str", "repr", "format", "print", "range", "round"))
#: Methods that give all buffers of a module, and those that change the type of the others.
_BUFFERS = frozenset(("buffers", "named_buffers"))
_CASTS = frozenset(("bfloat16", "double", "float", "half", "to_empty", "type"))
_IN_PLACE = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
}


def fix(case: Case) -> Change:
    """For the attribute that the finding names, of a class in the same file."""
    source = case.source
    if case.frontend not in ("torch", "torch_xla"):
        raise Unsuited("only modules of PyTorch have buffers")
    found = _ATTRIBUTE.match(str(case.cause.get("argument") or ""))
    if not found:
        raise Unsuited("what changes is not an attribute of the module itself")
    attribute = found[1]
    begin = first_assignment(source, attribute)
    kept = [each for each in uses(source, attribute) if each is not begin.targets[0].target]
    whole = isinstance(begin.value, cst.Integer) and all(_stays_whole(source, use) for use in kept)
    _refuse_modules(source, whole)
    edits = [registered(source, begin, attribute, whole)]
    edits += [edit for use in kept for edit in _edits(source, use)]
    return Change(
        f"keep `self.{attribute}` in a tensor",
        tuple(edits),
        relies_on=(f"other files do not assign a number to {attribute}",),
    )


def first_assignment(source: Source, attribute: str) -> cst.Assign:
    """The statement in ``__init__`` that gives the attribute its first number.

    Raises:
        Refused: there is not exactly one, or it is not a number.
    """
    found = []
    for each in source.all(cst.Assign):
        function = source.function_around(each)
        if function is None or function.name.value != "__init__" or len(each.targets) != 1:
            continue
        if source.code(each.targets[0].target) == f"self.{attribute}":
            found.append((each, function))
    if len(found) != 1:
        raise Refused(f"self.{attribute} is not assigned exactly once in __init__")
    begin, init = found[0]
    if not isinstance(begin.value, (cst.Integer, cst.Float)):
        raise Refused(f"self.{attribute} does not start as a number")
    line = source.parent(begin)
    block = source.parent(line) if line else None
    if block is not init.body:
        raise Refused(f"self.{attribute} is assigned under a condition in __init__")
    supers = [
        call
        for call in source.all(cst.Call, init)
        if method_of(call) == "__init__" and source.begin(call) < source.begin(begin)
    ]
    if not supers:
        raise Refused(f"self.{attribute} is assigned before Module.__init__ was called")
    return begin


def uses(source: Source, attribute: str) -> list[cst.Attribute]:
    """Everything in the file that has the attribute's name, which must be that attribute."""
    refuse_by_text(source, attribute)
    found = [each for each in source.all(cst.Attribute) if each.attr.value == attribute]
    owners = {
        id(above)
        for each in found
        for above in source.around(each)
        if isinstance(above, cst.ClassDef)
    }
    if len(owners) > 1:
        raise Refused(f"several classes have an attribute {attribute}")
    return found


def _refuse_modules(source: Source, whole: bool) -> None:
    """Refuse files that look at buffers, or that change their type, which whole numbers keep."""
    for call in source.all(cst.Call):
        name = method_of(call)
        line = source.begin(call).line
        if name in _BUFFERS:
            raise Refused(f"line {line} looks at the buffers of a module")
        types = [source.code(arg.value) for arg in call.args if name == "to"]
        is_cast = name in _CASTS or any("float" in text or "half" in text for text in types)
        if is_cast and not whole:
            raise Refused(f"line {line} may change the type of the buffer")


def _is_own(use: cst.Attribute) -> bool:
    return isinstance(use.value, cst.Name) and use.value.value == "self"


def _stays_whole(source: Source, use: cst.Attribute) -> bool:
    """Whether an assignment of the attribute leaves a whole number; other uses do not change it."""
    above = source.parent(use)
    if isinstance(above, cst.AugAssign) and above.target is use:
        return isinstance(above.value, cst.Integer) and not isinstance(
            above.operator, cst.DivideAssign
        )
    if isinstance(above, cst.AssignTarget):
        assign = source.parent(above)
        return isinstance(assign, cst.Assign) and _is_whole(source, assign.value, use)
    return True


def _is_whole(source: Source, value: cst.BaseExpression, use: cst.Attribute) -> bool:
    if isinstance(value, cst.BinaryOperation):
        plain = isinstance(value.operator, (cst.Add, cst.Subtract, cst.Multiply))
        sides = (value.left, value.right)
        return plain and all(_is_whole(source, side, use) for side in sides)
    return isinstance(value, cst.Integer) or source.code(value) == source.code(use)


def registered(source: Source, begin: cst.Assign, attribute: str, whole: bool) -> Edit:
    """A buffer in place of the attribute's first assignment, which the state's dictionary does not
    have, as it did not have the number.
    """
    number = source.code(begin.value)
    if isinstance(begin.value, cst.Integer) and not whole:
        number += ".0"
    torch, imports = source.import_of("torch", begin)
    if imports:
        raise Refused("the file does not import torch")
    text = f'self.register_buffer("{attribute}", {torch}.tensor({number}), persistent=False)'
    return source.replace(begin, text)


def _edits(source: Source, use: cst.Attribute) -> list[Edit]:
    """What a use becomes: an assignment a new tensor, arithmetic stays what it is.

    Raises:
        Refused: it needs a number of Python.
    """
    above, line = source.parent(use), source.begin(use).line
    if isinstance(above, cst.AugAssign) and above.target is use:
        operator = _IN_PLACE.get(type(above.operator))
        if operator is None or not _is_own(use):
            raise Refused(f"line {line} changes it in a way that a tensor does not support")
        value = source.code(above.value)
        if not isinstance(above.value, (cst.Integer, cst.Float, cst.Name, cst.Attribute)):
            value = f"({value})"
        name = source.code(use)
        return [source.replace(above, f"{name} = {name} {operator} {value}")]
    if isinstance(above, cst.AssignTarget):
        return _assigned(source, use, above)
    if isinstance(above, cst.BinaryOperation) and isinstance(above.operator, _ARITHMETIC):
        return _in_arithmetic(source, above)
    raise Refused(
        f"line {line} may need it as a number: `{source.code(above or use).strip()[:60]}`"
    )


def _assigned(source: Source, use: cst.Attribute, target: cst.AssignTarget) -> list[Edit]:
    assign = source.parent(target)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        raise Refused(f"line {source.begin(use).line} assigns it together with others")
    own = [
        each
        for each in source.all(cst.Attribute, assign.value)
        if source.code(each) == source.code(use)
    ]
    if own:  # a tensor, as computed from one
        if not isinstance(assign.value, cst.BinaryOperation):
            raise Refused(f"line {source.begin(use).line} may need it as a number")
        return []
    if _is_own(use) or not _is_module(source, use):
        line = source.begin(use).line
        raise Refused(f"line {line} assigns a number to it, within the module or to another object")
    return [source.replace(assign, f"{source.code(use)}.fill_({source.code(assign.value)})")]


def _is_module(source: Source, use: cst.Attribute) -> bool:
    """Whether the attribute is that of a variable to which only calls of one class are assigned."""
    names = {
        each.name.value
        for each in source.all(cst.ClassDef)
        if any(
            source.code(name) == f"self.{use.attr.value}"
            for name in source.all(cst.Attribute, each)
        )
    }
    made = source.assigned(source.code(use.value))
    return bool(made) and all(
        any(source.code(call.func) in names for call in source.all(cst.Call, value))
        for value in made
    )


def _in_arithmetic(source: Source, operation: cst.BinaryOperation) -> list[Edit]:
    """Arithmetic whose result may be a tensor: it is not a condition, an index or an argument that
    has to be a number.
    """
    node: cst.CSTNode = operation
    for above in source.around(operation):
        if isinstance(above, (cst.Return, cst.Assign, cst.Lambda)):
            _refuse_numbers(source, above)
            return []
        if not isinstance(above, cst.BinaryOperation) and not _takes_tensors(source, above, node):
            break
        node = above
    raise Refused(f"line {source.begin(operation).line} may need a number from it")


def _refuse_numbers(source: Source, part: cst.Return | cst.Assign | cst.Lambda) -> None:
    """Refuse a result that leaves the module, or that is used as a number."""
    function, line = source.function_around(part), source.begin(part).line
    if isinstance(part, cst.Return) and function is not None and function.name.value != "forward":
        raise Refused(f"line {line} returns a number from it, in {function.name.value}()")
    if not isinstance(part, cst.Assign) or function is None:
        return
    targets = [target.target for target in part.targets if isinstance(target.target, cst.Name)]
    for use in (use for name in targets for use in source.names_used(function, name.value)):
        for above in source.around(use):
            is_shown = isinstance(above, cst.Call) and source.code(above.func) in _NUMBERS
            if is_shown or isinstance(above, cst.FormattedStringExpression):
                raise Refused(f"line {source.begin(use).line} may need a number from it")


def _takes_tensors(source: Source, above: cst.CSTNode, node: cst.CSTNode) -> bool:
    if isinstance(above, cst.Arg):
        return above.keyword is None and not above.star
    if isinstance(above, cst.Call):
        names = source.qualified(above.func)
        own = {name.rpartition(".")[2] for name in names if name.startswith("torch.")}
        return bool(own) and not own & _MAKERS and bool(above.args) and above.args[0] is node
    return False
