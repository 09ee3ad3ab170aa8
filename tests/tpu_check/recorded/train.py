"""What left the files beside this one; run where ``recorded/`` is, with JAX 0.12.

JAX_DUMP_IR_TO=jax XLA_FLAGS="--xla_force_host_platform_device_count=4 --xla_dump_to=xla
--xla_dump_hlo_as_proto --xla_dump_hlo_as_text" python train.py
"""

from pathlib import Path

import jax
import jax.numpy as jnp
from jax import export
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def step(weight: jax.Array, batch: jax.Array) -> jax.Array:
    def loss(weight: jax.Array) -> jax.Array:
        return jnp.tanh(batch @ weight).sum()

    return weight - 0.1 * jax.grad(loss)(weight)


shapes = jax.ShapeDtypeStruct((16, 8), jnp.float32), jax.ShapeDtypeStruct((4, 16), jnp.float32)
alone = jax.jit(step, donate_argnums=0)
alone.lower(*shapes).compile()
exported = export.export(alone, platforms=["cpu", "tpu"])(*shapes)
Path("step.jax_export").write_bytes(exported.serialize())
Path("step.mlirbc").write_bytes(exported.mlir_module_serialized)
mesh = Mesh(jax.devices(), ("data",))
batches = NamedSharding(mesh, PartitionSpec("data"))
whole = NamedSharding(mesh, PartitionSpec())
jax.jit(step, in_shardings=(whole, batches), out_shardings=whole).lower(*shapes).compile()
