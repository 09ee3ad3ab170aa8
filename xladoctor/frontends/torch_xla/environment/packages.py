"""Checks that torch and torch_xla are installed, can be imported, and match."""

from __future__ import annotations

import re
import sys

from xladoctor.environment import faults, steps
from xladoctor.environment.child import Outcome, Outcomes
from xladoctor.environment.interface import Check, failure, ok, skipped, warning
from xladoctor.frontends.vocabulary import vocabulary

_OTHER_PYTHON = "or check the Python that has it: /path/to/python -m xladoctor env"


def torch(outcomes: Outcomes) -> Check:
    """Whether torch can be imported."""
    outcome = outcomes["torch"]
    if _missing(outcome, "torch"):
        install = vocabulary("torch_xla").words["install"]
        return failure(
            "torch", f"not installed for {sys.executable}", f"{install}\n{_OTHER_PYTHON}"
        )
    return _imported("torch", outcome)


def torch_xla(outcomes: Outcomes) -> Check:
    """Whether torch_xla can be imported; reports a mismatch with torch as such."""
    outcome = outcomes["torch_xla"]
    if outcome.state == "unreached":
        return skipped("torch_xla", "needs torch")
    if _missing(outcome, "torch_xla"):
        wanted = release(version("torch", outcomes) or "") or "2.9.0"
        return failure(
            "torch_xla",
            f"not installed for {sys.executable}",
            f"pip install 'torch_xla=={wanted}', to match torch\n{_OTHER_PYTHON}",
        )
    if "undefined symbol" in outcome.error:
        return _built_for_another_torch(outcome, outcomes)
    return _imported("torch_xla", outcome)


def versions(outcomes: Outcomes) -> Check:
    """Whether torch is the release that torch_xla was built for."""
    ours, xla = version("torch", outcomes), version("torch_xla", outcomes)
    for name, known in (("torch", ours), ("torch_xla", xla)):
        if not known:
            return skipped("versions", f"{name} is not installed as a package")
    both = f"torch {ours} with torch_xla {xla}"
    if release(ours or "") == release(xla or ""):
        return ok("versions", f"{both}: they match")
    works = outcomes["torch_xla"].done and _minor(ours or "") == _minor(xla or "")
    wanted = release(xla or "")
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


def release(text: str) -> str:
    """The numbers of a version without the build: 2.9.0 for ``2.9.0+cpu``."""
    match = re.match(r"\d+(\.\d+)*", text)
    return match[0] if match else ""


def _minor(text: str) -> list[str]:
    return release(text).split(".")[:2]


def _missing(outcome: Outcome, name: str) -> bool:
    return outcome.kind == "ModuleNotFoundError" and outcome.error.endswith(f"'{name}'")


def _imported(name: str, outcome: Outcome) -> Check:
    if outcome.done:
        return ok(name, str(outcome.facts["version"]))
    return failure(
        name, f"cannot be imported: {outcome.error}", faults.advice(outcome, f"import {name}")
    )


def _built_for_another_torch(outcome: Outcome, outcomes: Outcomes) -> Check:
    ours, xla = version("torch", outcomes), version("torch_xla", outcomes)
    wanted = release(xla or "") or "2.9.0"
    if release(ours or "") == wanted:  # the numbers agree, the builds do not
        cure = f"pip install --force-reinstall 'torch=={wanted}' 'torch_xla=={wanted}'"
    else:
        cure = f"pip install 'torch=={wanted}'"
    return failure(
        "torch_xla",
        f"cannot be imported: it was built for a torch other than {ours} ({outcome.error})",
        cure,
    )
