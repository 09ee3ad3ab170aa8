"""Explains compilations by new shapes that the program sent to the device; recognises weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from xladoctor.causes.input_cause import input_changed
from xladoctor.causes.interface import Cause, Compilation, InputKind, Line, Parameter, Place
from xladoctor.evidence.database import Database

_SENT_AHEAD = 8  # batches that loaders may have sent before they are used
_ENOUGH = 4  # graphs that are enough to attribute them to a loader's shapes
_MOSTLY = 0.8  # share of the steps with a new shape that must compile
_SHAPES = """
    SELECT process, thread, step, dtype, shape,
           file, line, function, user_file, user_line, user_function
    FROM transfer WHERE direction = 'to_device' ORDER BY position
"""
_FIRST_SENT = "SELECT process, thread, dtype, shape, step FROM transfer ORDER BY step DESC"
_SENT_IN = "SELECT DISTINCT process, file, line, thread, step FROM upload"


class _Upload(NamedTuple):
    """A shape that a line sent for the first time."""

    step: int
    tensor: Parameter


class Uploads:
    """What was sent to the device, by line, thread and step."""

    def __init__(self, database: Database, compilations: Iterable[Compilation]) -> None:
        compiling = {(compilation.process, compilation.step) for compilation in compilations}
        self._telling: dict[tuple[int, int | None], list[list[_Upload]]] = defaultdict(list)
        self._ahead: dict[int, list[list[_Upload]]] = defaultdict(list)
        at_work = {(compilation.process, compilation.thread) for compilation in compilations}
        for (process, thread, *_), shapes in _by_line(database).items():
            if (process, thread) not in at_work:
                self._ahead[process] += _alone(shapes)
            if _goes_along(shapes, {step for p, step in compiling if p == process}):
                self._telling[process, thread].append(shapes)
        self._first_sent: dict[tuple[int, int, InputKind], int | None] = {
            (process, thread, (kind, tuple(shape))): step
            for process, thread, kind, shape, step in database.table(_FIRST_SENT)[1]
        }
        self._sent_in: dict[tuple[int, Line], set[tuple[int, int]]] = defaultdict(set)
        for process, file, line, *when in database.table(_SENT_IN)[1]:
            self._sent_in[process, (file, line)].add((when[0], when[1]))

    def explain(self, compilation: Compilation) -> Cause | None:
        """A shape first sent in the step that compiled, by a line that had sent another before."""
        for shapes in self._telling.get((compilation.process, compilation.thread), ()):
            for position, upload in enumerate(shapes):
                if upload.step != compilation.step:
                    continue
                alike = [old for old in shapes[:position] if _alike(old, upload)]
                if alike:
                    return _of_upload(alike[-1], upload)
        return None

    def explain_in_order(self, site: Sequence[Compilation]) -> dict[Compilation, Cause]:
        """Causes for a call site whose input another thread sends ahead, as loaders do.

        That thread's steps do not show which graph a shape is in. But if all graphs of the site are
        new because of their shapes, there is one graph for each new shape, in the same order.
        """
        if len(site) < _ENOUGH:
            return {}
        for shapes in self._ahead.get(site[0].process, ()):
            if 0 <= len(shapes) - len(site) <= _SENT_AHEAD:
                pairs = zip(site[1:], shapes, shapes[1:], strict=False)
                return {compilation: _of_upload(old, new) for compilation, old, new in pairs}
        return {}

    def was_there(self, compilation: Compilation, parameter: Parameter) -> bool:
        """Whether an input was sent to the device more than a step before: a weight, not a batch.

        Steps belong to a thread, so this is unknown if another thread, such as a loader's, sent it.
        """
        process, thread = compilation.process, compilation.thread
        if compilation.step is None or thread is None:
            return False
        if not parameter.sent:
            sent = self._first_sent.get((process, thread, parameter.kind))
            return sent is not None and sent < compilation.step - 1
        sent_in = self._sent_in.get((process, parameter.place.spot), set())
        if {thread for thread, _ in sent_in} != {thread}:
            return False
        return not {compilation.step, compilation.step - 1} & {step for _, step in sent_in}


def _of_upload(old: _Upload, new: _Upload) -> Cause:
    cause = input_changed(old.tensor, new.tensor, "input_shape")
    return replace(cause, parameter=None, basis="upload")


def _alone(shapes: Sequence[_Upload]) -> list[list[_Upload]]:
    """The shapes of each tensor that a thread sends: by type and number of dimensions."""
    tensors: dict[tuple[str, int], list[_Upload]] = defaultdict(list)
    for upload in shapes:
        tensors[upload.tensor.type, len(upload.tensor.shape)].append(upload)
    return list(tensors.values())


def _by_line(database: Database) -> dict[tuple[int, int, Line], list[_Upload]]:
    """By process, thread and line, what was sent, in the order of the first time."""
    lines: dict[tuple[int, int, Line], list[_Upload]] = defaultdict(list)
    for process, thread, step, kind, shape, *line in database.table(_SHAPES)[1]:
        place = Place(*line)
        tensor = Parameter(0, kind, tuple(shape), None, place, sent=True)
        lines[process, thread, place.spot].append(_Upload(step, tensor))
    return lines


def _goes_along(shapes: Sequence[_Upload], compiling: set[int | None]) -> bool:
    """Whether new shapes coincide with compiling.

    What is sent but is not part of the graph has new shapes in steps that do not compile, too.
    """
    fresh = {upload.step for upload in shapes} - {shapes[0].step}
    return len(fresh & compiling) >= _MOSTLY * len(fresh)


def _alike(old: _Upload, new: _Upload) -> bool:
    """Whether both may be the same tensor, sent in different steps with different sizes."""
    return (
        old.step < new.step
        and len(old.tensor.shape) == len(new.tensor.shape)
        and old.tensor.type == new.tensor.type
    )
