"""Chooses the frame of a Python stack to name, by the same rule as at capture time.

It is the innermost frame outside the standard library, the framework and xladoctor itself. If that
frame is in another installed package, the nearest user frame is kept as its context. A frame of
such a package that only passes on its arguments is named only if no user frame is above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from xladoctor.frontends.vocabulary import DEFAULT, vocabulary
from xladoctor.quantities import whole_number

_DIGITS = 9  # no line number has more
_INSTALLED = ("/site-packages/", "/dist-packages/")
#: Common names of decorators' wrappers, for frames that the capture did not classify.
_PASSING = re.compile(
    r"_?wrapp(?:er|ed)|decorated|inner(?:_wrapper)?|wrapped_func(?:tion)?", re.ASCII
)
#: A frame's line in a traceback.
TRACED = re.compile(r'\s*File "(?P<file>.+?)", line (?P<line>\d{1,9}), in (?P<name>.+)')

#: A file and a line of it, as far as they are known.
Line = tuple[str | None, int | None]


class Frame(NamedTuple):
    """One frame of a Python stack."""

    file: str
    line: int
    function: str


def frame_in(text: str) -> Frame | None:
    """The frame in a text ``function (file:line)``, as in logs; None for other texts.

    Not a regular expression, which would try each bracket with each colon of a damaged line.
    """
    place, _, line = text.removesuffix(")").rpartition(":")
    function, mark, file = place.rpartition(" (")
    number = whole_number(line, _DIGITS)
    is_frame = text.endswith(")") and mark and file and function and not function[0].isspace()
    return Frame(file, number, function) if is_frame and number is not None else None


@dataclass(frozen=True, slots=True)
class CallSite:
    """The named line, and the user's line that led there if it is a different one."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
    user_file: str | None = None
    user_line: int | None = None
    user_function: str | None = None
    via: str = ""

    def columns(self) -> dict[str, str | int | None]:
        """The columns that every table with a call site shares."""
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "user_file": self.user_file,
            "user_line": self.user_line,
            "user_function": self.user_function,
            "via": self.via,
        }


NOWHERE = CallSite()


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the program's interpreter kept its modules; empty when unknown.

    Attributes:
        standard: the standard library.
        installed: other packages.
        main: the main script.
        framework: packages that belong to the framework.
        passing: by file and line, whether a frame there only passes a call on, where the capture
            has seen its code.
        checkouts: folders of repositories that hold such packages, used if the folders of
            installed packages are unknown.
        own_files: regular expression for paths of the framework's files, used likewise.
    """

    standard: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()
    main: str | None = None
    framework: tuple[str, ...] = field(default_factory=lambda: vocabulary(DEFAULT).packages)
    passing: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    checkouts: tuple[str, ...] = field(default_factory=lambda: vocabulary(DEFAULT).checkouts)
    own_files: str = "(?!)"

    @classmethod
    def elsewhere(cls, frontend: str) -> Folders:
        """The folders of a program of the frontend on a machine of which nothing is known."""
        words = vocabulary(frontend)
        return cls(framework=words.packages, own_files=words.own_files)

    def is_user(self, file: str) -> bool:
        """Whether the user wrote it: neither installed nor part of Python."""
        return not self.is_machinery(file) and self._package(file) is None

    def is_machinery(self, file: str) -> bool:
        """Whether it belongs to Python, the framework or the capture."""
        if "/bootstrap/_xladoctor/" in file:
            return True
        if file.startswith("<"):
            return not file.startswith("<ipython")
        package = self._package(file)
        if package is not None:
            return package in self.framework
        return any(file.startswith(folder + "/") for folder in self.standard) or (
            not self.standard and "/lib/python3." in file
        )

    def kind(self, file: str) -> str:
        """``user``, ``library`` or ``machinery``."""
        if self.is_user(file) or file == self.main:
            return "user"
        return "machinery" if self.is_machinery(file) else "library"

    def passes_on(self, frame: Frame) -> bool:
        """Whether a library's frame only passes a call on, as the wrappers of decorators do."""
        return self.passing.get((frame.file, frame.line), bool(_PASSING.fullmatch(frame.function)))

    def _package(self, file: str) -> str | None:
        file = file.replace("\\", "/")
        for folder in self.installed:
            if file.startswith(folder + "/"):
                return file[len(folder) + 1 :].split("/", 1)[0]
        for marker in _INSTALLED:
            if marker in file:
                return file.rsplit(marker, 1)[1].split("/", 1)[0]
        if not self.installed:
            packages = (file.partition(place)[2].split("/", 1)[0] for place in self.checkouts)
            own = self.framework[0] if re.search(self.own_files, file) else None
            return next((package for package in packages if package in self.framework), own)
        return None

    def locate(self, frames: Iterable[Frame]) -> CallSite:
        """The call site of a stack, innermost frame first."""
        guilty: Frame | None = None
        passer: Frame | None = None
        via = ""
        for frame in frames:
            if self.is_user(frame.file) or frame.file == self.main:
                if guilty is None:
                    return CallSite(*frame, via=via)
                return CallSite(*guilty, *frame, via=via)
            if self.is_machinery(frame.file):
                if guilty is None and "/_xladoctor/" not in frame.file:
                    via = frame.function
            elif guilty is None:
                if self.passes_on(frame):
                    passer = passer or frame
                else:
                    guilty = frame
        guilty = guilty or passer
        return CallSite(*guilty, via=via) if guilty else NOWHERE
