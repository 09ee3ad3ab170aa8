"""Lowers training steps of public trainers, with weights that are only shapes.

Runs in an interpreter with the job's JAX, Flax and Optax (and tokamax, for the chunked loss)::

    python lower.py EXPERIMENTS OUT.mlir '{"model": "qwen3", "batch": 5, "scan": 1, …}'

EXPERIMENTS is ``wiki/experiments`` of the public repository. The step, the sharding and what is
donated are as in the trainers' ``train.py``, for TPUs.
"""

# ruff: noqa: PLC0415  # what the job has is imported after the environment is set
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

FOLDERS = {
    "qwen3": "qwen3_cc5_autoresearch_optimization",
    "gemma4": "gemma4_autoresearch_optimization",
}
DEVICES = {"qwen3": 8, "gemma4": 4}


def main(experiments: str, out: str, point: dict[str, Any]) -> None:
    """Write a point's step as StableHLO."""
    _set_environment(point)
    sys.path.insert(0, f"{experiments}/{FOLDERS[point['model']]}/jax")
    # Checkpoints and tokenizers come from elsewhere; shapes do not need them.
    absent: Any = types.ModuleType("transformers")
    absent.__getattr__ = lambda name: object
    sys.modules["transformers"] = absent
    if point.get("chunked_loss"):
        _prepare_tokamax()
    step, arguments = {"qwen3": _qwen3, "gemma4": _gemma4}[point["model"]](point)
    lowered = step.trace(*arguments).lower(lowering_platforms=("tpu",))
    Path(out).write_text(lowered.as_text(debug_info=True), encoding="utf-8")


def _prepare_tokamax() -> None:
    """As the trainer does; it ran a tokamax between releases, of which 0.0.13 is the nearest."""
    import jax
    import jaxtyping
    from absl import flags

    jaxtyping.jaxtyped = lambda typechecker=None: lambda function: function
    flags.FLAGS([sys.argv[0]])
    if not hasattr(jax.sharding, "ManualAxisType"):  # imported, not needed for the chunked loss
        jax.sharding.ManualAxisType = object


def _set_environment(point: dict[str, Any]) -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"
    devices = DEVICES[point["model"]]
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    if point.get("remat"):
        os.environ["JAX_REMAT_POLICY"] = point["remat"]
    if point.get("scan"):
        os.environ["JAX_USE_SCAN"] = "1"  # of Qwen3
        os.environ["JAX_SCAN_UNROLL"] = str(point["scan"])
    if point.get("splash"):
        os.environ["JAX_ATTENTION_IMPL"] = "splash"
    if point.get("context"):
        os.environ["SPLASH_RESIDUAL_CKPT_NAME"] = "context"


def _qwen3(point: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """The jitted step, and its arguments as shapes with shardings."""
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P
    from model.modeling_qwen3 import Qwen3ForCausalLM, set_splash_mesh
    from model.sharding import _iter_params, build_plan, input_sharding

    auto = jax.sharding.AxisType.Auto
    mesh = jax.make_mesh((8, 1), ("fsdp", "tp"), axis_types=(auto, auto))
    if point.get("splash"):
        set_splash_mesh(mesh)
    config = types.SimpleNamespace(
        vocab_size=151936, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36,
        num_attention_heads=32, num_key_value_heads=8, head_dim=128, rms_norm_eps=1e-6,
        rope_theta=1e6, attention_bias=False, mlp_bias=False,
    )  # fmt: skip
    of_type = {"weights_dtype": jnp.bfloat16, "compute_dtype": jnp.bfloat16}
    model = nnx.eval_shape(lambda: Qwen3ForCausalLM(config, **of_type, rngs=nnx.Rngs(0)))
    shardings = build_plan(model, mesh).shardings
    for path, weight in _iter_params(model):
        shape, dtype = weight.value.shape, weight.value.dtype
        weight.value = jax.ShapeDtypeStruct(shape, dtype, sharding=shardings[path])
    chunked = point.get("chunked_loss")
    if chunked:
        model.skip_lm_head = True
    graph, weights, rest = nnx.split(model, nnx.Param, ...)
    rest = jax.tree.map(lambda each: jnp.zeros(each.shape, each.dtype), rest)
    optimizer = optax.adamw(1e-5, weight_decay=0.0)

    def loss_of(weights: Any, ids: Any, labels: Any) -> Any:
        merged = nnx.merge(graph, weights, rest)
        if chunked:
            hidden = merged(ids, return_hidden=True)
            return _chunked(hidden, labels, merged.lm_head_weight(), mesh)
        return _plain(merged(ids), labels)

    shape = (point["batch"] * 8, point.get("tokens", 2048))
    ids = jax.ShapeDtypeStruct(shape, jnp.int32, sharding=input_sharding(mesh))
    return _stepped(loss_of, optimizer, weights, ids, NamedSharding(mesh, P()))


def _gemma4(point: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """The same of Gemma 4 E4B."""
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P
    from model.modeling_gemma4 import Gemma4ForCausalLM, Gemma4TextRotaryEmbedding
    from model.pallas_attention import _build_splash_kernel, _splash_config_key, set_mesh
    from model.sharding import _iter_params, get_mesh, get_param_sharding, input_sharding

    mesh, tokens = get_mesh("fsdp", fsdp=4), point.get("tokens", 1024)
    replicated = NamedSharding(mesh, P())
    set_mesh(mesh)
    for window, head in ((512, 256), (None, 512)):  # as train.py, outside of the trace
        _build_splash_kernel(tokens, 8, window, head, _splash_config_key())
    layers = 42
    full = {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25}
    sliding = {"rope_type": "default", "rope_theta": 1e4}
    config = types.SimpleNamespace(
        num_hidden_layers=layers, hidden_size=2560, num_attention_heads=8, num_key_value_heads=2,
        head_dim=256, global_head_dim=512, intermediate_size=10240, vocab_size=262144,
        vocab_size_per_layer_input=262144, hidden_size_per_layer_input=256, sliding_window=512,
        num_kv_shared_layers=18, rms_norm_eps=1e-6, final_logit_softcapping=30.0,
        tie_word_embeddings=True, attention_bias=False, enable_moe_block=False,
        use_double_wide_mlp=False,
        layer_types=[f"{'full' if n % 6 == 5 else 'sliding'}_attention" for n in range(layers)],
        rope_parameters={"full_attention": full, "sliding_attention": sliding},
    )  # fmt: skip
    of_type = {"weights_dtype": jnp.bfloat16, "compute_dtype": jnp.bfloat16}
    model = nnx.eval_shape(lambda: Gemma4ForCausalLM(config, **of_type, rngs=nnx.Rngs(0)))
    shardings = get_param_sharding(model, mesh).shardings
    held = jnp.float32 if point.get("float32_weights") else jnp.bfloat16
    for path, weight in _iter_params(model):
        sharding = shardings.get(path, replicated)
        weight.value = jax.ShapeDtypeStruct(weight.value.shape, held, sharding=sharding)
    model.model.rotary_emb = Gemma4TextRotaryEmbedding(config)  # constants, among the weights
    graph, weights = nnx.split(model)
    weights = jax.tree.map(
        lambda each: (
            each
            if isinstance(each, jax.ShapeDtypeStruct)
            else jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=replicated)
        ),
        weights,
    )
    rate = optax.warmup_constant_schedule(init_value=0.0, peak_value=1e-5, warmup_steps=2)
    optimizer = optax.adamw(learning_rate=rate, weight_decay=0.01)

    def loss_of(weights: Any, ids: Any, labels: Any) -> Any:
        logits = nnx.merge(graph, weights)(ids)
        flat = logits.reshape(-1, logits.shape[-1]).astype(jnp.bfloat16)
        labels = labels.reshape(-1)
        mask = (labels != -100).astype(jnp.float32)
        safe = jnp.where(labels == -100, jnp.zeros_like(labels), labels)
        logs = jax.nn.log_softmax(flat, axis=-1)
        picked = jnp.take_along_axis(logs, safe[:, None], axis=-1).squeeze(-1)
        return -(picked.astype(jnp.float32) * mask).sum() / jnp.maximum(mask.sum(), 1.0)

    kept = jax.checkpoint_policies.checkpoint_dots_with_no_batch_dims
    shape = (point["batch"] * 4, tokens)
    ids = jax.ShapeDtypeStruct(shape, jnp.int32, sharding=input_sharding(mesh))
    return _stepped(jax.checkpoint(loss_of, policy=kept), optimizer, weights, ids, replicated)


def _stepped(
    loss_of: Any, optimizer: Any, weights: Any, ids: Any, replicated: Any
) -> tuple[Any, tuple[Any, ...]]:
    """A jitted step of AdamW that donates its state, whose moments are divided as the weights."""
    import jax
    import optax

    def placed(tree: Any) -> Any:
        return jax.tree.map(
            lambda each, like: jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=like.sharding),
            tree, weights,
        )  # fmt: skip

    def whole(tree: Any) -> Any:
        return jax.tree.map(
            lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=replicated), tree
        )

    state = tuple(
        whole(part)._replace(mu=placed(part.mu), nu=placed(part.nu))
        if hasattr(part, "mu")
        else whole(part)
        for part in jax.eval_shape(optimizer.init, weights)
    )

    def train_step(weights: Any, state: Any, ids: Any, labels: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(weights, ids, labels)
        updates, state = optimizer.update(gradients, state, weights)
        return loss, optax.apply_updates(weights, updates), state

    return jax.jit(train_step, donate_argnums=(0, 1)), (weights, state, ids, ids)


def _plain(logits: Any, labels: Any) -> Any:
    import jax
    import jax.numpy as jnp

    flat = logits.reshape(-1, logits.shape[-1]).astype(jnp.float32)
    picked = jnp.take_along_axis(jax.nn.log_softmax(flat, axis=-1), labels.reshape(-1)[:, None], -1)
    return -picked.squeeze(-1).mean().astype(jnp.float32)


def _chunked(hidden: Any, labels: Any, weight: Any, mesh: Any) -> Any:
    """Tokamax's loss on each device's tokens, as the trainer calls it."""
    import jax
    import jax.numpy as jnp
    import tokamax
    from jax.sharding import PartitionSpec as P

    tokens = hidden.shape[0] * hidden.shape[1]

    def local(hidden: Any, labels: Any, weight: Any) -> Any:
        total = tokamax.linear_softmax_cross_entropy_loss(
            hidden, labels, weight, reduction="sum", implementation="chunked_xla"
        )
        return jax.lax.psum(total, axis_name="fsdp")

    specs = (P("fsdp", None), P("fsdp"), P())
    whole = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P(), check_vma=False)
    flat = hidden.reshape(tokens, -1).astype(jnp.float32)
    return (whole(flat, labels.reshape(tokens), weight.T) / float(tokens)).astype(jnp.float32)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
