"""Checks that torch, TorchTPU and libtpu are there, and made for each other.

TorchTPU holds libraries for several releases of torch, named after them, and loads the newest that
is not newer than the torch that is there.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

from xladoctor.environment import faults, steps
from xladoctor.environment.child import Outcomes
from xladoctor.environment.interface import Check, failure, ok, skipped, warning

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
_LIBRARY = re.compile(r"env_(\d+)_(\d+)_(\d+)\.so")
_LIBTPU = r"libtpu\s*\(?>=([\d.]+)"
_TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"  # as TorchTPU's warning names it

Release = tuple[int, ...]


def not_imported(outcomes: Outcomes) -> Check | None:
    """Why TorchTPU cannot be imported, with its version."""
    outcome = outcomes["torch_tpu"]
    if outcome.done or outcome.state == "unreached":
        return None
    cure = faults.advice(outcome, "import torch_tpu")
    return failure("torch_tpu", f"{_version()} cannot be imported: {outcome.error}", cure)


def torch_tpu(outcomes: Outcomes) -> Check:
    """Whether torch may import TorchTPU by itself."""
    name, outcome, version = "torch_tpu", outcomes["torch_tpu"], _version()
    if os.environ.get(AUTOLOAD, "1") != "1":
        found = f'{version}; {AUTOLOAD}={os.environ[AUTOLOAD]}: programs have no device "tpu"'
        return warning(name, found, "unset it: torch then loads TorchTPU automatically")
    if any("UNOPTIMIZED BUILD" in text for text in outcome.facts["warnings"]):
        return warning(
            name,
            f"{version}, built without optimization, which makes it slow",
            "build it with `-c opt`, or install the wheel: pip install torch_tpu",
        )
    return ok(name, f"{version}: programs that use its device can be captured")


def versions(outcomes: Outcomes) -> Check:
    """Whether TorchTPU has libraries for the torch that is there."""
    name, built = "versions", libraries()
    found = outcomes["torch"].facts.get("version") or steps.installed("torch")
    ours = _release(str(found or ""))
    if not built or not ours:
        return skipped(name, "the libraries of torch_tpu do not say for which torch they are")
    oldest, newest = _text(built[0]), _text(built[-1])
    has = f"torch {found} with torch_tpu, which has libraries for torch {oldest} to {newest}"
    cure = f"pip install 'torch>={oldest},<={newest}'"
    if ours < built[0]:
        return failure(name, has, cure)
    used = max(release for release in built if release <= ours)
    if ours[:2] > built[-1][:2]:
        judge = warning if outcomes["torch_tpu"].done else failure
        return judge(name, f"{has}: torch is newer than these", cure)
    return ok(name, f"{has}: it loads those for {_text(used)}")


def libtpu(outcomes: Outcomes) -> Check:
    """Whether libtpu is there, in a version that TorchTPU accepts."""
    if own := steps.own_libtpu():
        return own
    name = "libtpu"
    installed, least = steps.installed(name), steps.required("torch_tpu", _LIBTPU)
    wanted = f"pip install 'libtpu{least and f'>={least}'}'"
    if installed is None:
        return failure(name, "not installed", wanted)
    if least and _release(installed) < _release(least):
        return warning(name, f"{installed}; torch_tpu needs {least} or later", wanted)
    return ok(name, f"{installed}{least and f'; torch_tpu needs {least} or later'}")


def tcmalloc(outcomes: Outcomes) -> Check:
    """Whether tcmalloc allocates memory, which TorchTPU warns of if not."""
    name, outcome = "tcmalloc", outcomes["torch_tpu"]
    if not outcome.done:
        return skipped(name, "needs a working torch_tpu")
    if not any("TcMalloc/" in text for text in outcome.facts["warnings"]):
        return ok(name, "loaded")
    if not outcomes["TPU"].facts.get("devices"):
        return skipped(name, "not loaded, which matters only where there is a TPU")
    install = "" if Path(_TCMALLOC).exists() else "apt-get install libtcmalloc-minimal4\n"
    return warning(
        name,
        "not loaded: threads of TorchTPU wait for each other when they allocate memory",
        f"{install}export LD_PRELOAD={_TCMALLOC}",
    )


def _version() -> str:
    return steps.installed("torch_tpu") or "of an unknown version"


def libraries() -> list[Release]:
    """The releases of torch that TorchTPU has libraries for, the oldest first."""
    spec = find_spec("torch_tpu")
    places = (spec and spec.submodule_search_locations) or []
    names = [file.name for place in places for file in Path(place, "_internal").glob("env_*.so")]
    matches = filter(None, map(_LIBRARY.fullmatch, names))
    return sorted(tuple(map(int, match.groups())) for match in matches)


def _release(version: str) -> Release:
    """The numbers of a version without what follows: 2, 13, 0 for ``2.13.0+cpu``."""
    numbers = steps.release(version)
    return tuple(map(int, numbers.split("."))) if numbers else ()


def _text(release: Release) -> str:
    return ".".join(map(str, release))
