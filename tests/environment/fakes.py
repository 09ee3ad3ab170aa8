"""Broken installations: packages that stand before the real ones on PYTHONPATH."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
TORCH = "__version__ = '2.9.0+cpu'"
MISSING = "raise ModuleNotFoundError(\"No module named '{0}'\", name='{0}')"
SYMBOL = "raise ImportError('/lib/_XLAC.so: undefined symbol: _ZN5torch4lazy6MetricE')"


def installation(
    folder: Path, torch: str = TORCH, torch_xla: str = "", torch_version: str = "2.9.0"
) -> str:
    """A PYTHONPATH with packages whose whole source is given; torch_xla counts as 2.9.0, and jax
    cannot be imported.
    """
    (folder / "jax.py").write_text("raise ImportError('libx.so: undefined symbol: y')\n")
    versions = {"torch": torch_version, "torch_xla": "2.9.0"}
    for name, source in (("torch", torch), ("torch_xla", torch_xla)):
        package = folder / name
        package.mkdir()
        (package / "__init__.py").write_text(f"{source}\n")
        record = folder / f"{name}-{versions[name]}.dist-info"
        record.mkdir()
        (record / "METADATA").write_text(f"Name: {name}\nVersion: {versions[name]}\n")
    return os.pathsep.join([str(ROOT), str(folder)])
