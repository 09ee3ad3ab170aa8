"""The known-good programs, the environment that each needs, and the findings that they may have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
RECORDED = sorted((HERE / "recorded").glob("*.tar.xz"))
_EXAMPLES = HERE.parents[1] / "examples"
#: The healed twins and the clean examples of each framework, which tests/live runs.
EXAMPLES = {
    "torch_xla": sorted(
        [
            *_EXAMPLES.glob("*_healed.py"),
            *_EXAMPLES.glob("clean/*.py"),
            *_EXAMPLES.glob("recompilation/*_healed.py"),
        ]
    ),
    **{name: sorted((_EXAMPLES / name).glob("*_healed.py")) for name in ("jax", "torch_compile")},
}
#: Those that shard over several devices.
ENVIRONMENT = {name: {"CPU_NUM_DEVICES": "4"} for name in ("spmd", "fsdp")} | {
    name: {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    for name in ("jax_sharded", "jax_transformer")
}


@dataclass(frozen=True)
class Allowed:
    """A finding of warning or above that is right for a program as its authors recommend it."""

    program: str
    rule: str
    reason: str


@cache
def allowed() -> tuple[Allowed, ...]:
    """The allowed findings, each with its reason."""
    return tuple(
        Allowed(**item) for item in yaml.safe_load((HERE / "exceptions.yaml").read_text()) or ()
    )
