"""Reduces all elements instead of those that a mask selects, with zero for what it leaves out.

``x[mask].mean()`` has as many elements as the data decide; ``torch.where(mask, x, 0).sum() /
mask.sum()`` computes the same with a fixed shape. That holds only for a mask of the same shape as
``x``, which the source has to show.
"""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.source import Source, keyword

_LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss")  # of each element, zero where both are zero
_EACH = (*_LOSSES, "huber_loss", "cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")
_TESTS = ("isnan", "isinf", "isfinite", "signbit")
_REDUCTIONS = ("sum", "mean")


def fix(case: Case) -> Change:
    """For the only such expression in the finding's line."""
    source = case.source
    statement = source.statement(case.line)
    calls = [
        (call, found)
        for call in source.all(cst.Call, statement)
        if (found := _reduction(source, call) or _loss(source, call))
    ]
    if len(calls) != 1:
        raise Refused(
            f"line {case.line} is not the sum, mean or mean error of what a mask chooses",
            "keep the full shape: torch.where(mask, x, 0).sum() / mask.sum()",
        )
    call, (chosen, mask, reduction, form) = calls[0]
    if not _is_shaped(source, mask, chosen):
        raise Refused(
            f"the file does not show that `{source.code(mask)}` has the shape of"
            f" `{source.code(chosen[0])}`",
            "if it has: torch.where(mask, x, 0).sum() / mask.sum()",
        )
    torch, imported = source.import_of("torch", statement)
    written = source.code(mask)
    masked = [f"{torch}.where({written}, {source.code(each)}, 0)" for each in chosen]
    text = form.format(*masked)
    if reduction == "mean":
        text += f" / {written if isinstance(mask, cst.Name) else f'({written})'}.sum()"
    return Change(
        "compute on all elements, with zero for those that the mask leaves out",
        (source.replace_part(statement, call, text), *imported),
        behaviour="a sum over more elements may round differently, or overflow in 16 bits",
        relies_on=(f"`{written}` is a mask of Booleans",),
    )


Found = tuple[list[cst.BaseExpression], cst.BaseExpression, str, str]


def _reduction(source: Source, call: cst.Call) -> Found | None:
    """``x[mask].sum()``: ``x``, the mask, ``sum``, and how to write it."""
    match call:
        case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(name)), args=[]):
            found = _chosen(source, value) if name in _REDUCTIONS else None
            return ([found[0]], found[1], name, "{}.sum()") if found else None
    return None


def _loss(source: Source, call: cst.Call) -> Found | None:
    """``mse_loss(x[mask], y[mask])``, the same mask in both."""
    names = {f"torch.nn.functional.{name}" for name in _LOSSES}
    if not source.qualified(call.func) & names or len(call.args) < 2:
        return None
    first, second, *others = call.args
    pairs = [_chosen(source, arg.value) for arg in (first, second)]
    if None in pairs or first.keyword or second.keyword or any(not each.keyword for each in others):
        return None
    (one, mask), (two, again) = (pair for pair in pairs if pair)
    if source.code(mask) != source.code(again):
        return None
    cut = [each for each in (one, two) if isinstance(each, cst.Name) and _is_cut(source, each)]
    if len(cut) == 1:
        raise Refused(f"`{cut[0].value}` is a part of what it was: the shapes may differ")
    given = {each.keyword.value: each for each in others if each.keyword}
    reduction = source.code(given.pop("reduction").value)[1:-1] if "reduction" in given else "mean"
    if reduction not in _REDUCTIONS or set(given) - {"beta"}:
        return None
    more = "".join(f", {source.code(each)}" for each in given.values())
    form = f'{source.code(call.func)}({{}}, {{}}{more}, reduction="sum")'
    return [one, two], mask, reduction, form


def _is_cut(source: Source, name: cst.Name) -> bool:
    """Whether a variable becomes a part of itself."""
    values = [each for each in source.values_of(name) if isinstance(each, cst.Subscript)]
    return any(source.code(each.value) == name.value for each in values)


def _chosen(
    source: Source, node: cst.BaseExpression
) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """``x`` and ``mask`` of ``x[mask]`` or ``x.masked_select(mask)``, if ``x`` is a variable."""
    match node:
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=mask))]):
            found = value, mask
        case cst.Call(
            func=cst.Attribute(value=value, attr=cst.Name("masked_select")),
            args=[cst.Arg(value=mask)],
        ) if "torch" not in source.qualified(value):
            found = value, mask
        case _:
            return None
    return found if isinstance(value, cst.Name) else None


def _is_shaped(source: Source, mask: cst.BaseExpression, chosen: list[cst.BaseExpression]) -> bool:
    """Whether a mask is computed from each element of one of these variables, which then all have
    its shape.
    """
    variables = [each for each in chosen if isinstance(each, cst.Name)]
    names = {each.value for each in variables}
    loss = source.value_of(variables[0])
    if len(variables) == 1 and loss is not None and _is_loss_of_each(source, loss):
        names |= {each.value for each in source.all(cst.Name, loss)}
    test = source.value_of(mask) if isinstance(mask, cst.Name) else mask
    of = _elementwise(source, test) if test is not None else None
    if test is None or of is None or of.value not in names:
        return False
    since, here = source.begin(test), source.begin(mask)
    return not any(since < source.begin(each) < here for each in source.assignments(of))


def _elementwise(source: Source, test: cst.BaseExpression) -> cst.Name | None:
    """The variable whose elements a test compares with numbers; None if that is not certain."""
    match test:
        case cst.UnaryOperation(operator=cst.BitInvert(), expression=inner):
            return _elementwise(source, inner)
        case cst.BinaryOperation(left=left, operator=cst.BitAnd() | cst.BitOr(), right=right):
            one, two = _elementwise(source, left), _elementwise(source, right)
            return one if one and two and one.value == two.value else None
        case cst.Comparison(
            left=cst.Name() as name, comparisons=[cst.ComparisonTarget(comparator=number)]
        ) if _is_number(number):
            return name
        case cst.Call(
            func=cst.Attribute(value=cst.Name() as name, attr=cst.Name(method)), args=[]
        ) if method in _TESTS:
            return name
        case cst.Call(func=func, args=[cst.Arg(value=cst.Name() as name)]) if source.qualified(
            func
        ) & {f"torch.{method}" for method in _TESTS}:
            return name
    return None


def _is_number(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.BaseNumber)


def _is_loss_of_each(source: Source, value: cst.BaseExpression) -> bool:
    """Whether a value is a loss of each element, ``mse_loss(x, y, reduction="none")``."""
    if not isinstance(value, cst.Call):
        return False
    named = source.qualified(value.func) & {f"torch.nn.functional.{name}" for name in _EACH}
    given = [source.code(each.value)[1:-1] for each in value.args if keyword(each) == "reduction"]
    two = [isinstance(each.value, cst.Name) for each in value.args[1:2]]
    return bool(named) and given == ["none"] and two == [True]
