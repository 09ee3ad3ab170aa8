"""What the child found, checked and in words."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from xladoctor.ingest.memory_errors import shortage
from xladoctor.ingest.protobuf_schema import message
from xladoctor.tpu_check.compiler.interpreter import Compiler
from xladoctor.tpu_check.compiler.outcome import (
    Buffer,
    Compiled,
    DoesNotFit,
    Kind,
    Least,
    Memory,
    Outcome,
    Refused,
    Stage,
)
from xladoctor.tpu_check.compiler.topology import Topology

RESULT, MODULE, PLAN = "result.json", "module.pb.gz", "plan.pb.gz"
_BEGINS = b"\n"  # of HloModuleProto: its name
_PART = 1 << 20
_LONGEST = 300  # characters of a compiler's message
_OOM = re.compile("CompileTimeHbmOom|Ran out of memory (?:in memory space|on) hbm", re.IGNORECASE)
_CUSTOM_CALL = re.compile(r"(?:Custom emitter for|custom call target:?) ['\"]?([\w.$@-]+)")
_OPTIMIZED = re.compile(r"failed to legalize operation 'mhlo\.(\w+)'")
#: The field -> the compiler's name.
_MEMORY = {
    "peak": "peak_memory_in_bytes",
    "arguments": "argument_size_in_bytes",
    "outputs": "output_size_in_bytes",
    "aliased": "alias_size_in_bytes",
    "temporaries": "temp_size_in_bytes",
}
#: HBM of all buffers as they are placed, and of those among them that last.
_WHOLE, _LASTING = "total_allocation_bytes", "indefinite_allocations"
#: What to know about a number: of libtpu since 0.0.42, and where the arguments are too large.
_PLANNED = (
    "the number is of the plan that the compiler gave up, with arguments and results; what a"
    " smaller batch needs does not follow from it"
)
_ARGUMENTS = "the number is of the arguments alone; what is computed from them comes on top"
#: Named alike in an outcome.
_SAME = (
    *("topology", "devices", "operations", "seconds", "processor", "stage", "least", "mesh"),
    "buffers",
)


class Result(msgspec.Struct):
    """``result.json``; see ``child/``. What the compiler has raised is judged here."""

    verdict: str
    kind: Kind = "failed"
    detail: str = ""
    operations: int = 0
    devices: int = 1
    topology: str = ""
    seconds: float = 0.0
    processor: float = 0.0
    stage: Stage = "code"
    least: Least | None = None
    memory: dict[str, int] = {}
    mesh: dict[str, int] = {}
    buffers: tuple[Buffer, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict != "raised":
            return
        self.verdict = "refused"
        if "RESOURCE_EXHAUSTED" in self.detail and _OOM.search(self.detail):
            self.verdict = "does_not_fit"
        elif unknown := _CUSTOM_CALL.search(self.detail):
            self.kind = "host_callback" if "callback" in unknown[1] else "custom_call"
            self.detail = unknown[1]
        elif illegal := _OPTIMIZED.search(self.detail):
            self.kind, self.detail = "optimized", illegal[1]


def read_result(folder: Path) -> Result | None:
    """The result in a folder; None if there is none, or it is damaged."""
    try:
        result = msgspec.json.decode((folder / RESULT).read_bytes(), type=Result)
    except (OSError, msgspec.DecodeError):
        return None
    if result.verdict not in ("compiled", "does_not_fit", "refused"):
        return None
    if result.verdict == "compiled" and not _is_whole(folder / MODULE):
        return None
    return result


def _is_whole(module: Path) -> bool:
    """Whether a file is a complete module."""
    try:
        with gzip.open(module) as file:
            if file.read(len(_BEGINS)) != _BEGINS:
                return False
            while file.read(_PART):
                pass
    except (OSError, EOFError, zlib.error):
        return False
    return True


def outcome_of(
    result: Result, folder: Path, topology: Topology, compiler: Compiler, *, cached: bool = False
) -> Outcome:
    """The outcome that a result means, with ``folder`` where the module lies."""
    if result.verdict == "refused":
        return refused(result.kind, topology, compiler, result.detail, result.least)
    found: dict[str, Any] = {name: getattr(result, name) for name in _SAME}
    plan = folder / PLAN
    found |= {"cached": cached, "plan": plan if plan.is_file() else None}
    if result.verdict == "does_not_fit":
        return _does_not_fit(result.detail, found)
    memory = _planned(plan) if result.stage == "plan" else _memory(result.memory)
    if result.stage == "plan" and (memory.peak or 0) > topology.memory:  # as older releases plan
        return DoesNotFit(needed=memory.peak, available=None, memory=memory, **found)
    return Compiled(module=folder / MODULE, memory=memory, **found)


def _does_not_fit(text: str, found: Mapping[str, Any]) -> DoesNotFit:
    """What the message says, in the words of any release."""
    said = shortage(text)
    sizes = said.sizes if said else {}
    needed, available = sizes.get("used_bytes"), sizes.get("available_bytes")
    note = _PLANNED if "HLO temporaries" in text else ""
    if available is not None and "exceeded_bytes" in sizes:  # the exact one of the three
        needed = available + sizes["exceeded_bytes"]
        note = "" if "program_bytes" in sizes else _ARGUMENTS
    memory = Memory(
        arguments=sizes.get("argument_bytes"),
        outputs=sizes.get("result_bytes"),
        aliased=sizes.get("aliased_bytes"),
        temporaries=sizes.get("program_bytes", sizes.get("temporary_bytes")),
    )
    return DoesNotFit(needed=needed, available=available, memory=memory, note=note, **found)


def _memory(numbers: Mapping[str, int]) -> Memory:
    found = {
        field: value
        for field, name in _MEMORY.items()
        if (value := numbers.get(name)) is not None
        and (value > 0 or (value == 0 and field != "peak"))
    }
    whole, lasting = numbers.get(_WHOLE, 0), numbers.get(_LASTING, 0)
    if whole > 0:  # newer releases; the peak has the vector memory, too
        found["peak"] = whole
        if 0 < lasting <= whole:
            found["temporaries"] = whole - lasting
    return Memory(**found)


def _planned(plan: Path) -> Memory:
    """Memory as the compiler plans it: what an executable says, apart from some kilobytes."""
    try:
        proto = message("HloProto").FromString(gzip.decompress(plan.read_bytes()))
    except (OSError, EOFError, zlib.error, DecodeError):
        return Memory()
    sizes = dict.fromkeys(("peak", "arguments", "outputs", "aliased", "temporaries"), 0)
    for each in proto.buffer_assignment.buffer_allocations:
        if each.is_thread_local or each.color:  # color 0 is the device's main memory
            continue
        given, last = each.is_entry_computation_parameter, each.maybe_live_out
        sizes["peak"] += each.size
        sizes["arguments"] += each.size * given
        sizes["outputs"] += each.size * last
        sizes["aliased"] += each.size * (given and last)
        sizes["temporaries"] += each.size * (not (given or last or each.is_constant))
    return Memory(**sizes)


def refused(
    kind: Kind, topology: Topology, compiler: Compiler, detail: str = "", least: Least | None = None
) -> Refused:
    """A refusal in words.

    Args:
        detail: depends on the kind: names, the compiler's message, a limit.
        least: a lower bound of what it needs.
    """
    short = " ".join(detail.split())[:_LONGEST]
    what, hint = _WORDS[kind]
    names = {
        "detail": short,
        "topology": topology.name,
        "jaxlib": compiler.jaxlib,
        "libtpu": compiler.libtpu,
        "python": compiler.python,
        "fitting": "",
        "shapes": ", ".join(topology.kind.shapes),
    }
    if kind == "devices":
        names["fitting"] = _fitting(topology, int(detail))
        names["has"] = topology.devices or "fewer"
    return Refused(kind, what.format(**names), hint.format(**names), least)


def _fitting(topology: Topology, needed: int) -> str:
    fits = topology.for_devices(needed)
    return f"compile it for {fits.name}" if fits else "it has more devices than any usual shape"


#: What happened and what to do, for each kind.
_WORDS: dict[Kind, tuple[str, str]] = {
    "dynamic_shape": (
        "sizes without a bound ({detail}) cannot be compiled for a TPU",
        "use a graph with fixed input sizes, or with an upper bound for each",
    ),
    "host_callback": (
        "it calls back into Python ({detail}), which needs the program that made it",
        "take the graph of a step without callbacks (jax.debug.print, pure_callback, io_callback)",
    ),
    "custom_call": (
        "the custom call {detail} is not for TPUs: the graph was lowered for another platform",
        "lower it for TPUs: jax.export.export(jax.jit(f), platforms=['tpu'])(*args).serialize()",
    ),
    "optimized": (
        "another platform's compiler has already optimized it ({detail})",
        "take the graph before optimization: JAX_DUMP_IR_TO=DIR, or XLA_FLAGS=--xla_dump_to=DIR",
    ),
    "not_a_graph": (
        "it cannot be read by jaxlib {jaxlib}: {detail}",
        "make the file again, or compile with a jaxlib at least as new as the one that wrote it",
    ),
    "flatbuffers": (
        "functions of jax.export can only be read with the package flatbuffers",
        "{python} -m pip install flatbuffers",
    ),
    "topology": (
        "libtpu {libtpu} does not describe {topology}: {detail}",
        "usual shapes are {shapes}",
    ),
    "devices": ("it is for {detail} devices, and {topology} has {has}", "{fitting}"),
    "lock": (
        "libtpu is in use by another process, and admits one: {detail}",
        "wait for its end, or set ALLOW_MULTIPLE_LIBTPU_LOAD=1 for it",
    ),
    "interface": (
        "jaxlib {jaxlib} lacks a name that compiling other programs' graphs needs: {detail}",
        "compile with another release of JAX, and report this one with its version",
    ),
    "failed": ("the compiler of libtpu {libtpu} refuses it for {topology}: {detail}", ""),
    "crashed": (
        "the compiler of libtpu {libtpu} ended while compiling it for {topology}: {detail}",
        "try another release of libtpu; the other graphs are not concerned",
    ),
    "timed_out": (
        "no verdict for {topology} in {detail}",
        "raise --timeout, or compile while this machine has less to do",
    ),
    "interrupted": ("interrupted before there was a verdict for {topology}", ""),
    "out_of_memory": (
        "compiling it for {topology} takes more memory than this machine can give: {detail}",
        "raise the limit, or compile on a machine with more memory",
    ),
    "no_result": (
        "{python} ended without a result: {detail}",
        "see whether this interpreter runs at all, and whether LIBTPU_INIT_ARGS is set and right",
    ),
}
