"""Python stacks of a module's instructions (``StackFrameIndexProto``).

The index has flat arrays that refer to each other by position, from 1, with 0 for none. All
frontends write it in the same way. Source: ``xla/service/hlo.proto``. In a module without it, each
instruction may still have the file and line of one frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from xladoctor.ingest.frames import Folders, Frame
from xladoctor.ingest.interface import Columns

#: The capture's wrappers; the earliest captures had no folder per framework.
_WRAPPERS = re.compile(r"/_xladoctor/(\w+/)?(adapter|transfers)\.py$")
_DEEPEST = 300  # frames of a stack that are looked at; real ones have some hundred


class Origin(NamedTuple):
    """Where an instruction comes from.

    Attributes:
        frame: number of the innermost frame, from 1; None without a stack.
        site: the call site's columns, in the order of :meth:`CallSite.columns`.
        sent: whether the capture's wrapper of uploads is in the stack.
    """

    frame: int | None
    site: tuple[Any, ...]
    sent: bool


class Stacks:
    """The frames of one module, with a cache of their call sites."""

    def __init__(self, index: Any, folders: Folders) -> None:
        self._folders = folders
        self._frames = list(_frames(index))
        self._parents = _parents(index)
        self._origins: dict[Any, Origin] = {}

    def columns(self) -> Columns:
        """The columns of ``hlo_frame`` except the module's; NULL for a frame without a place."""
        places = [frame or (None, None, None) for frame in self._frames]
        return {
            "frame": list(range(1, len(places) + 1)),
            "parent": self._parents[1:],
            "file": [place[0] for place in places],
            "line": [place[1] for place in places],
            "function": [place[2] for place in places],
            "kind": [frame and self._folders.kind(frame.file) for frame in self._frames],
        }

    def origin(self, metadata: Any) -> Origin:
        """Where the instruction with this OpMetadata comes from."""
        number = metadata.stack_frame_id
        known = 0 < number <= len(self._frames)
        key = number if known else (metadata.source_file, metadata.source_line)
        origin = self._origins.get(key)
        if origin is None:
            origin = self._origins[key] = self._locate(key)
        return origin

    def _locate(self, key: int | tuple[str, int]) -> Origin:
        number, stack = None, []
        if isinstance(key, int):
            number, stack = key, list(self._stack(key))
        elif key[0]:
            stack = [Frame(*key, "")]
        site = self._folders.locate(stack)
        sent = any(_WRAPPERS.search(frame.file) for frame in stack)
        return Origin(number, tuple(site.columns().values()), sent)

    def _stack(self, number: int) -> Iterator[Frame]:
        """The frames, innermost first, up to the first invalid reference."""
        for _ in range(_DEEPEST):
            frame = self._frames[number - 1] if number else None
            if frame is None:
                return
            yield frame
            number = self._parents[number]


def _frames(index: Any) -> Iterator[Frame | None]:
    files, functions = list(index.file_names), list(index.function_names)
    places: list[Frame | None] = []
    for location in index.file_locations:
        file, function = location.file_name_id, location.function_name_id
        known = 0 < file <= len(files)
        name = functions[function - 1] if 0 < function <= len(functions) else ""
        places.append(Frame(files[file - 1], location.line, name) if known else None)
    for frame in index.stack_frames:
        location = frame.file_location_id
        yield places[location - 1] if 0 < location <= len(places) else None


def _parents(index: Any) -> list[int]:
    """The parent of each frame, by its number; 0 for none, or if it would close a cycle."""
    parents = [0] + [frame.parent_frame_id for frame in index.stack_frames]
    parents = [parent if 0 < parent < len(parents) else 0 for parent in parents]
    reached = [0] * len(parents)  # the number of the walk that passed
    for start in range(1, len(parents)):
        number = start
        while number and not reached[number]:
            reached[number] = start
            if reached[parents[number]] == start:
                parents[number] = 0
            number = parents[number]
    return parents
