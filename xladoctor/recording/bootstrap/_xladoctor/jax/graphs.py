"""A graph as JAX lowered it, without the values of its constants.

Whether a graph fits, and what of it is padding, does not depend on these. A constant of the
function itself becomes one more argument, and so takes the memory that it took.
"""

from __future__ import annotations

import io
import math
import re
from typing import Any, NamedTuple

from ..disguise import pass_on

MOST_ELEMENTS = 16  # of a constant that is kept as it is, as in the evidence


class Kept(NamedTuple):
    """A graph to keep; see :class:`..facts.KeptGraph`."""

    content: bytes
    constants: int
    replicas: int | None
    partitions: int | None


def kept(lowered: Any) -> Kept:
    """A graph in StableHLO that other versions of JAX can read.

    Args:
        lowered: a module of MLIR, which stays as it is.
    """
    module, lacking = lowered.operation, 0
    if any(map(is_large, constants(module))):
        module = module.clone()
        lacking = _without_values(module)
    return Kept(
        _serialized(module), lacking, _count(module, "replicas"), _count(module, "partitions")
    )


def constants(operation: Any) -> list[Any]:
    """The operations that make constants, in the order of the text."""
    from jaxlib.mlir import ir

    found: list[Any] = []

    def look(inner: Any) -> Any:
        if inner.name == "stablehlo.constant":
            found.append(inner)
        return ir.WalkResult.ADVANCE

    operation.walk(look)
    return found


def is_large(constant: Any) -> bool:
    """Whether a constant has values of arrays, rather than some numbers or one repeated number."""
    if math.prod(constant.results[0].type.shape) <= MOST_ELEMENTS:
        return False
    try:
        return not getattr(constant.attributes["value"], "is_splat", False)
    except TypeError:  # a kind that the bindings lack, such as of complex numbers
        return True


def _without_values(module: Any) -> int:
    """Replace the large constants; return the bytes of those that no argument stands for."""
    from jaxlib.mlir import ir

    functions = module.regions[0].blocks[0].operations
    main = next(each for each in functions if is_main(each))
    block, lacking = main.regions[0].blocks[0], 0
    with module.context, ir.Location.unknown():
        for constant in filter(is_large, constants(module)):
            result = constant.results[0]
            if is_main(_function_of(constant)):
                result.replace_all_uses_with(block.add_argument(result.type, constant.location))
                constant.erase()
            else:
                constant.attributes["value"] = _ones(result.type)
                lacking += size_of(result.type)
        _declare(main, [each.type for each in block.arguments])
    return lacking


def is_main(operation: Any) -> bool:
    """Whether it is the function that is called from outside."""
    return "sym_name" in operation.attributes and operation.attributes["sym_name"].value == "main"


def _function_of(operation: Any) -> Any:
    while "sym_name" not in operation.attributes:
        operation = operation.parent
    return operation


def _declare(function: Any, inputs: list[Any]) -> None:
    """Give a function the type that its block has by now."""
    from jaxlib.mlir import ir

    attributes = function.attributes
    results = attributes["function_type"].value.results
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    if "arg_attrs" in attributes:
        known = [*attributes["arg_attrs"]]
        more = [ir.DictAttr.get({})] * (len(inputs) - len(known))
        attributes["arg_attrs"] = ir.ArrayAttr.get([*known, *more])


def size_of(kind: Any) -> int:
    """The size of an array; complex numbers are two."""
    element, elements = str(kind.element_type), math.prod(int(size) for size in kind.shape)
    bits = re.search(r"\d+", element)
    each = max(int(bits[0]) if bits else 8, 8) // 8
    return elements * each * (2 if element.startswith("complex") else 1)


def _ones(kind: Any) -> Any:
    """An array of ones: zeros would remove what they are multiplied with."""
    from jaxlib.mlir import ir

    element = str(kind.element_type)
    one = "(1.0, 0.0)" if element.startswith("complex") else "1.0" if "f" in element else "1"
    one = "true" if element == "i1" else one
    return ir.Attribute.parse(f"dense<{one}> : {kind}")


def _serialized(module: Any) -> bytes:
    written = io.BytesIO()
    module.write_bytecode(written)
    plain = written.getvalue()
    try:
        from jaxlib import xla_client
        from jaxlib.mlir.dialects import stablehlo

        window = stablehlo.StablehloCompatibilityRequirement.WEEK_12
        version = stablehlo.get_version_from_compatibility_requirement(window)
        portable = xla_client._xla.mlir.serialize_portable_artifact(plain, version, True)
    except Exception as error:  # private, or an operation of another dialect: libtpu may read it
        pass_on(error)
        return plain
    return bytes(portable)


def _count(module: Any, name: str) -> int | None:
    attribute = f"mhlo.num_{name}"
    return int(module.attributes[attribute].value) if attribute in module.attributes else None
