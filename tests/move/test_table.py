"""The table against the release of the framework that is installed, and its helpers."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import re
from importlib import import_module
from typing import Any

import pytest

from xladoctor.move.table import Call, places
from xladoctor.move.targets import tables

TABLE = tables()["torch_xla"]
#: Modules that a helper may name: they are imported where it is added.
MODULES = {"copy", "os", "time", "torch"}
#: Names of earlier releases than the one that is installed.
EARLIER = {
    "torch_xla.core.xla_model.get_ordinal",
    "torch_xla.core.xla_model.xrt_world_size",
    "torch_xla.amp.GradScaler",
}


def found(name: str) -> Any:
    """What a full name stands for."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise LookupError(name)


@pytest.mark.parametrize("name", sorted((TABLE.calls.keys() | TABLE.names.keys()) - EARLIER))
def test_a_name_is_one_of_the_release_and_takes_these_parameters(name: str) -> None:
    value = found(name)
    if name not in TABLE.calls or name in TABLE.others or inspect.isbuiltin(value):
        return
    entry = TABLE.calls[name].parameters
    known = inspect.signature(value).parameters
    any_else = any(each.kind is each.VAR_KEYWORD for each in known.values())
    for each in (*entry.args, *entry.kwonlyargs):
        assert any_else or each.arg in known, (name, each.arg)


@pytest.mark.parametrize("name", sorted(TABLE.calls))
def test_what_an_entry_gives_can_be_filled_in(name: str) -> None:
    entry: Call = TABLE.calls[name]
    parameters = entry.parameters
    known = {each.arg for each in (*parameters.args, *parameters.kwonlyargs)}
    known |= {each.arg for each in (parameters.vararg, parameters.kwarg) if each}
    assert entry.drops <= known
    for text in (*entry.texts(several=False), *entry.texts(several=True), *entry.given.values()):
        assert places(text) <= known
        if text:
            code = re.sub(r"\{\w+\}", "x", text.replace("...", ""))
            names = {each.id for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Name)}
            assert names <= MODULES | TABLE.helpers.keys() | {"x", "print"} | {"torch"}


@pytest.mark.parametrize("name", sorted(TABLE.helpers))
def test_a_helper_names_only_itself_others_and_modules(name: str) -> None:
    code = compile(TABLE.helpers[name], name, "exec")
    pending, used = [code], set[str]()
    while pending:
        each = pending.pop()
        pending += [const for const in each.co_consts if inspect.iscode(const)]
        instructions = ("LOAD_GLOBAL", "LOAD_NAME")
        used |= {i.argval for i in dis.get_instructions(each) if i.opname in instructions}
    used -= {"__name__"}
    assert used <= MODULES | TABLE.helpers.keys() | set(dir(builtins)) | {"BACKEND"}


def test_every_helper_is_used() -> None:
    texts = [
        text
        for entry in TABLE.calls.values()
        for text in (*entry.texts(several=False), *entry.texts(several=True), *entry.given.values())
    ]
    named = set(re.findall(r"\w+", " ".join([*texts, *TABLE.names.values()])))
    assert set(TABLE.with_needed(named & TABLE.helpers.keys())) == TABLE.helpers.keys()
