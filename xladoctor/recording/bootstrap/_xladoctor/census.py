"""Which of a program's variables hold arrays of the device: counted from the variables down.

From an array up, ``gc.get_referrers`` would search the whole heap, and it does not see local
variables. No code of the program runs: objects are looked into, and asked nothing.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections import deque
from itertools import islice
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    ModuleType,
)
from typing import Any, Callable, Iterator, NamedTuple

from . import clock
from .call_site import USER, CallSites, line_of

_MOST_NODES = 30_000
_MOST_DEPTH = 12
_NEWEST = 128  # entries of a container that are looked into; the others are taken to be alike
_VARIABLES = 512  # of a frame
_BETWEEN_CLOCKS = 128  # nodes
_NEARLY = 0.8  # of an object's growth, in one thing that it holds
#: Leads out of the program's own data.
_CLOSED = (type, ModuleType, BuiltinFunctionType, FrameType, CodeType, GeneratorType)
_PLAIN = frozenset((str, bytes, int, float, bool, complex, type(None), range, slice))
_ORDERED: tuple[Any, ...] = (list, tuple, deque)
_DICT_OF: dict[type, Any] = {}

#: The labels from a variable down to an object.
Path = tuple[str, ...]


class Variable(NamedTuple):
    """A variable of the program.

    Attributes:
        stack: file, line and function of the frame that has it, then of its callers.
        parameter: whether a caller gives it its value.
    """

    name: str
    stack: tuple[tuple[str, int, str], ...]
    parameter: bool = False


#: Variables, with their values.
Found = Iterator[tuple[Variable, Any]]


class Node:
    """An object that was found.

    Attributes:
        label: how what holds it leads to it: ``.history``, ``['loss']``.
        of: what holds it; None for the value of a variable.
        entries: arrays right in it.
        arrays: arrays below it, as far as they are not below another object found earlier.
        whole: how many entries it has for each one that was looked into.
    """

    __slots__ = ("arrays", "depth", "entries", "label", "of", "value", "variable", "whole")

    def __init__(self, value: Any, label: str, of: Node | None, variable: Variable) -> None:
        self.value = value
        self.label = label
        self.of = of
        self.variable = variable
        self.depth: int = 0 if of is None else of.depth + 1
        self.entries: list[Any] = []
        self.arrays = 0.0
        self.whole = 1.0

    @property
    def path(self) -> Path:
        first = self.variable.stack[0]
        above = (first[0], first[2]) if self.of is None else self.of.path
        return (*above, self.label)

    @property
    def name(self) -> str:
        """The object as the program names it: ``self.history['loss']``."""
        return "".join(self.path[2:])


class Census:
    """Counts the arrays below each variable.

    Attributes:
        nodes: what was found, holders before what they hold.
        roots: those that are the values of variables.
        shared: ids of arrays that several objects hold.
        complete: whether all was looked at before ``until``, an instant of ``thread_time_ns``.
    """

    def __init__(self, variables: Found, is_array: Callable[[Any], bool], until: int) -> None:
        self.nodes: list[Node] = []
        self._is_array = is_array
        self._seen: set[int] = set()
        self.shared: set[int] = set()
        self._queue: deque[Node] = deque()
        right: list[tuple[Variable, Any]] = []  # arrays right in variables, which may be in others
        for variable, value in variables:
            if is_array(value):
                right.append((variable, value))
            else:
                self._find(value, variable.name, None, variable)
        self.complete = self._search(until)
        for variable, value in right:
            self._find(value, variable.name, None, variable)
        self.roots = [node for node in self.nodes if node.of is None]
        for node in reversed(self.nodes):
            node.arrays = (node.arrays + len(node.entries)) * node.whole
            if node.of is not None:
                node.of.arrays += node.arrays

    def _search(self, until: int) -> bool:
        while self._queue:
            if len(self.nodes) >= _MOST_NODES:
                return False
            if len(self.nodes) % _BETWEEN_CLOCKS == 0 and clock.thread_time_ns() > until:
                return False
            node = self._queue.popleft()
            self.nodes.append(node)
            if node.depth < _MOST_DEPTH:
                for label, value in _below(node):
                    self._find(value, label, node, node.variable)
        return True

    def _find(self, value: Any, label: str, of: Node | None, variable: Variable) -> None:
        kind = type(value)
        if kind in _PLAIN or issubclass(kind, _CLOSED):
            return
        is_new = id(value) not in self._seen
        self._seen.add(id(value))
        if self._is_array(value):
            if not is_new:
                self.shared.add(id(value))
            elif of is not None:
                of.entries.append(value)
            else:  # right in a variable
                node = Node(None, label, None, variable)
                node.entries.append(value)
                self.nodes.append(node)
        elif is_new:
            self._queue.append(Node(value, label, of, variable))

    def below(self, top: Node) -> list[Any]:
        """The arrays below an object."""
        within, arrays = {id(top)}, [*top.entries]
        for node in self.nodes:
            if id(node.of) in within:
                within.add(id(node))
                arrays += node.entries
        return arrays

    def counts(self) -> dict[Path, float]:
        """The arrays below each object that has any."""
        return {node.path: node.arrays for node in self.nodes if node.arrays}

    def grown(self, before: dict[Path, float]) -> list[Node]:
        """The objects that hold more arrays than before: those nearest to the arrays."""
        more: dict[int, list[tuple[float, Node]]] = {}
        for node in self.nodes:
            growth = node.arrays - before.get(node.path, node.arrays)
            if growth >= 1:
                more.setdefault(id(node.of), []).append((growth, node))
        found = []
        for top in sorted(more.get(id(None), []), key=lambda each: -each[0]):
            most: tuple[float, Node] | None = top
            while most is not None and most[0] >= _NEARLY * top[0]:
                nearest = most[1]
                most = max(more.get(id(nearest), []), key=lambda each: each[0], default=None)
            found.append(nearest)
        return found


def _below(node: Node) -> list[tuple[str, Any]]:
    """What an object holds, with labels; of large containers the newest entries."""
    value = node.value
    kind: Any = type(value)
    try:
        if issubclass(kind, dict):
            node.whole = max(1.0, dict.__len__(value) / _NEWEST)
            newest = [*islice(dict.__reversed__(value), _NEWEST)]
            labels = [f"[{key!r}]" if type(key) in (str, int) else "[…]" for key in newest]
            return [(label, dict.__getitem__(value, key)) for label, key in zip(labels, newest)]
        for ordered in _ORDERED:
            if issubclass(kind, ordered):
                length, names = ordered.__len__(value), getattr(kind, "_fields", ())
                node.whole = max(1.0, length / _NEWEST)
                at = range(length - 1, max(-1, length - 1 - _NEWEST), -1)
                of = [f".{names[n]}" if n < len(names) else f"[{n}]" for n in at]
                return [(label, ordered.__getitem__(value, n)) for label, n in zip(of, at)]
        if kind is FunctionType:
            return [*zip(value.__code__.co_freevars, value.__closure__ or ())]
        attributes = _attributes(kind, value)
        others = [("", each) for each in gc.get_referents(value) if each is not attributes]
        return [(f".{name}", each) for name, each in [*attributes.items()][:_NEWEST]] + others
    except (IndexError, KeyError, RuntimeError):  # another thread has changed it meanwhile
        return []


def _attributes(kind: Any, value: Any) -> dict[str, Any]:
    """The attributes of an object, without asking it."""
    if kind not in _DICT_OF:
        found = (vars(base).get("__dict__") for base in type.mro(kind))
        _DICT_OF[kind] = next((each for each in found if type(each) is GetSetDescriptorType), None)
    get = _DICT_OF[kind]
    attributes = {} if get is None else get.__get__(value)
    return attributes if type(attributes) is dict else {}


def variables_of(frame: FrameType) -> list[tuple[str, Any]]:
    """The variables of a frame and their values, without making the frame keep them alive.

    Before Python 3.13 a function's frame keeps the dict returned by ``f_locals``.
    """
    known, code = frame.f_locals, frame.f_code
    variables = [*zip(known, known.values())][:_VARIABLES]
    snapshot = code.co_flags & inspect.CO_OPTIMIZED and isinstance(known, dict)
    if snapshot and sys.getrefcount(known) <= 3:  # references: the frame's, ours, the argument
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            known.pop(name, None)
    return variables


def variables(frame: FrameType | None, sites: CallSites) -> Found:
    """The program's variables with their values: of the frames on a stack, the outermost first, and
    of its other modules that the capture has met on a stack.
    """
    frames: list[FrameType] = []
    while frame is not None:
        if sites.kind(frame.f_code.co_filename) == USER:
            frames.append(frame)
        frame = frame.f_back
    lines = [each.f_lineno or each.f_code.co_firstlineno for each in frames]
    stack = tuple(line_of(each.f_code, line) for each, line in zip(frames, lines))
    known = set()
    for depth, frame in reversed([*enumerate(frames)]):
        code = frame.f_code
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] + code.co_freevars
        if not code.co_flags & inspect.CO_OPTIMIZED:
            known.add(code.co_filename)
        for name, value in variables_of(frame):
            yield Variable(name, stack[depth:], name in given), value
    files = sites.known_files(USER) - known
    for module in [*sys.modules.values()] if files else ():
        names = vars(module) if type(module) is ModuleType else {}
        if (file := names.get("__file__")) in files:
            for name, value in [*names.items()]:
                yield Variable(name, ((file, 1, "<module>"),)), value
