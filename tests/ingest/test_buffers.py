"""What modules hold at their peak: held against the compiler's own account, and damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax

from xladoctor.ingest.hlo.buffers import Held, held_at_peak
from xladoctor.ingest.protobuf_schema import message
from xladoctor.protobuf import described

SAMPLES = sorted(Path(__file__).parents[2].glob("sample_traces/*/plugins/profile/*/*.xplane.pb"))
#: The order in which the compiler gave and took memory, which it writes beside the assignment.
_TRACE = described(
    {
        "HloProto": "buffer_assignment 3 Assignment",
        "Assignment": "logical_buffers 1 Buffer*, heap_simulator_traces 4 Trace*",
        "Buffer": "id 1 int64, size 2 int64",
        "Trace": "events 1 Event*",
        "Event": "kind 1 int32, buffer_id 2 int64",
    }
)
_FREE = 1  # others give memory, or hand on what was just freed


def _modules(path: Path) -> Iterator[bytes]:
    for plane in message("XSpace").FromString(path.read_bytes()).planes:
        for entry in plane.event_metadata:
            yield from (stat.bytes_value for stat in entry.value.stats if stat.bytes_value)


def _most_taken(proto: bytes) -> int:
    """Bytes of temporary values at the compiler's own peak."""
    assignment = _TRACE("HloProto").FromString(proto).buffer_assignment
    sizes = {buffer.id: buffer.size for buffer in assignment.logical_buffers}
    most = 0
    for trace in assignment.heap_simulator_traces:
        taken = 0
        for event in trace.events:
            taken += sizes[event.buffer_id] * (-1 if event.kind == _FREE else 1)
            most = max(most, taken)
    return most


def _sum(held: list[Held], *roles: str) -> int:
    return sum(each.bytes for each in held if each.role in roles)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parts[-5])
def test_temporaries_are_what_the_compiler_counts_at_its_peak(path: Path) -> None:
    compared = 0
    for proto in _modules(path):
        if most := _most_taken(proto):
            whole = message("HloProto").FromString(proto)
            held = held_at_peak(whole.buffer_assignment, whole.hlo_module)
            assert _sum(held, "temporary", "activation") == pytest.approx(most, rel=1e-3)
            compared += 1
    assert compared


def _compiled(function: Any, *arguments: Any, donate: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """The buffer assignment and the module."""
    compiled = jax.jit(function, donate_argnums=donate).lower(*arguments).compile()
    executable = compiled.runtime_executable()
    stats = executable.get_compiled_memory_stats()
    [module] = executable.hlo_modules()
    return (
        message("BufferAssignmentProto").FromString(stats.serialized_buffer_assignment_proto),
        message("HloModuleProto").FromString(module.as_serialized_hlo_module_proto()),
    )


def _gradient_of_layers(weights: Any, batch: Any) -> Any:
    def loss(weights: Any) -> Any:
        def layer(hidden: Any, weight: Any) -> tuple[Any, None]:
            return jnp.tanh(hidden @ weight), None

        return (lax.scan(layer, batch, weights)[0] ** 2).sum()

    return weights - jax.grad(loss)(weights)


def test_what_a_loop_stacks_for_the_backward_pass_is_an_activation() -> None:
    weights, batch = jnp.ones((6, 128, 128)), jnp.ones((512, 128))
    assignment, module = _compiled(_gradient_of_layers, weights, batch)
    held = held_at_peak(assignment, module)
    names = {each.id: each.metadata.op_name for c in module.computations for each in c.instructions}
    kept = {names[each.instruction or 0]: each.bytes for each in held if each.role == "activation"}
    stacked = 6 * 512 * 128 * 4
    assert [size for name, size in kept.items() if name.endswith("tanh")] == [stacked]
    assert set(kept.values()) == {stacked}  # each layer's input or output
    assert _sum(held, "unused") < 0.01 * _sum(held, "temporary", "activation")
    assert sum(each.bytes for each in held) == sum(
        each.size for each in assignment.buffer_allocations if not each.is_thread_local
    )


@pytest.mark.parametrize(("donate", "reused"), [((), []), ((0,), [True])])
def test_an_argument_whose_place_a_result_takes_counts_once(
    donate: tuple[int, ...], reused: list[bool]
) -> None:
    weights, batch = jnp.ones((6, 128, 128)), jnp.ones((512, 128))
    held = held_at_peak(*_compiled(_gradient_of_layers, weights, batch, donate=donate))
    assert [each.reused for each in held if each.role == "argument" and each.reused] == reused
    assert sum(each.bytes == weights.nbytes and each.role == "result" for each in held) == (
        0 if donate else 1
    )


def test_a_module_without_an_assignment_says_nothing() -> None:
    _, module = _compiled(_gradient_of_layers, jnp.ones((2, 8, 8)), jnp.ones((8, 8)))
    assert held_at_peak(message("BufferAssignmentProto")(), module) == []


@given(seed=st.randoms(use_true_random=False))
def test_damage_is_survived(seed: Any) -> None:
    proto = next(_modules(SAMPLES[0]))
    whole = message("HloProto").FromString(proto)
    numbers = [buffer.id for buffer in whole.buffer_assignment.logical_buffers]
    for buffer in whole.buffer_assignment.logical_buffers:
        if seed.random() < 0.3:
            buffer.defined_at.instruction_id = seed.choice([0, -1, 2**62, *numbers])
    for allocation in whole.buffer_assignment.buffer_allocations:
        allocation.size = seed.choice([allocation.size, 0, 2**40])
        for part in allocation.assigned:
            part.offset = seed.choice([part.offset, -5, 2**50])
    for computation in whole.hlo_module.computations:
        for instruction in computation.instructions:
            if seed.random() < 0.1:
                instruction.called_computation_ids.append(whole.hlo_module.entry_computation_id)
                instruction.opcode = seed.choice(["while", "call", "conditional", "fusion"])
                instruction.operand_ids.extend([instruction.id, -3])
    held = held_at_peak(whole.buffer_assignment, whole.hlo_module)
    assert all(each.bytes > 0 for each in held)
