"""Writes patches into the files of the project."""

from __future__ import annotations

from collections.abc import Sequence

from xladoctor.fixes.interface import FixError, Patch
from xladoctor.fixes.plan import patched
from xladoctor.repository import from_here
from xladoctor.whole_files import replacing


def written(patches: Sequence[Patch]) -> list[str]:
    """Write the files, each as a whole or not at all; return a line about each.

    Raises:
        FixError: a file has changed, or cannot be written.
    """
    lines = []
    for file, text in patched(patches).items():
        try:
            with replacing(file) as new:
                new.write(text.encode("utf-8"))
        except OSError as error:
            raise FixError(f"{from_here(file)} cannot be written: {error.strerror}") from error
        rules = sorted({patch.finding.rule for patch in patches if patch.file == file})
        lines.append(f"{from_here(file)}: changed for {', '.join(rules)}")
    return lines
