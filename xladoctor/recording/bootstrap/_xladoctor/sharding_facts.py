"""Facts about arrays that are split over devices; see ``facts.py``."""

from typing import Annotated

from .facts import ONLY_RECORDED, Count, Fact, Number, Shape, Site, Size, ThreadId, derived


class FullCopy(
    Fact,
    event="copied",
    source="steps.jsonl, console log",
    files=("steps.jsonl",),
    example="SELECT compiled, type, shape, bytes, before, after, file, line FROM full_copy",
):
    """An array that the partitioner could bring to another sharding only by making it whole on each
    device ("involuntary full rematerialization"), as it says itself.
    """

    thread: Annotated[ThreadId | None, "thread that compiled it; NULL in a log"] = None
    index: Annotated[Number | None, "number of the compilation; NULL in a log"] = None
    text: Annotated[str, ONLY_RECORDED, "what it says"]
    count: Annotated[Count, "how often it says so"]
    compiled: Annotated[str, "the compiled function, where it says so"] = derived()
    instruction: Annotated[str, "the instruction that makes the array"] = derived()
    opcode: Annotated[str, "its operation"] = derived()
    type: Annotated[str, "element type, as HLO text writes it"] = derived()
    shape: Annotated[Shape, "dimensions of the whole array"] = derived()
    bytes: Annotated[Size, "of the whole array"] = derived()
    before: Annotated[str, "how it is split, in words"] = derived()
    after: Annotated[str, "how it has to be, in words"] = derived()
    between: Annotated[str, "a sharding between them, one move from each, where there is one"] = (
        derived()
    )
    op_name: Annotated[str, "operation that it comes from, with scopes"] = derived()
    frame: Annotated[Number, "its Python stack in hlo_frame, if no line is named"] = derived()
    site: Site
