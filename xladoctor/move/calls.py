"""Makes the expression that takes a call's place, as the table says."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst
from libcst.helpers import parse_template_expression

from xladoctor.fixes.interface import Refused
from xladoctor.move.table import Call, places

#: What can be followed by an attribute, a call or a comparison as it stands.
_CLOSED = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.SimpleString, cst.Integer)
_KEEPS = re.compile(r"(?P<name>[\w.]+)\(\.\.\.\)")


@dataclass(frozen=True)
class Bound:
    """A call's arguments by the parameters that they are for."""

    by_name: Mapping[str, Sequence[cst.Arg]]
    hidden: bool = False  # a star hides some


def bound(call: cst.Call, entry: Call) -> Bound:
    """The arguments that a call gives, without those that are the parameter's default.

    Raises:
        Refused: the function takes none such.
    """
    parameters = entry.parameters
    places = [each.arg for each in parameters.args]
    named = {*places, *(each.arg for each in parameters.kwonlyargs)}
    found: dict[str, list[cst.Arg]] = {}
    for number, arg in enumerate(call.args):
        if arg.star == "*" or (not arg.keyword and number >= len(places)):
            rest = parameters.vararg
        elif arg.star or (arg.keyword and arg.keyword.value not in named):
            rest = parameters.kwarg
        else:
            name = arg.keyword.value if arg.keyword else places[number]
            found.setdefault(name, []).append(arg)
            continue
        if rest is None:
            raise Refused("it has arguments that are not known here")
        found.setdefault(rest.arg, []).append(arg)
    defaults = _defaults(parameters)
    return Bound(
        {
            name: args
            for name, args in found.items()
            if not (name in defaults and _same(args[0].value, defaults[name]))
        }
    )


def _defaults(parameters: ast.arguments) -> dict[str, ast.expr]:
    last = [each.arg for each in parameters.args][-len(parameters.defaults) or None :]
    found = dict(zip(last, parameters.defaults, strict=False)) if parameters.defaults else {}
    for each, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
        if default is not None:
            found[each.arg] = default
    return found


def _same(value: cst.BaseExpression, default: ast.expr) -> bool:
    code = cst.Module([]).code_for_node(value)
    try:
        return ast.dump(ast.parse(code, mode="eval").body) == ast.dump(default)
    except SyntaxError:
        return False


def chosen(entry: Call, arguments: Bound, *, several: bool) -> str:
    """The text that takes the call's place.

    Raises:
        Refused: it is given arguments that no text has a place for.
    """
    given = set(arguments.by_name)
    for name, text in entry.given.items():
        if name in given:
            return text
    for text in entry.texts(several=several):
        kept = set(arguments.by_name) if _KEEPS.fullmatch(text) else places(text)
        if kept <= given <= kept | entry.drops:
            return _checked(text, entry, given)
    left = sorted(given - entry.drops)
    raise Refused(f"nothing is known for it with {', '.join(left)}")


#: Arguments that only helpers of their own could serve.
_UNSERVED = frozenset(
    {"groups", "output", "input_sharding", "batchdim", "fd", "payload", "replicas"}
)


def _checked(text: str, entry: Call, given: set[str]) -> str:
    unserved = sorted(given & _UNSERVED - entry.drops)
    if unserved and text != "print(...)":
        raise Refused(f"nothing is known for it with {', '.join(unserved)}")
    return text


def expression(
    text: str, call: cst.Call, arguments: Bound, entry: Call, own: Mapping[str, cst.BaseExpression]
) -> cst.BaseExpression:
    """The expression that a text of the table stands for.

    Args:
        call: with its arguments as they have become.
        own: what stands at places that are not arguments.
    """
    if keeps := _KEEPS.fullmatch(text):
        dropped = {id(arg) for name in entry.drops for arg in arguments.by_name.get(name, ())}
        args = [arg for arg in call.args if id(arg) not in dropped]
        if args and args[-1] is not call.args[-1]:
            args[-1] = args[-1].with_changes(comma=_last_comma(args[-1], call.args[-1]))
        made: cst.BaseExpression = call.with_changes(
            func=cst.parse_expression(keeps["name"]), args=args
        )
        return made
    values: dict[str, Any] = {name: node for name, node in own.items() if f"{{{name}}}" in text}
    values |= {name: arguments.by_name[name][0].value for name in places(text)}
    for name, value in values.items():
        if not isinstance(value, _CLOSED) and re.search(rf"\{{{name}\}}(\.|\(| ==)", text):
            values[name] = _enclosed(value)
    made = parse_template_expression(text, **values)
    made = made.visit(_Spread())  # type: ignore[assignment]
    return made.with_changes(lpar=call.lpar or made.lpar, rpar=call.rpar or made.rpar)


def _last_comma(arg: cst.Arg, last: cst.Arg) -> Any:
    """The comma behind an argument that has become the last one, with the comment that it had."""
    match arg.comma, last.comma:
        case (
            cst.Comma(whitespace_after=cst.ParenthesizedWhitespace() as own),
            cst.Comma(whitespace_after=cst.ParenthesizedWhitespace() as closing) as comma,
        ):
            kept = closing.with_changes(first_line=own.first_line)
            return comma.with_changes(whitespace_after=kept)
    return last.comma


def _enclosed(value: cst.BaseExpression) -> cst.BaseExpression:
    if value.lpar:
        return value
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


class _Spread(cst.CSTTransformer):
    """Writes out what is known: tuples and dictionaries that a star spreads, and equal numbers."""

    def leave_Arg(
        self, original_node: cst.Arg, updated_node: cst.Arg
    ) -> cst.Arg | cst.FlattenSentinel[cst.Arg]:
        value = updated_node.value
        if updated_node.star == "*" and isinstance(value, cst.Tuple):
            elements: list[tuple[cst.Name | None, cst.BaseExpression]] = [
                (None, element.value) for element in value.elements
            ]
            if any(isinstance(each, cst.StarredElement) for each in value.elements):
                return updated_node
        elif updated_node.star == "**" and isinstance(value, cst.Dict):
            keys = [getattr(each, "key", None) for each in value.elements]
            texts = [
                key.evaluated_value if isinstance(key, cst.SimpleString) else "" for key in keys
            ]
            if not all(isinstance(text, str) and text.isidentifier() for text in texts):
                return updated_node
            elements = [
                (cst.Name(str(text)), each.value)
                for text, each in zip(texts, value.elements, strict=True)
            ]
        else:
            return updated_node
        return cst.FlattenSentinel(
            [
                cst.Arg(
                    each, keyword=keyword, equal=_EQUAL if keyword else cst.MaybeSentinel.DEFAULT
                )
                for keyword, each in elements
            ]
        )

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        """Of two numbers, what it comes to."""
        numbers = (updated_node.left, updated_node.comparisons[0].comparator)
        if all(isinstance(each, cst.Integer) for each in numbers):
            return cst.Name(str(numbers[0].deep_equals(numbers[1])))
        return updated_node


_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
