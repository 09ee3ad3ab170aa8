"""Checks that torch and torch_xla are installed, can be imported, and match."""

from __future__ import annotations

import sys

from xladoctor.environment import steps
from xladoctor.environment.child import Outcomes
from xladoctor.environment.interface import Check, failure, ok, skipped, warning
from xladoctor.frontends.vocabulary import vocabulary

_OTHER_PYTHON = "or check the Python that has it: /path/to/python -m xladoctor env"


def torch_missing(outcomes: Outcomes) -> Check | None:
    """Whether torch is not installed at all."""
    if not _missing("torch", outcomes):
        return None
    install = vocabulary("torch_xla").words["install"]
    return failure("torch", f"not installed for {sys.executable}", f"{install}\n{_OTHER_PYTHON}")


def torch_xla_unfit(outcomes: Outcomes) -> Check | None:
    """Whether torch_xla is not installed at all, or built for another torch."""
    if _missing("torch_xla", outcomes):
        wanted = steps.release(version("torch", outcomes)) or "2.9.0"
        return failure(
            "torch_xla",
            f"not installed for {sys.executable}",
            f"pip install 'torch_xla=={wanted}', to match torch\n{_OTHER_PYTHON}",
        )
    if "undefined symbol" not in outcomes["torch_xla"].error:
        return None
    ours = version("torch", outcomes)
    wanted = steps.release(version("torch_xla", outcomes)) or "2.9.0"
    if steps.release(ours) == wanted:  # the numbers agree, the builds do not
        cure = f"pip install --force-reinstall 'torch=={wanted}' 'torch_xla=={wanted}'"
    else:
        cure = f"pip install 'torch=={wanted}'"
    return failure(
        "torch_xla",
        f"cannot be imported: it was built for a torch other than {ours}"
        f" ({outcomes['torch_xla'].error})",
        cure,
    )


def versions(outcomes: Outcomes) -> Check:
    """Whether torch is the release that torch_xla was built for."""
    ours, xla = version("torch", outcomes), version("torch_xla", outcomes)
    for name, known in (("torch", ours), ("torch_xla", xla)):
        if not known:
            return skipped("versions", f"{name} is not installed as a package")
    both = f"torch {ours} with torch_xla {xla}"
    wanted = steps.release(xla)
    if steps.release(ours) == wanted:
        return ok("versions", f"{both}: they match")
    works = outcomes["torch_xla"].done and _minor(ours) == _minor(xla)
    judge = warning if works else failure
    return judge(
        "versions", f"{both}, which was built for torch {wanted}", f"pip install 'torch=={wanted}'"
    )


def version(name: str, outcomes: Outcomes) -> str | None:
    """The version that was imported, or if it cannot be imported, the one installed."""
    imported = outcomes[name].facts.get("version")
    if imported:
        return str(imported)
    return steps.installed(name)


def _minor(text: str | None) -> list[str]:
    return steps.release(text).split(".")[:2]


def _missing(name: str, outcomes: Outcomes) -> bool:
    outcome = outcomes[name]
    return outcome.kind == "ModuleNotFoundError" and outcome.error.endswith(f"'{name}'")
