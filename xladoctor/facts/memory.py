"""Device memory that did not suffice, as the runtime or a compiler says."""

from typing import Annotated

from xladoctor.recording.bootstrap._xladoctor.facts import Fact, Number, Shape, Site, Size


class _Said(Fact, source="process.json, console log", files=("process.json",)): ...


class MemoryShortage(
    _Said, kept=True, example="SELECT program, used_bytes, available_bytes FROM memory_shortage"
):
    """A message that memory did not suffice; what it does not say is NULL."""

    number: Annotated[Number, "which message of its process, from 0"]
    raised: Annotated[bool, "whether an exception says so; a compiler that only logs it may retry"]
    space: Annotated[str, "hbm, device or host"]
    program: Annotated[str, "the compiled function that most of the named buffers are of"]
    used_bytes: Annotated[Size, "what the program needs, or what is in use"]
    available_bytes: Annotated[Size, "what there is; of an allocation, what is free"]
    requested_bytes: Annotated[Size, "what an allocation asked for"]
    argument_bytes: Annotated[Size, "of the program's arguments"]
    temporary_bytes: Annotated[Size, "of what it computes meanwhile"]
    fragmented_bytes: Annotated[Size, "lost between buffers"]
    text: Annotated[str, "its first line"]
    site: Annotated[Site, "the program's line that the exception came from"]


class ShortageBuffer(
    _Said, kept=True, example="SELECT bytes, type, shape, op_name FROM shortage_buffer"
):
    """One of the largest buffers that such a message names."""

    number: Annotated[Number, "number of the message"]
    nth: Annotated[Number, "which buffer, from 0: the largest first"]
    bytes: Annotated[Size, "its size"]
    unpadded_bytes: Annotated[Size, "its size without padding"]
    type: Annotated[str, "element type, as HLO text writes it"]
    shape: Annotated[Shape, "dimensions"]
    op_name: Annotated[str, "operation that it comes from, with scopes"]
    label: Annotated[str, "instruction, as XLA labels it"]
    kind: Annotated[str, "argument, or temporary"]
    site: Annotated[Site, "the line that made it"]
