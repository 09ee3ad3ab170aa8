"""What calls do, by the names of functions and methods: the vocabulary of :mod:`.effects`.

Whatever is not named here is not understood.
"""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase


class Does(StrEnum):
    """What a call does besides taking its arguments."""

    computes = "computes a new value"
    views = "returns its argument or a part of it"
    reads = "returns a value of the host"
    changes = "changes its object in place"
    shows = "writes something for people"
    draws = "draws random numbers"
    tells_time = "reads the clock"
    syncs = "waits for the device"
    differentiates = "adds to gradients"
    updates = "changes parameters in place"


#: Functions that make a number of Python of what they are given.
NUMBERS = frozenset(("builtins.float", "builtins.int"))
#: Methods that only copy a tensor to the host, or leave its gradient behind.
COPIES = frozenset(("cpu", "detach", "numpy"))
#: Functions that write something for people, and return nothing.
PRINTS = frozenset(
    (
        *("builtins.print", "pprint.pprint", "pprint.pp", "warnings.warn", "jax.debug.print"),
        *("torch_xla.core.xla_model.master_print", "tqdm.tqdm.write", "tqdm.auto.tqdm.write"),
    )
)
#: Methods of loggers.
LEVELS = frozenset(("debug", "info", "warning", "warn", "error", "critical", "exception", "log"))
_BUILT_IN = (
    *("abs", "all", "any", "bool", "divmod", "enumerate", "float", "format", "int", "len", "max"),
    *("list", "min", "pow", "range", "repr", "round", "sorted", "str", "sum", "tuple", "type"),
    *("zip", "dict", "isinstance", "ascii", "bin", "hex", "hash", "id", "complex", "slice"),
)
#: Functions of arrays that every library of arrays has.
_OF_ARRAYS = (
    *("abs", "add", "all", "amax", "amin", "any", "arange", "argmax", "argmin", "argsort", "clip"),
    *("allclose", "bincount", "concatenate", "cos", "cumsum", "divide", "dot", "einsum", "equal"),
    *("exp", "expm1", "eye", "floor", "full", "full_like", "isclose", "isfinite", "isinf"),
    *("isnan", "linspace", "log", "log10", "log1p", "log2", "matmul", "max", "maximum", "mean"),
    *("median", "min", "minimum", "multiply", "negative", "not_equal", "ones", "ones_like"),
    *("power", "prod", "quantile", "round", "sign", "sin", "sqrt", "square", "stack", "std", "sum"),
    *("subtract", "tan", "tanh", "unique", "var", "where", "zeros", "zeros_like", "sigmoid"),
    *("percentile", "sort", "nanmean", "greater", "less", "tile", "repeat", "sinh", "cosh"),
    *("array_equal", "count_nonzero", "array", "bool_", "float16", "float32", "float64", "int32"),
    *("int64", "linalg.norm", "outer", "empty", "remainder", "mod"),
)
_VIEWS_OF_ARRAYS = (
    *("asarray", "ascontiguousarray", "broadcast_to", "expand_dims", "moveaxis", "ravel"),
    *("reshape", "squeeze", "swapaxes", "transpose", "atleast_1d", "flip", "split"),
)
LOSSES = (
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss"),
    *("cross_entropy", "ctc_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss"),
    *("kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "nll_loss", "poisson_nll_loss"),
    *("smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss"),
)
_FUNCTIONS: dict[Does, tuple[str, ...]] = {
    Does.computes: (
        *(f"builtins.{name}" for name in _BUILT_IN),
        *("math.*", "collections.OrderedDict", "collections.defaultdict"),
        *(
            f"{library}.{name}"
            for library in ("numpy", "jax.numpy", "torch")
            for name in _OF_ARRAYS
        ),
        *(f"torch.nn.functional.{name}" for name in LOSSES),
        *(f"torch.nn.functional.{name}" for name in ("softmax", "log_softmax", "one_hot", "gelu")),
        *("torch.tensor", "torch.cat", "torch.norm", "torch.topk", "torch.bmm", "torch.mm"),
        *("torch.eq", "torch.ne", "torch.gt", "torch.lt", "torch.ge", "torch.le", "torch.softmax"),
        *("torch.log_softmax", "torch.empty_like", "torch.logsumexp", "torch.clamp"),
        *("jax.nn.*", "jax.random.*", "jax.numpy.linalg.*", "jax.scipy.*", "optax.*cross_entropy*"),
        *("torch.device", "torch_xla.device", "torch_xla.core.xla_model.xla_device"),
    ),
    Does.views: (
        *(f"{lib}.{name}" for lib in ("numpy", "jax.numpy", "torch") for name in _VIEWS_OF_ARRAYS),
        *("torch.as_tensor", "torch.from_numpy", "jax.device_put", "torch.unsqueeze"),
    ),
    Does.reads: ("jax.device_get",),
    Does.shows: (
        *(*PRINTS, "wandb.log"),
        *(f"logging.{level}" for level in LEVELS - {"warn"}),
    ),
    Does.draws: ("random.*", "numpy.random.*", "torch.rand*", "torch.normal", "torch.bernoulli"),
    Does.tells_time: (
        *("time.time", "time.perf_counter", "time.monotonic", "time.process_time"),
        *("time.time_ns", "time.perf_counter_ns", "time.monotonic_ns", "timeit.default_timer"),
        *("time.process_time_ns", "datetime.datetime.now"),
    ),
    Does.syncs: (
        *("torch_xla.sync", "torch_xla.core.xla_model.mark_step", "jax.block_until_ready"),
        *("torch_xla.core.xla_model.wait_device_ops",),
    ),
}
_METHODS: dict[Does, tuple[str, ...]] = {
    Does.computes: (
        *_OF_ARRAYS,
        *("bmm", "clamp", "clone", "conj", "copy", "count_nonzero", "diff", "div"),
        *("eq", "ge", "gt", "le", "logsumexp", "lt", "masked_fill", "mm", "mul", "ne", "neg"),
        *("new_zeros", "new_full", "norm", "pow", "rsqrt", "softmax", "sub", "topk", "trace"),
        *("dim", "element_size", "is_floating_point", "nelement", "numel", "size", "get_device"),
        *("log_softmax", "index_select", "gather", "logical_not", "logical_and"),
    ),
    Does.views: (
        *_VIEWS_OF_ARRAYS,
        *("astype", "bfloat16", "bool", "chunk", "contiguous", "cpu", "cuda", "detach", "double"),
        *("expand", "expand_as", "flatten", "float", "half", "int", "long", "numpy", "permute"),
        *("select", "t", "to", "type", "type_as", "unbind", "unflatten", "unsqueeze", "view"),
        *("view_as", "block_until_ready", "narrow", "diagonal"),
    ),
    Does.reads: ("item", "tolist", "get_last_lr"),
    Does.changes: (
        *("append", "clear", "extend", "insert", "remove", "reverse", "setdefault"),
        *("appendleft", "discard"),
    ),
    Does.draws: ("bernoulli", "multinomial", "rsample", "sample"),
    Does.differentiates: ("backward",),
}
#: Methods of the host's own values, for receivers that are known to be such.
OF_TEXTS = frozenset(("format", "join", "ljust", "rjust", "upper", "lower", "strip", "zfill"))
OF_DICTIONARIES = frozenset(("get", "items", "keys", "values", "copy"))
#: Methods of loggers, progress bars and trackers.
LOGS = frozenset(
    (
        *LEVELS,
        *("set_postfix", "set_postfix_str", "set_description", "set_description_str"),
        *("add_scalar", "add_scalars", "log_metric", "log_metrics"),
    )
)
#: Methods of arrays that take no sizes, so that they may be traced.
TRACED = frozenset(
    (
        *("all", "any", "astype", "conj", "cumsum", "dot", "flatten", "max", "mean", "min", "prod"),
        *("ravel", "squeeze", "std", "sum", "swapaxes", "transpose", "var"),
    )
)
#: What returns iterators, which are used up by whatever goes through them.
ITERATORS = frozenset(
    (
        *(
            f"builtins.{name}"
            for name in ("enumerate", "filter", "iter", "map", "open", "reversed")
        ),
        *("builtins.zip",),
    )
)
#: Whose objects have methods that do what their names say.
KNOWN_LIBRARIES = frozenset(
    ("builtins", "jax", "logging", "math", "numpy", "optax", "torch", "torch_xla")
)
#: Built-in functions that return an argument itself, or hold it.
HOLDERS = frozenset(
    f"builtins.{name}" for name in ("dict", "enumerate", "list", "max", "min", "sorted", "tuple")
)
_EXACT = {name: does for does, names in _FUNCTIONS.items() for name in names if "*" not in name}
_PATTERNS = [(name, does) for does, names in _FUNCTIONS.items() for name in names if "*" in name]
_BY_METHOD = {name: does for does, names in _METHODS.items() for name in names}


def of_function(name: str) -> Does | None:
    """What a function does, by its full name; None if it is not known."""
    if name in _EXACT:
        return _EXACT[name]
    return next((does for pattern, does in _PATTERNS if fnmatchcase(name, pattern)), None)


def of_method(name: str) -> Does | None:
    """What a method of an array, a tensor or a list does; None if it is not known."""
    if name.endswith("_") and not name.startswith("_"):
        return Does.changes
    return _BY_METHOD.get(name)
