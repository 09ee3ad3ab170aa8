"""Lowers computations, and neither compiles nor executes them: for ``xladoctor tpu-check``.

Installed beneath the other hooks, which see launches of executables as ever. An executable is the
lowered graph; its results are zeros that take no memory. The program ends once its step is known: a
function that was given what it has returned.
"""

from __future__ import annotations

import math
import mmap
import weakref
from typing import Any, Callable, Iterable

from ..disguise import pass_on
from ..hooks import Hooks
from ..warmup import WARMUP
from .graphs import is_main, size_of

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # named in Python 3.13
_MOST_FOLLOWED = 1 << 16  # arrays that are followed, before those that are gone are forgotten
_SMALL = 1 << 16  # bytes, of what an operation of the framework is given and returns
_FEW = 64  # operations
#: Passes of Shardy that compilers run first, which find the shardings of results.
_PROPAGATION = "builtin.module(sdy-propagation-pipeline)"


class LowerOnly:
    """Replaces what compiles and what executes."""

    def __init__(self, hooks: Hooks, is_own: Callable[[], bool]) -> None:
        """``is_own``: whether what is lowered or compiled now is a function of the program's."""
        self._hooks, self._is_own = hooks, is_own
        self._step = _Step()

    def install(self) -> None:
        """Raises what private parts of JAX raise that are not as here."""
        from jax._src import compiler, pjit
        from jax._src.array import ArrayImpl
        from jax._src.interpreters import pxla

        self._hooks.replace(pxla, "lower_sharding_computation", self._lower)
        self._hooks.replace(compiler, "compile_or_get_cached", self._compile)
        self._hooks.replace(pxla.ExecuteReplicated, "__call__", self._execute)
        self._zeros = _Zeros(ArrayImpl, pxla.batched_device_put)
        self._hooks.replace(pxla, "batched_device_put", self._put)
        handlers = pxla.shard_arg_handlers
        handlers[ArrayImpl] = self._shard(handlers[ArrayImpl])
        self._hooks.replace(pxla.MeshExecutable, "create_cpp_call", lambda _: lambda *_: None)
        # Without what it returns, calls do not take the fast path, which needs an executable.
        self._hooks.replace(pjit, "_get_fastpath_data", lambda _: lambda *_, **__: None)

    def _lower(self, original: Any) -> Any:
        """Lower the program's functions for TPUs, as kernels can only be lowered for these."""

        def lower_sharding_computation(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("lowering_platforms") is None and self._is_own():
                try:
                    return original(*args, **{**kwargs, "lowering_platforms": ("tpu",)})
                except Exception as error:  # what is of CPUs alone
                    pass_on(error)
            return original(*args, **kwargs)

        return lower_sharding_computation

    def _compile(self, original: Any) -> Any:
        def compile_or_get_cached(backend: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
            own = self._is_own()
            if not own and _is_small(module):  # programs compute shapes and seeds with these
                return original(backend, module, *args, **kwargs)
            return Lowered(module, args[0] if args else kwargs["devices"], own)

        return compile_or_get_cached

    def _execute(self, original: Any) -> Any:
        def execute(executable: Any, *args: Any) -> Any:
            lowered = executable.xla_executable
            if not isinstance(lowered, Lowered):
                result = original(executable, *args)
            else:
                result = self._results(executable, args)
            if self._step.is_known(lowered, args, result):
                raise SystemExit(0)  # the program's own `finally` and `atexit` still run
            return result

        return execute

    def _shard(self, original: Any) -> Any:
        """Divide zeros otherwise without making any."""

        def shard(arrays: Any, shardings: Any, *others: Any) -> list[Any]:
            return [
                self._zeros.divided(each, sharding)
                if self._zeros.made(each)
                else original([each], [sharding], *([more] for more in rest))[0]
                for each, sharding, *rest in zip(arrays, shardings, *others)
            ]

        return shard

    def _put(self, original: Any) -> Any:
        """Put zeros on other devices likewise."""

        def put(
            aval: Any, sharding: Any, arrays: Any, devices: Any, *args: Any, **more: Any
        ) -> Any:
            parts = [
                self._zeros.part(each.shape, each.dtype, device) if self._zeros.made(each) else each
                for each, device in zip(arrays, devices)
            ]
            return original(aval, sharding, parts, devices, *args, **more)

        return put

    def _results(self, executable: Any, args: tuple[Any, ...]) -> list[Any]:
        handler = executable.out_handler
        shardings = handler.out_shardings
        found: list[Any] = handler(list(map(self._zeros.shards, handler.out_avals, shardings)))
        if (mutated := executable.mut) is None:
            return found
        given = [each for n, each in enumerate(args) if n in executable.kept_var_idx]
        given += mutated.in_mut
        for number, value in zip(mutated.out_mut, found):
            if number is not None:
                given[number]._refs._buf._replace_with(value)
        return [each for number, each in zip(mutated.out_mut, found) if number is None]


class _Zeros:
    """Arrays of zeros, which share pages that are never written, and so take no memory."""

    def __init__(self, array_class: Any, put: Callable[..., Any]) -> None:
        """``put``: puts arrays on devices."""
        self._array_class, self._put = array_class, put
        self._pages: Any = b""
        self._places: list[tuple[int, int]] = []

    def shards(self, aval: Any, sharding: Any) -> list[Any]:
        """The parts of an array, on each device of this process."""
        from jax._src import core, dtypes, sharding_impls

        if aval is core.abstract_token:
            aval = core.get_token_aval()
        if dtypes.issubdtype(aval.dtype, dtypes.extended):
            sharding = sharding_impls.physical_sharding(aval, sharding)
        aval = core.physical_aval(aval)
        kind = bool if aval.dtype == dtypes.float0 else aval.dtype
        shape = sharding.shard_shape(aval.shape)
        return [self.part(shape, kind, each) for each in sharding._addressable_device_assignment]

    def part(self, shape: tuple[int, ...], kind: Any, device: Any) -> Any:
        """An array on one device."""
        import numpy
        from jax._src import core
        from jax.sharding import SingleDeviceSharding

        kind = numpy.dtype(kind)
        needed = math.prod(shape) * kind.itemsize
        if needed > len(self._pages) or not self._places:
            size = max(needed, mmap.PAGESIZE)
            self._pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | _NO_RESERVE, mmap.PROT_READ)
            place = numpy.frombuffer(self._pages, "b").__array_interface__["data"][0]
            self._places.append((place, place + size))
        zeros = numpy.ndarray(shape, kind, self._pages)
        where = SingleDeviceSharding(device)
        return self._put(core.ShapedArray(shape, kind), where, [zeros], [device])

    def made(self, array: Any) -> bool:
        """Whether an array has no other pages."""
        if type(array) is not self._array_class:
            return False
        place = array.addressable_data(0).unsafe_buffer_pointer()
        return any(begin <= place < end for begin, end in self._places)

    def divided(self, array: Any, sharding: Any) -> Any:
        """Such an array with another sharding."""
        shards = self.shards(array.aval, sharding)
        return type(array)(array.aval, sharding, shards, committed=True, _skip_checks=True)


class _Step:
    """Finds the program's step: of the functions that are given what follows from their own
    results, the one with the most operations.
    """

    def __init__(self) -> None:
        #: By id of arrays: the array, and what of the program's functions it follows from.
        self._made: dict[int, tuple[Any, frozenset[Lowered]]] = {}
        self._step: Lowered | None = None
        self._most = self._times = 0

    def is_known(self, lowered: Any, args: Iterable[Any], results: Iterable[Any]) -> bool:
        """Follow an execution; whether it shows that no other function will be the step."""
        known = (self._made.get(id(each)) for each in args)
        sources = [each[1] for each, arg in zip(known, args) if each and each[0]() is arg]
        ancestors = frozenset().union(*sources)
        own = isinstance(lowered, Lowered) and lowered.own
        if own and lowered in ancestors and lowered.operations >= self._most:
            self._times = self._times + 1 if lowered is self._step else 1
            self._step, self._most = lowered, lowered.operations
        elif own and lowered.operations > self._most:
            self._times = 0  # it may be fed with its results later
        self._remember(results, ancestors | {lowered} if own else ancestors)
        return self._times >= WARMUP

    def _remember(self, results: Iterable[Any], ancestors: frozenset[Lowered]) -> None:
        if len(self._made) > _MOST_FOLLOWED:
            self._made = {key: each for key, each in self._made.items() if each[0]() is not None}
        for each in results if ancestors else ():
            try:
                self._made[id(each)] = weakref.ref(each), ancestors
            except TypeError:  # of a class without weak references
                continue


def _is_small(module: Any) -> bool:
    """Whether a graph may be executed: it takes next to no time or memory, and changes nothing."""
    main = next(each for each in module.body.operations if is_main(each))
    kind = main.attributes["function_type"].value
    text = str(main.attributes["arg_attrs"]) if "arg_attrs" in main.attributes else ""
    donates = "jax.buffer_donor" in text or "tf.aliasing_output" in text
    size = sum(map(size_of, (*kind.inputs, *kind.results)))
    return not donates and size <= _SMALL and _count(module) <= _FEW


def _count(module: Any) -> int:
    """The operations of a graph."""
    from jaxlib.mlir import ir

    found = 0

    def look(_: Any) -> Any:
        nonlocal found
        found += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    return found


class Lowered:
    """A graph in place of the executable that it would be compiled to.

    Attributes:
        operations: how many it has.
        name: of its module.
        own: whether it is of a function of the program's.
    """

    def __init__(self, module: Any, devices: Any, own: bool) -> None:
        self._module, self._devices = module, [*devices.flat]
        self.operations, self.own = _count(module), own
        self.name = module.operation.attributes["sym_name"].value

    def local_devices(self) -> list[Any]:
        """As that of an executable."""
        return [each for each in self._devices if each.process_index == each.client.process_index()]

    def hlo_modules(self) -> list[Any]:
        """No module after optimization, but its name."""
        return [self]

    def cost_analysis(self) -> dict[str, float]:
        """Of an executable that is a measure of its work."""
        return {"flops": float(self.operations)}

    def get_compiled_memory_stats(self) -> None:
        """Nothing is known of what was not compiled."""

    as_serialized_hlo_module_proto = get_compiled_memory_stats

    def get_parameter_shardings(self) -> None:
        """None, so that the program's own stay."""

    def get_output_shardings(self) -> list[Any]:
        """As the compiler would find them: the program's own, and those that follow from them."""
        from jaxlib.mlir.passmanager import PassManager

        copy = self._module.operation.clone()
        with copy.context:
            PassManager.parse(_PROPAGATION).run(copy)
        meshes: dict[str, Any] = {}
        for each in copy.regions[0].blocks[0].operations:
            if each.operation.name == "sdy.mesh":
                meshes[each.attributes["sym_name"].value] = self._mesh(each.attributes["mesh"])
            elif is_main(each):
                main = each
        kinds = main.attributes["function_type"].value.results
        known = (
            main.attributes["res_attrs"] if "res_attrs" in main.attributes else [{}] * len(kinds)
        )
        return [_sharding(kind, of, meshes) for kind, of in zip(kinds, known)]

    def _mesh(self, attribute: Any) -> Any:
        import numpy
        from jax.sharding import Mesh
        from jaxlib.mlir.dialects import sdy

        mesh = sdy.MeshAttr(attribute)
        axes = [sdy.MeshAxisAttr(each) for each in mesh.axes]
        if not axes:  # whatever names it is on all devices
            return None
        devices = numpy.empty(len(self._devices), dtype=object)
        devices[:] = [self._devices[n] for n in mesh.device_ids or range(len(self._devices))]
        return Mesh(devices.reshape([each.size for each in axes]), [each.name for each in axes])


def _sharding(kind: Any, of: Any, meshes: dict[str, Any]) -> Any:
    """The sharding of a result, as executables have them."""
    from jax.sharding import NamedSharding, PartitionSpec
    from jaxlib import xla_client
    from jaxlib.mlir.dialects import sdy

    parts = []
    if "sdy.sharding" in of:
        found = sdy.TensorShardingAttr(of["sdy.sharding"])
        for dimension in found.dimension_shardings:
            axes = [sdy.AxisRefAttr(each) for each in sdy.DimensionShardingAttr(dimension).axes]
            if any(each.sub_axis_info is not None for each in axes):
                raise ValueError(f"a result is divided along a part of an axis: {found}")
            parts.append(tuple(each.name for each in axes))
    if not any(parts):
        replicated = xla_client.OpSharding()
        replicated.type = xla_client.OpSharding.Type.REPLICATED
        return replicated
    sharding = NamedSharding(meshes[str(found.mesh_or_ref).lstrip("@")], PartitionSpec(*parts))
    return sharding._to_xla_hlo_sharding(len(kind.shape)).to_proto()
