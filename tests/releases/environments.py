"""The releases that are tried, and an environment for each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.torch_tpu import stand_in

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-releases"


@dataclass(frozen=True)
class Release:
    """A release of a framework, on a version of Python.

    Attributes:
        requirement: what pip installs.
        module: that is imported, by which the frontend is known.
        python: such as 3.11.
        shared: whether the environment of all other tests has it.
        needs: what else pip installs.
    """

    requirement: str
    module: str
    python: str
    shared: bool = False
    needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As tests are named."""
        return f"{self.requirement}-python{self.python}"

    @property
    def interpreter(self) -> Path:
        """That of its environment."""
        folder = ROOT / ".venv" if self.shared else FOLDER / str(self)
        return folder / "bin" / "python"


#: A framework whose newest release alone is tried, on the Python that runs the tests.
NEWEST = os.environ.get("XLADOCTOR_NEWEST")
#: The oldest release that is supported, and the newest that can be had for the CPU alone.
SUPPORTED = (
    Release("torch-xla==2.9.0", "torch_xla", "3.11", shared=True),
    Release("torch==2.9.0", "torch", "3.11", shared=True),
    Release("torch==2.13.0", "torch", "3.11"),
    Release("torch_tpu==0.2.0", "torch_tpu", "3.11", needs=stand_in.REQUIREMENTS),
    Release("jax==0.8.3", "jax", "3.11"),
    Release("jax==0.12.0", "jax", "3.12"),
    Release("jax==0.12.0", "jax", "3.13"),
)
RELEASES = (
    (Release(NEWEST, NEWEST, ".".join(map(str, sys.version_info[:2]))),) if NEWEST else SUPPORTED
)


def make(release: Release) -> None:
    """Make its environment with xladoctor and the release in it, unless it is there.

    Raises:
        LookupError: the machine has no such Python, or no C compiler where one is needed; or
            TorchTPU, or what stands in for a TPU, is not to be had for it.
    """
    folder, done = release.interpreter.parents[1], release.interpreter.parents[1] / ".made"
    if done.exists() and release.module == "torch_tpu":
        stand_in.install(release.interpreter)  # as its source may have changed
    if release.shared or done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([interpreter(release.python), "-m", "venv", folder], check=True)
    pip = [str(release.interpreter), "-m", "pip", "--disable-pip-version-check"]
    wanted = (release.requirement, *release.needs)
    command = [*pip, "install", "-q", *wanted, "--editable", str(ROOT)]
    installed = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if installed.returncode and release.needs and "No matching distribution" in installed.stderr:
        raise LookupError(installed.stderr.strip().splitlines()[-1])
    assert installed.returncode == 0, installed.stderr[-2000:]
    if release.module == "torch_tpu":
        stand_in.install(release.interpreter)
    done.touch()


@cache
def interpreter(version: str) -> str:
    """A Python of a version, from ``PATH`` or pyenv's folder.

    Raises:
        LookupError: there is none.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)
    for command in (shutil.which(f"python{version}"), *map(str, installed)):
        if command and _version(command) == version:
            return command
    raise LookupError(f"this machine has no Python {version}")


def _version(command: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    asked = subprocess.run([command, "-c", code], capture_output=True, text=True, check=False)
    return asked.stdout.strip()


def versions(release: Release) -> dict[str, str]:
    """What is installed there: the framework's own name of its version, and Python's."""
    code = (
        f"import json, platform, importlib.metadata as m;"
        f" print(json.dumps({{'version': m.version({release.requirement.split('==')[0]!r}),"
        f" 'python': platform.python_version()}}))"
    )
    ran = subprocess.run([release.interpreter, "-c", code], capture_output=True, check=True)
    found: dict[str, str] = json.loads(ran.stdout)
    return found
