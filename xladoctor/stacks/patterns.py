"""The patterns that give a thread's verdict: ``patterns.yaml``, and the frames of frameworks."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from xladoctor.frontends.vocabulary import vocabularies
from xladoctor.frontends.vocabulary_file import FramePattern
from xladoctor.stacks.interface import Frame, Kind

#: Of native code: what is going on comes before what it is part of.
_ORDER = (
    *(Kind.compiling, Kind.collective, Kind.transfer, Kind.device),
    *(Kind.native, Kind.data, Kind.waiting, Kind.lock),
)


class Pattern(FramePattern):
    """What a frame below the user's line means."""

    kind: Kind

    def matches(self, frame: Frame) -> bool:
        """Whether the frame is of this pattern."""
        if self.file is not None and not re.search(rf"/{self.file}$", frame.file):
            return False
        return bool(re.search(self.function, frame.function))


class Source(BaseModel):
    """What a line that waits in native code seems to do, by the regular expression ``line``."""

    model_config = ConfigDict(extra="forbid")
    kind: Kind
    text: str
    line: str


class Call(BaseModel):
    """A system call: its numbers, and what a thread in it waits for, if that is known.

    Attributes:
        of_a_file: whether its first argument is a descriptor.
    """

    model_config = ConfigDict(extra="forbid")
    x86_64: int | None = None
    aarch64: int | None = None
    of_a_file: bool = False
    kind: Kind = Kind.unknown
    text: str = ""


class Patterns(BaseModel):
    """All patterns; of each list the first that matches counts."""

    model_config = ConfigDict(extra="forbid")
    native: list[Pattern]
    python: list[Pattern]
    barriers: list[Pattern]
    source: list[Source]
    calls: dict[str, Call]


@cache
def patterns() -> Patterns:
    """The patterns of the file and of all frontends."""
    text = Path(__file__).with_suffix(".yaml").read_text("utf-8")
    own = Patterns.model_validate(yaml.safe_load(text))
    frames = chain.from_iterable(each.frames for each in vocabularies().values())
    named = [Pattern.model_validate(frame.model_dump()) for frame in frames]
    native = [*own.native, *(each for each in named if each.file is None)]
    barriers = [each for each in named if each.barrier]
    python = [each for each in named if each.file is not None and not each.barrier]
    return Patterns(
        native=sorted(native, key=lambda each: _ORDER.index(each.kind)),
        python=[*python, *own.python],
        barriers=[*barriers, *own.barriers],
        source=own.source,
        calls=own.calls,
    )
