"""Arguments that a call has to bring to another sharding, as JAX asks for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax._src.interpreters import pxla

from xladoctor.recording.bootstrap._xladoctor.jax.resharding import Resharding

BODY = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp, numpy as np
from jax._src.interpreters import pxla
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from xladoctor.recording.bootstrap._xladoctor.jax.resharding import Resharding
seen = Resharding(jax.tree_util.tree_leaves)
asked = []
inner = seen.wrap(pxla.cc_shard_arg)
pxla.cc_shard_arg = lambda x, *args: (asked.append(x), inner(x, *args))[1]
mesh = Mesh(np.array(jax.devices()), ("x",))
rows, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
step = jax.jit(lambda w, b: (b["x"] @ w["a"]).sum(), in_shardings=(whole, rows))
one, batch = jnp.ones((512, 512)), {"x": jax.device_put(jnp.ones((64, 512)), rows)}
def calls(weights, batches):
    asked.clear()
    found = []
    for each in batches:
        step({"a": weights}, each)
        found += seen.called(1, step, ({"a": weights}, each), {})
    fields = "number", "calls", "bytes", "sent_bytes", "after", "before"
    return len(asked), [tuple(each[name] for name in fields) for each in found]
print(calls(jax.device_put(one, whole), [batch] * 9))
print(calls(one, [batch] * 10))
print(calls(np.ones((512, 512), np.float32), [batch] * 9)[1])
large = [{"x": jnp.ones((2048, 512)) * n} for n in range(9)]
print(calls(jax.device_put(one, whole), large)[1])
"""


def test_only_arrays_that_are_passed_again_elsewhere_are_found() -> None:
    ended = subprocess.run([sys.executable, "-c", BODY], capture_output=True, text=True, check=True)
    in_place, unplaced, of_host, new = ended.stdout.splitlines()
    assert in_place == "(0, [])"  # JAX never asks, so it costs nothing
    where = "on one device, CPU:0, where arrays are made by default"
    expected = [(0, calls, 1 << 20, 4 << 20, "P()", where) for calls in (4, 8)]
    assert unplaced == str((9, expected))  # the first call is a miss of the function's cache
    assert of_host == new == "[]"


def test_a_fault_of_the_call_is_the_programs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise ValueError("no such device")

    seen = Resharding(jax.tree_util.tree_leaves)
    with pytest.raises(ValueError, match="no such device"):
        seen.wrap(refuse)(jnp.ones(3), None)
    assert seen.pending == []
    assert callable(pxla.cc_shard_arg)
