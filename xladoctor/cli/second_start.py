"""What a second start of a program compiles, although the first has filled a cache on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xladoctor.cli.output import temporary_folder
from xladoctor.foreign import quoted
from xladoctor.report.output import say
from xladoctor.repository import from_here

if TYPE_CHECKING:
    from xladoctor.diagnosis.examination import Examination
    from xladoctor.recording.interface import RunOutcome


@contextmanager
def fresh_cache() -> Iterator[None]:
    """Programs that are started within the block share an empty cache of compiled graphs, in which
    every graph is kept, however quickly it is compiled.
    """
    from xladoctor.frontends.vocabulary import vocabularies

    with temporary_folder() as folder:
        settings = {
            name: value.replace("{folder}", folder)
            for each in vocabularies().values()
            for name, value in each.disk_cache.settings.items()
        }
        say("the first start fills an empty cache of compiled graphs; the second is judged")
        with _environment(settings):
            yield


def say_why(first: RunOutcome, second: Sequence[Examination]) -> None:
    """Name the command that shows why a second start compiled again, if one did."""
    for each in second:
        if any(count.name == "cache_misses" and count.value for count in each.diagnosis.counts):
            runs = quoted(str(from_here(first.runs[0].path)), each.diagnosis.run.path)
            say(f"why graphs were compiled again: xladoctor cache {runs}")


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the programs that are started within the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
