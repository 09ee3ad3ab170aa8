"""What the capture records as facts, which it makes as objects."""

from __future__ import annotations

from itertools import chain

from xladoctor.facts.table import facts_in
from xladoctor.recording.bootstrap._xladoctor import (
    argument_facts,
    cache_facts,
    facts,
    memory_facts,
    sharding_facts,
)
from xladoctor.recording.bootstrap._xladoctor.facts import Fact

MODULES = (facts, cache_facts, argument_facts, memory_facts, sharding_facts)
#: All of them, by module.
RECORDED: tuple[type[Fact], ...] = tuple(chain.from_iterable(map(facts_in, MODULES)))
