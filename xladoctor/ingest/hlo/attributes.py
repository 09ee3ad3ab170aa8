"""What an instruction says beside its operands and its shape, as HLO text prints it.

Only what a Python number or flag of the program ends in, for the opcodes that frontends
emit: bounds of slices, padding, dimensions, windows, directions. Format: ``PrintExtraAttributes``
of ``xla/hlo/ir/hlo_instructions.cc``, shortened where it would repeat the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def text(instruction: Any) -> str | None:
    """The attributes of an instruction, None where its opcode has none that are read."""
    printer = _PRINTERS.get(instruction.opcode)
    return printer(instruction) if printer else None


def _dimensions(instruction: Any) -> str:
    return f"dimensions={_list(instruction.dimensions)}"


def _list(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _slice(instruction: Any) -> str:
    bounds = (
        f"[{one.start}:{one.limit}{f':{one.stride}' if one.stride != 1 else ''}]"
        for one in instruction.slice_dimensions
    )
    return "slice={" + ",".join(bounds) + "}"


def _pad(instruction: Any) -> str:
    edges = (
        f"{one.edge_padding_low}_{one.edge_padding_high}"
        f"{f'_{one.interior_padding}' if one.interior_padding else ''}"
        for one in instruction.padding_config.dimensions
    )
    return "padding=" + "x".join(edges)


def _window(instruction: Any) -> str:
    dimensions = instruction.window.dimensions
    parts = {
        "size": [one.size for one in dimensions], "stride": [one.stride for one in dimensions],
        "pad": [f"{one.padding_low}_{one.padding_high}" for one in dimensions],
        "lhs_dilate": [one.base_dilation for one in dimensions],
        "rhs_dilate": [one.window_dilation for one in dimensions],
        "rhs_reversal": [int(one.window_reversal) for one in dimensions],
    }  # fmt: skip
    plain: dict[str, Any] = {"stride": 1, "pad": "0_0", "lhs_dilate": 1, "rhs_dilate": 1,
                             "rhs_reversal": 0}  # fmt: skip
    shown = (
        f"{name}={'x'.join(map(str, values))}"
        for name, values in parts.items() if values and set(values) != {plain.get(name)}
    )  # fmt: skip
    groups = instruction.feature_group_count
    return (
        "window={"
        + " ".join(shown)
        + "}"
        + (f" groups={groups}" if groups > 1 else "")
        + (_precision(instruction))
    )


def _dot(instruction: Any) -> str:
    numbers = instruction.dot_dimension_numbers
    return (
        f"contracting={_list(numbers.lhs_contracting_dimensions)}"
        f"x{_list(numbers.rhs_contracting_dimensions)}"
        f" batch={_list(numbers.lhs_batch_dimensions)}x{_list(numbers.rhs_batch_dimensions)}"
        f"{_precision(instruction)}"
    )


def _precision(instruction: Any) -> str:
    """Shown where it is not the default."""
    precision = instruction.precision_config.operand_precision
    return f" precision={_list(precision)}" if any(precision) else ""


_PRINTERS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("broadcast", "transpose", "reduce", "concatenate", "iota", "reverse", "sort"),
                    _dimensions),
    "slice": _slice, "pad": _pad, "reduce-window": _window, "convolution": _window,
    "select-and-scatter": _window, "dot": _dot,
    "dynamic-slice": lambda one: f"sizes={_list(one.dynamic_slice_sizes)}",
    "gather": lambda one: f"slice_sizes={_list(one.gather_slice_sizes)}",
    "compare": lambda one: f"direction={one.comparison_direction}",
    "rng": lambda one: f"distribution={one.distribution}",
    "custom-call": lambda one: f"target={one.custom_call_target}",
}  # fmt: skip
