"""Facts about the device's memory that a program holds from step to step."""

from typing import Annotated

from .facts import Fact, Function, Number, Position, Site, Size, ThreadId, derived


class LiveMemory(
    Fact,
    event="live",
    source="steps.jsonl",
    example="SELECT file, line, step, arrays, bytes FROM live_memory ORDER BY bytes DESC",
):
    """Arrays of the device that the program held when a step ended, by the line that made them.

    Such a look comes after 4, 8, 16, … steps. A row without a line has all arrays together, where
    the framework does not know what made them.
    """

    position: Position = derived()
    thread: ThreadId
    step: Annotated[Number, "steps until then"]
    arrays: Annotated[Size, "how many"]
    bytes: Annotated[Size | None, "their size, where the framework tells"] = None
    site: Site = None


class MemoryHolder(
    Fact,
    event="holder",
    source="steps.jsonl",
    example="SELECT name, kind, step, arrays, most, released FROM memory_holder",
):
    """An object of the program that held more arrays at a look than at the one before, by the name
    that leads to it; or a variable that no line reads any more while it holds arrays.
    """

    position: Position = derived()
    thread: ThreadId
    step: Annotated[Number, "steps until then, as in live_memory"]
    name: Annotated[str, "variable, attribute or entry, as the program writes it"]
    owner: Annotated[str, "function of the variable, or <module>"]
    kind: Annotated[str, "class of the object"]
    arrays: Annotated[Size, "arrays in it, and in what it holds"]
    before: Annotated[Size, "the same at the look before"]
    bytes: Annotated[Size, "their size"]
    graphs: Annotated[Size, "arrays of these that keep what computing their gradient needs"] = 0
    most: Annotated[Size | None, "entries that it can have at most, if it has a limit"] = None
    released: Annotated[
        bool | None, "whether the source takes entries out, or makes the object again, where known"
    ] = None
    unread: Annotated[bool, "whether no line reads the variable any more"] = False
    twin: Annotated[str | None, "variable with arrays of the same shapes, if it is unread"] = None
    added: Annotated[Function, "the line that adds to it, or assigns the variable, where known"] = (
        None
    )
    site: Site = None
