"""What each check of JAX makes of what was found, and which frameworks are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xladoctor.environment import examine, steps
from xladoctor.environment.child import Outcome, Outcomes
from xladoctor.frontends.jax.environment import checks
from xladoctor.frontends.jax.environment.checks import FRAMEWORK
from xladoctor.frontends.jax.environment.probe import STEPS

SOUND: dict[str, dict[str, Any]] = {
    "JAX": {"version": "0.10.2", "jaxlib": "0.10.2"},
    "JAX device": {"devices": ["CPU:0"]},
    "JAX computation": {"values": [576.0, 576.0], "compiled": [1, 0]},
    "JAX profiler": {"bytes": 3_566, "execution": True},
}


def outcomes(step: str = "JAX", change: Outcome | dict[str, Any] | None = None) -> Outcomes:
    """Those of a sound installation, but for one step; what comes after a failure is unreached."""
    made = {name: Outcome("done", facts=facts) for name, facts in SOUND.items()}
    if isinstance(change, Outcome):
        after = list(SOUND)[list(SOUND).index(step) :]
        return {**made, **dict.fromkeys(after, Outcome("unreached")), step: change}
    return {**made, step: Outcome("done", facts={**SOUND[step], **(change or {})})}


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.setattr(checks, "_ACCELERATORS", ())


def test_sound_installation() -> None:
    assert list(outcomes()) == list(FRAMEWORK.steps) == list(STEPS)
    assert {FRAMEWORK.check(name, outcomes()).status for name in FRAMEWORK.checks} == {"ok"}


def test_jaxlib_that_jax_does_not_accept() -> None:
    error = "RuntimeError: jaxlib version 0.9.0 is newer than and incompatible with jax version 0.8"
    broken = outcomes("JAX", Outcome("raised", error, kind="RuntimeError"))
    assert FRAMEWORK.check("JAX", broken).advice.endswith("pip install --upgrade jax jaxlib")


@pytest.mark.parametrize(
    ("imports", "lib", "status"),
    [
        (True, "0.10.2", "ok"),
        (True, "0.10.1", "ok"),
        (False, "0.10.1", "failure"),
        (False, None, "failure"),
    ],
)
def test_versions(
    monkeypatch: pytest.MonkeyPatch, imports: bool, lib: str | None, status: str
) -> None:
    monkeypatch.setattr(steps, "installed", {"jax": "0.10.2", "jaxlib": lib}.get)
    change = {"jaxlib": lib} if imports else Outcome("died", "…")
    check = checks.jaxlib(outcomes("JAX", change))
    assert check.status == status
    assert check.advice == ("pip install 'jaxlib==0.10.2'" if status == "failure" else "")


def test_accelerator_that_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checks, "_ACCELERATORS", ((str(tmp_path), "GPU", "cuda12"),))
    check = FRAMEWORK.check("JAX device", outcomes())
    assert (check.status, check.found) == (
        "warning",
        "1 CPU device, although this machine has a GPU",
    )
    assert check.advice == "pip install 'jax[cuda12]'"
    assert (
        FRAMEWORK.check(
            "JAX device", outcomes("JAX device", {"devices": ["GPU:0", "GPU:1"]})
        ).status
        == "ok"
    )
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert FRAMEWORK.check("JAX device", outcomes()).status == "ok"


def test_platform_that_is_not_there() -> None:
    error = "RuntimeError: Unable to initialize backend 'tpu': not found"
    broken = outcomes("JAX device", Outcome("raised", error, kind="RuntimeError"))
    assert "unset JAX_PLATFORMS" in FRAMEWORK.check("JAX device", broken).advice
    assert FRAMEWORK.check("JAX profiler", broken).found == "needs a working JAX device"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"values": [576.0, 575.0]}, "gave 576, then 575; correct is 576"),
        ({"compiled": [1, 1]}, "running the same step twice compiled it twice"),
    ],
)
def test_computation_that_is_wrong(facts: dict[str, Any], said: str) -> None:
    check = FRAMEWORK.check("JAX computation", outcomes("JAX computation", facts))
    assert (check.status, check.found) == ("failure", said)


def test_profiler_that_records_no_step() -> None:
    check = FRAMEWORK.check(
        "JAX profiler", outcomes("JAX profiler", {"bytes": 12, "execution": False})
    )
    assert (check.status, check.found) == ("failure", "recorded no step (12 bytes)")


@pytest.mark.parametrize(
    ("installed", "names"),
    [
        ({"jax"}, ["JAX"]),
        ({"torch_xla"}, ["torch"]),
        (set(), ["framework"]),
        ({"jax", "torch_xla"}, ["torch", "JAX"]),
    ],
)
def test_only_what_is_installed_is_checked(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], names: list[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    kind = type(FRAMEWORK)
    monkeypatch.setattr(kind, "installed", property(lambda self: self.package in installed))
    monkeypatch.setattr(kind, "probing", never)
    monkeypatch.setattr(examine, "_around", list)
    found = {check.name: check for check in examine.examine().checks if check.status == "failure"}
    assert [name for name in found if name in ("torch", "JAX", "framework")] == names
    if names == ["framework"]:
        said = "neither PyTorch/XLA nor JAX nor PyTorch nor TorchTPU is installed for "
        assert found["framework"].found.startswith(said)
        assert "pip install 'xladoctor[jax]'" in found["framework"].advice
