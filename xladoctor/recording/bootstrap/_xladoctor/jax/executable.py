"""What JAX says of a compiled executable."""

from __future__ import annotations

import functools
import re
from typing import Any, Callable

from ..disguise import pass_on

#: Custom calls of graphs that run Python on the host, on CPUs and GPUs.
_CALLBACK = re.compile(rb"xla_(?:ffi_)?(?:partitioned_)?python_(?:cpu|gpu)_callback")


class Executable:
    """Facts about a compiled executable. JAX guarantees none of them, so each may be missing."""

    def __init__(self, executable: Any, args: tuple[Any, ...]) -> None:
        self._executable = executable
        self._callbacks = next((len(value) for value in args if isinstance(value, list)), 0)
        modules = self._tried(executable.hlo_modules) or [None]
        self._module = modules[0]
        self.name = str(getattr(self._module, "name", "module"))

    @property
    def function(self) -> str:
        """The function that JAX named the module after."""
        return function_of(self.name)

    def _tried(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except Exception as error:  # backends implement only a part
            pass_on(error)
            return None

    @property
    def work(self) -> float:
        """FLOPs plus bytes written.

        Bytes read are left out: a lookup of some rows of a table counts as a read of all of it.
        """
        analysis = self._tried(self._executable.cost_analysis)
        if isinstance(analysis, list):
            analysis = analysis[0] if analysis else None
        known = analysis if isinstance(analysis, dict) else {}
        return float((known.get("flops") or 0.0) + (known.get("bytes accessedout{}") or 0.0))

    @functools.cached_property
    def module(self) -> bytes | None:
        """The serialized HloModuleProto."""
        module = self._module
        if module is None:
            return None
        proto = self._tried(module.as_serialized_hlo_module_proto)
        return proto if isinstance(proto, bytes) else None

    @property
    def callbacks(self) -> int:
        """The number of calls of Python on the host: the backend's channels, or custom calls."""
        return max(self._callbacks, len(_CALLBACK.findall(self.module or b"")))

    @functools.cached_property
    def _memory(self) -> Any:
        return self._tried(self._executable.get_compiled_memory_stats)

    @property
    def assignment(self) -> bytes | None:
        """The serialized BufferAssignmentProto: where each value lies in memory."""
        proto = getattr(self._memory, "serialized_buffer_assignment_proto", None)
        return proto if isinstance(proto, bytes) else None

    def described(self) -> dict[str, Any]:
        """Sizes in bytes, as in the step log."""
        memory = self._memory
        sizes = {
            name: int(getattr(memory, f"{name}_size_in_bytes", 0) or 0)
            for name in ("argument", "output", "alias", "temp")
        }
        return {"memory": sizes, "callbacks": self.callbacks} if memory is not None else {}


def function_of(name: str) -> str:
    """The function that a module or an executable is named after."""
    return name[4:-1] if name.startswith("jit(") else name.removeprefix("jit_")


def is_partitioned(args: tuple[Any, ...]) -> bool:
    """Whether a module is compiled for several partitions, by the arguments beside it."""
    options = [getattr(each, "executable_build_options", None) for each in args]
    return any((getattr(each, "num_partitions", 1) or 1) > 1 for each in options)
