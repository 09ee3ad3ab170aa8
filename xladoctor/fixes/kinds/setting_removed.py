"""Removes a setting that the program makes itself from its source."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.source import Source

#: How the program behaves without a setting that checks or writes. Others only take time.
_BEHAVIOUR = (
    (
        ("debug_nans", "debug_infs", "tracer_leaks"),
        "the checks of {} report nothing and raise no error",
    ),
    (("pt_xla_debug", "save_tensors", "log_compiles", "explain"), "what {} writes is not written"),
)
#: What sets a variable of the environment, or an option, that its first argument names.
_SETTERS = frozenset(("os.environ.setdefault", "os.putenv", "jax.config.update"))
#: Modules and functions that start processes, which have the environment of this one.
_PROCESSES = frozenset(("execv", "execvp", "fork", "popen", "subprocess", "system"))
_ENVIRONMENT = frozenset(("os.environ", "os.getenv"))


def fix(case: Case) -> Change:
    """For a statement in the finding's line that sets what the finding names, and nothing else."""
    source, setting = case.source, case.cause["setting"]
    if case.cause.get("works"):
        raise Refused(
            f"{setting} is still obeyed: without it the program computes something else",
            case.cause["instead"],
        )
    statement = source.statement(case.line)
    if set_by(source, statement.body[0]).lower() != setting.lower():
        raise Refused(f"line {case.line} does not set {setting} and nothing else")
    refuse_looks(source, statement, setting)
    return Change(
        f"leave {setting} unset",
        (source.delete(statement),),
        behaviour=_behaviour(setting),
        relies_on=("nothing else of the program looks at it",),
    )


def refuse_looks(source: Source, statement: cst.SimpleStatementLine, setting: str) -> None:
    """Refuse a file that looks at a setting in another place than where it sets it."""
    for name in source.all(cst.Name):
        if set_by(source, statement.body[0]).isupper() and name.value in _PROCESSES:
            line = source.begin(name).line
            raise Refused(f"line {line} may start a process that looks at {setting}")
    aliases = {
        source.code(each.targets[0].target)
        for each in source.all(cst.Assign)
        if source.qualified(each.value) & _ENVIRONMENT
    }
    for each in source.all((cst.SimpleString, cst.Name, cst.Attribute)):
        line = source.begin(each).line
        if source.covers(statement, line):
            continue
        is_named = isinstance(each, cst.SimpleString) and each.evaluated_value == setting
        is_mapping = source.qualified(each) & _ENVIRONMENT or source.code(each) in aliases
        if is_named or (is_mapping and _is_any_key(source, each)):
            raise Refused(f"line {line} looks at {setting}, or may do so")


def _is_any_key(source: Source, mapping: cst.CSTNode) -> bool:
    """Whether the environment is used other than by the name of a variable in it."""
    above = source.parent(mapping)
    if isinstance(above, (cst.Attribute, cst.AssignTarget, cst.ComparisonTarget)):
        above = source.parent(above)
    match above:
        case (
            cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString()))])
            | cst.Call(args=[cst.Arg(value=cst.SimpleString()), *_])
            | cst.Comparison(left=cst.SimpleString())
            | cst.Assign(targets=[cst.AssignTarget(target=cst.Name())])
            | cst.ImportAlias()
        ):
            return False
    return True


def _behaviour(setting: str) -> str:
    for parts, text in _BEHAVIOUR:
        if any(part in setting.lower() for part in parts):
            return text.format(setting)
    return ""


def set_by(source: Source, part: cst.BaseSmallStatement) -> str:
    """The name of what a statement sets; empty if it sets nothing, or not by a name in quotes."""
    match part:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
            return _target(source, target) if _is_plain(value) else ""
        case cst.Expr(value=cst.Call(func=func, args=[cst.Arg(value=name), cst.Arg(value=value)])):
            found = source.qualified(func) & _SETTERS
            return _text(name) if found and _is_plain(value) else ""
    return ""


def _target(source: Source, target: cst.BaseExpression) -> str:
    match target:
        case cst.Subscript(
            value=mapping, slice=[cst.SubscriptElement(slice=cst.Index(value=name))]
        ) if "os.environ" in source.qualified(mapping):
            return _text(name)
        case cst.Attribute(value=config, attr=cst.Name(name)) if "jax.config" in source.qualified(
            config
        ):
            return name
    return ""


def _is_plain(value: cst.BaseExpression) -> bool:
    """Whether a value is a constant, which is computed for nothing else."""
    return isinstance(value, (cst.BaseString, cst.BaseNumber, cst.Name))


def _text(node: cst.BaseExpression) -> str:
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else ""
    return value if isinstance(value, str) else ""
