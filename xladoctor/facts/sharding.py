"""How arrays are divided over devices, and what devices send one another for it."""

from typing import Annotated

from xladoctor.facts.files import MODULE_FILES
from xladoctor.recording.bootstrap._xladoctor.facts import (
    Fact,
    Number,
    Position,
    Site,
    Size,
    derived,
)


class _Partitioned(Fact, source=".xplane.pb", files=MODULE_FILES): ...


class Placement(
    _Partitioned,
    example="SELECT argument, spec, bytes, device_bytes FROM placement ORDER BY bytes DESC",
):
    """An argument or result of a module of several devices, and how it is divided over them."""

    program_id: Annotated[int, "number of the program"]
    role: Annotated[str, "argument or result"]
    number: Annotated[Number, "its position"]
    argument: Annotated[str, "its path, as params['w'], where the module has it"]
    type: Annotated[str, "element type"]
    shape: Annotated[tuple[int, ...], "dimensions of the whole array"]
    bytes: Annotated[Size, "of the whole array"]
    device_bytes: Annotated[Size, "that a device has of it"]
    spec: Annotated[
        str,
        "axes that each dimension is divided over, as ('data', None); the number of parts where"
        " axes have no names",
    ]
    axes: Annotated[str, "all these axes, as data, model"]
    copies: Annotated[Number, "devices that have the same part"]


class Communication(
    _Partitioned,
    example="SELECT kind, reason, axes, bytes * times AS bytes, file, line FROM communication"
    " ORDER BY bytes DESC",
):
    """An operation of such a module in which devices communicate; alike ones are one row."""

    position: Position = derived()
    program_id: Annotated[int, "number of the program"]
    instruction: Annotated[str, "name of it, or of one of several alike"]
    kind: Annotated[str, "as in HLO: all-gather, all-reduce, all-to-all, …"]
    reason: Annotated[
        str,
        "written (the program calls it), asked (for another division of a value there), gradients"
        " (their sum), sums (of a product or sum over a divided dimension), argument (one that is"
        " divided, made whole), result (divided otherwise than it is computed), neighbours (parts"
        " that others have), or reshard (an operation needs a value divided otherwise than another"
        " makes it)",
    ]
    type: Annotated[str, "element type of its result"]
    shape: Annotated[tuple[int, ...], "dimensions of that on a device"]
    bytes: Annotated[Size, "that a device receives in one, as a ring of devices does it"]
    times: Annotated[Size, "how often in a run of the module; loops of unknown length count once"]
    group: Annotated[Size, "devices that communicate, where it says so"]
    axes: Annotated[str, "axes of the mesh that they lie along; empty where they have no names"]
    asynchronous: Annotated[bool, "whether others can run beside it"]
    in_loop: Annotated[bool, "whether it is in a loop of the module"]
    outside: Annotated[
        str,
        "before or behind: where it could stand instead of in the loop, as what it gathers does not"
        " change there, or what it sums is only added up; else empty",
    ]
    argument: Annotated[Number, "position of the argument that it gathers"]
    before: Annotated[str, "how it finds the value divided, where that can be seen"]
    after: Annotated[str, "how it leaves it"]
    op_name: Annotated[str, "the framework's name of the operation that needs it, with scopes"]
    made_file: Annotated[str, "path of the line that makes the value"]
    made_line: Annotated[Number, "that line"]
    made_op: Annotated[str, "the framework's name of that operation"]
    site: Site
