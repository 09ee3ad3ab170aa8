"""Finds the interpreter that has libtpu, which is the user's to install."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from xladoctor.errors import XladoctorError

#: Packages that are needed. libtpu is under the terms of Google Cloud, hence no dependency.
_NEEDED = ("jax", "jaxlib", "libtpu")
_OLDEST = (3, 10)
_PATIENCE_S = 60
_PROBE = """
import importlib.metadata, json, sys
found = {}
for name in ("jax", "jaxlib", "libtpu"):
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps({"python": list(sys.version_info[:3]), "versions": found}))
"""
_INSTALL = (
    "--jax VERSION makes an environment with the compiler of that release of JAX;"
    "\nor name an interpreter that has it with --python FILE:"
    ' python3 -m venv tpu && tpu/bin/pip install "jax[tpu]" flatbuffers'
    "\nlibtpu is Google's, under the terms of Google Cloud, and therefore no part of xladoctor"
)
#: Settings of the user's programs that would change what the compiler does, where it writes, or
#: which library it is. LIBTPU_INIT_ARGS stays: it holds flags of the TPU's compiler.
_NOT_PASSED = ("TPU_", "JAX_", "XLA_", "PJRT_", "TF_CPP_")
FLAGS = "LIBTPU_INIT_ARGS"


class NoCompilerError(XladoctorError):
    """There is no interpreter with libtpu, or it cannot be used."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """An interpreter with JAX and libtpu.

    Attributes:
        jaxlib: its version; likewise ``libtpu`` and ``jax``.
        stated: whether the user says that the job has these versions.
    """

    python: Path
    jaxlib: str
    libtpu: str
    jax: str = ""
    stated: bool = False

    @property
    def versions(self) -> dict[str, str]:
        """Package -> version."""
        return {"jax": self.jax, "jaxlib": self.jaxlib, "libtpu": self.libtpu}

    def is_of(self, recorded: Mapping[str, str]) -> bool:
        """Whether a run has this compiler, as far as the versions of its packages show it."""
        had = {name.removesuffix(" (pinned)"): version for name, version in recorded.items()}
        known = {name: had[name] for name in self.versions if name in had}
        return bool(known) and known.items() <= self.versions.items()


class _Found(msgspec.Struct):
    """What the probe prints."""

    python: tuple[int, int, int]
    versions: dict[str, str]


def find_compiler(python: Path | None = None) -> Compiler:
    """The compiler in an interpreter; in the one that runs this if none is given.

    Raises:
        NoCompilerError: it does not run, is too old, or lacks a package.
    """
    interpreter = Path(sys.executable) if python is None else python
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NoCompilerError(
            f"libtpu is made for Linux on x86-64, and this is {sys.platform} on"
            f" {platform.machine()}",
            "run this on such a machine: a CI runner without a TPU is enough",
        )
    found = _probed(interpreter)
    if found.python < _OLDEST:
        raise NoCompilerError(
            f"{interpreter} is Python {'.'.join(map(str, found.python))}; 3.10 or newer is needed",
            _INSTALL,
        )
    versions = found.versions
    if missing := [name for name in _NEEDED if name not in versions]:
        raise NoCompilerError(f"{interpreter} has no {' and no '.join(missing)}", _INSTALL)
    return Compiler(interpreter, versions["jaxlib"], versions["libtpu"], versions["jax"])


def _probed(interpreter: Path) -> _Found:
    """The version of an interpreter, and those of its packages."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            said = subprocess.run(
                [str(interpreter), "-c", _PROBE],
                capture_output=True,
                check=True,
                cwd=folder,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                timeout=_PATIENCE_S,
            ).stdout
        return msgspec.json.decode(said.strip().rpartition(b"\n")[2], type=_Found)
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise NoCompilerError(
            f"{interpreter} ended with status {error.returncode}: {''.join(last)}",
            "name an interpreter of Python with --python",
        ) from error
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError) as error:
        raise NoCompilerError(
            f"{interpreter} cannot be used as an interpreter of Python: {error}",
            "name one with --python",
        ) from error


def clean_environment() -> dict[str, str]:
    """The environment without settings that concern the user's programs only."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED)}
