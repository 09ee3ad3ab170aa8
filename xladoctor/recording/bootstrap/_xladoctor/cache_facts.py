"""Facts about the framework's cache of compiled graphs on disk."""

from typing import Annotated

from .facts import Duration, Fact, Number, Position, Site, Size, ThreadId, derived


class CacheLookup(
    Fact,
    event="cache",
    source="steps.jsonl",
    kept=True,
    example="SELECT name, outcome, reason FROM cache_lookup WHERE outcome != 'hit'",
):
    """A graph that was looked up in the framework's cache on disk before it was compiled."""

    position: Position = derived()
    thread: ThreadId
    step: Annotated[Number, "index of the step"]
    number: Annotated[Number, "number of the lookup in its process, from 0"]
    compilation: Annotated[Number, "number of the compilation, or loading, as in compilation"]
    name: Annotated[str, "function that was compiled; empty for that of the compilation"]
    key: Annotated[str, "of the entry"]
    computation: Annotated[str, "digest of the graph, which is a part of the key"]
    outcome: Annotated[str, "hit, kept (compiled and written) or not kept"]
    reason: Annotated[
        str | None,
        "why not kept: folder (none is set), short (quickly compiled), small, large, callbacks (it"
        " calls the host), process (another one writes), shared (another one compiled it), damaged"
        " (an entry that cannot be read stays), checked (each start compiles all, to compare),"
        " unsupported, bypass (the framework does not cache it), error",
    ] = None
    detail: Annotated[str | None, "the limit that it did not meet, or the error"] = None
    folder: Annotated[str | None, "the cache's folder"] = None
    read_ns: Annotated[Duration, "how long reading the cache took"]
    write_ns: Annotated[Duration, "how long writing the entry took"]
    bytes: Annotated[Size | None, "size of the entry, compressed"] = None
    compile_ns: Annotated[Duration | None, "how long compiling took, which a hit saves"] = None
    text_file: Annotated[str | None, "file below the run directory that has its text"] = None
    text_at: Annotated[Size | None, "where in the file its text begins"] = None
    text_bytes: Annotated[Size | None, "bytes of its text there, compressed"] = None
    site: Site = None


class CacheKeyPart(
    Fact,
    event="cache key",
    source="steps.jsonl",
    kept=True,
    example="SELECT part, text FROM cache_key_part WHERE lookup = 0",
):
    """A part of the keys of a cache on disk, from a lookup on until another row has the part."""

    position: Position = derived()
    lookup: Annotated[Number, "number of the first lookup with it"]
    part: Annotated[str, "name, as the framework has it"]
    digest: Annotated[str, "of what was hashed"]
    text: Annotated[
        str | None, "what was hashed, where it can be read; with the first row of a digest"
    ] = None
