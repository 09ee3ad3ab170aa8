"""The frameworks above XLA. A *frontend* is a folder, with the following parts as needed:

- ``vocabulary.yaml``: the framework's names for things; see :mod:`.vocabulary`. Always there.
- ``ingest/``: readers of what only its programs write. Holds ``FORMATS``
  (:class:`xladoctor.ingest.formats.Formats`).
- ``environment/``: the checks of its installation. Holds ``FRAMEWORK``
  (:class:`xladoctor.environment.framework.Framework`).
- its capture, which runs inside the program: the folder of its name in ``recording/bootstrap/``, or
  ``capture/`` in the folder of a frontend outside this package. Holds ``FRONTEND``.

``FRONTENDS`` in the bootstrap lists the frontends whose programs can be captured; one outside this
package is added there with its folder.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

from xladoctor.recording.bootstrap._xladoctor.frontend import FRONTENDS

_HERE = Path(__file__).parent


def folders() -> dict[str, Path]:
    """The folder of each frontend, including those whose programs cannot be captured."""
    own = {path.parent.name: path.parent for path in sorted(_HERE.glob("*/vocabulary.yaml"))}
    return own | {name: Path(folder) for name, folder in FRONTENDS.items() if folder}


@cache  # asked again for each file of a folder
def part(name: str, kind: str) -> Any:
    """The module ``kind`` (``ingest``, ``environment``) of a frontend; None if it has none."""
    package = f"{__name__}.{name}"
    if (folder := FRONTENDS.get(name)) and package not in sys.modules:
        spec = ModuleSpec(package, None, is_package=True)
        spec.submodule_search_locations = [folder]
        sys.modules[package] = module_from_spec(spec)
    module = f"{package}.{kind}"
    return import_module(module) if find_spec(module) else None


def parts(kind: str) -> list[Any]:
    """The module ``kind`` of each frontend that has one and can be captured, in their order."""
    return [module for name in FRONTENDS if (module := part(name, kind)) is not None]
