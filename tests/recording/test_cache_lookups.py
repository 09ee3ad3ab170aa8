"""Lookups in a cache on disk, as they are logged."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, cast

from xladoctor.recording.bootstrap._xladoctor.cache_facts import CacheKeyPart
from xladoctor.recording.bootstrap._xladoctor.cache_lookups import LookupLog
from xladoctor.recording.bootstrap._xladoctor.facts import as_line

STATE = cast(Any, SimpleNamespace(id=1, index=0))


def add(log: LookupLog, **digests: str) -> None:
    parts = {part: (digest, lambda text=digest: text) for part, digest in digests.items()}
    log.add(STATE, parts, lambda: None, name="step")


def logged() -> tuple[LookupLog, list[Any]]:
    facts: list[Any] = []
    graphs, recorder = SimpleNamespace(folder=None), SimpleNamespace(log_fact=facts.append)
    return LookupLog(cast(Any, SimpleNamespace(recorder=recorder, graphs=graphs))), facts


def parts(facts: list[Any]) -> list[tuple[Any, ...]]:
    lines = [as_line(each) for each in facts if isinstance(each, CacheKeyPart)]
    return [(each["lookup"], each["part"], each["text"]) for each in lines]


def test_a_part_is_logged_where_it_changes_and_its_text_once() -> None:
    log, facts = logged()
    add(log, flags="a", version="1")
    add(log, flags="a", version="1")
    add(log, flags="b", version="1")
    add(log, flags="a", version="1")
    assert parts(facts) == [
        (0, "flags", "a"),
        (0, "version", "1"),
        (2, "flags", "b"),
        (3, "flags", None),
    ]


def test_a_forked_child_begins_anew() -> None:
    log, facts = logged()
    add(log, flags="a")
    facts.clear()
    child = os.fork()
    if not child:
        add(log, flags="a")
        os._exit(0 if parts(facts) == [(0, "flags", "a")] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    add(log, flags="a")
    assert parts(facts) == []
