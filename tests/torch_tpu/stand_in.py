"""Makes an environment's TorchTPU run on the CPU: builds ``plugin.c``, and answers for the PCI bus.

TorchTPU counts the TPUs on the PCI bus before it loads a plugin. In the environment of these tests
a path file of site-packages replaces that count and sets variables; programs are run as they are.

``python -m tests.torch_tpu.stand_in INTERPRETER`` does so for an environment that has TorchTPU.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

#: What TorchTPU needs here: torch for the CPU, and a plugin that drives the CPU.
REQUIREMENTS = ("torch==2.13.0", "lammps-jax-pjrt-cpu==0.11.2")

_SOURCE = Path(__file__).with_name("plugin.c")
_LIBRARY = "libtpu_stand_in.so"
_MODULE = "tpu_stand_in"
_COUNT = '''\
import importlib.abc, importlib.util, os, sys

for name, value in VARIABLES.items():
    os.environ.setdefault(name, value)

class Finder(importlib.abc.MetaPathFinder):
    """Finds the module that looks for TPUs, and has it find one."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch_tpu._internal.utils.hardware":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_count(module):
            execute(module)
            module.get_tpu_device_count = lambda: 1
            import torch
            for kind in ("flash", "mem_efficient", "cudnn"):  # whose kernels only a TPU has
                getattr(torch._C, f"_set_sdp_use_{kind}")(False)

        spec.loader.exec_module = execute_and_count
        return spec

sys.meta_path.insert(0, Finder())
'''


def install(interpreter: Path) -> None:
    """Build the plugin for the environment of an interpreter that has :data:`REQUIREMENTS`.

    Raises:
        LookupError: the machine has no C compiler.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise LookupError("this machine has no C compiler, which the stand-in for a TPU needs")
    folder = _packages(interpreter)
    flags = ("-O1", "-shared", "-fPIC", "-ldl")
    command = [compiler, "-o", str(folder / _LIBRARY), str(_SOURCE), *flags]
    subprocess.run(command, check=True)
    text = f"VARIABLES = {environment(interpreter)!r}\n{_COUNT}"
    (folder / f"{_MODULE}.py").write_text(text, encoding="utf-8")
    (folder / f"{_MODULE}.pth").write_text(f"import {_MODULE}\n", encoding="utf-8")


def environment(interpreter: Path) -> dict[str, str]:
    """The variables with which TorchTPU uses the plugin. The module sets those that are not set."""
    folder = _packages(interpreter)
    (actual,) = folder.glob("lammps_jax_pjrt_cpu/*.so")
    return {
        "TPU_LIBRARY_PATH": str(folder / _LIBRARY),
        "ACTUAL_PLUGIN": str(actual),
        "ACTUAL_DEVICES": "1",  # as a process group takes one
        "TORCH_TPU_TOPOLOGY": "1x1",  # which would be asked of the PCI bus
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",  # each run compiles
        "PYTHONWARNINGS": "ignore:<TorchTpu/",  # such as its advice to load another allocator
    }


def _packages(interpreter: Path) -> Path:
    (folder,) = (interpreter.parents[1] / "lib").glob("python3*/site-packages")
    return folder


if __name__ == "__main__":
    install(Path(sys.argv[1]).absolute())
