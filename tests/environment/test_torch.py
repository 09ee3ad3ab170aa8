"""What each check of torch.compile makes of what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xladoctor.environment import variables
from xladoctor.environment.child import Outcome, Outcomes
from xladoctor.frontends.torch.environment import checks
from xladoctor.frontends.torch.environment.checks import FRAMEWORK, HINDERING
from xladoctor.frontends.torch.environment.probe import STEPS

SOUND: dict[str, dict[str, Any]] = {
    "PyTorch": {"version": "2.9.0+cpu", "built_for": None},
    "GPU": {"gpus": ["NVIDIA H200"], "triton": True},
    "C++ compiler": {"compiler": "g++", "says": "g++ 13.2.0", "cache": "/tmp", "keeps": True},
    "torch.compile": {"values": [576.0, 576.0], "compiled": [1, 0], "limit": 8},
}


def outcomes(step: str = "GPU", change: Outcome | dict[str, Any] | None = None) -> Outcomes:
    """Those of a sound installation, but for one step; what comes after a failure is unreached."""
    made = {name: Outcome("done", facts=facts) for name, facts in SOUND.items()}
    if isinstance(change, Outcome):
        after = list(SOUND)[list(SOUND).index(step) :]
        return {**made, **dict.fromkeys(after, Outcome("unreached")), step: change}
    return {**made, step: Outcome("done", facts={**SOUND[step], **(change or {})})}


def test_sound_installation() -> None:
    assert list(outcomes()) == list(FRAMEWORK.steps) == list(STEPS)
    assert {FRAMEWORK.check(name, outcomes()).status for name in FRAMEWORK.checks} == {"ok"}


@pytest.mark.parametrize(("there", "status"), [(False, "skipped"), (True, "warning")])
def test_no_gpu(monkeypatch: pytest.MonkeyPatch, there: bool, status: str) -> None:
    monkeypatch.setattr(checks, "_GPU", "/" if there else "/nowhere")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    check = FRAMEWORK.check("GPU", outcomes("GPU", {"gpus": [], "triton": False}))
    assert check.status == status
    assert ("built for the CPU alone" in check.advice) == there


@pytest.mark.parametrize("installed", [True, False])
def test_gpu_without_triton(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda _: object() if installed else None)
    check = FRAMEWORK.check("GPU", outcomes("GPU", {"triton": False}))
    assert check.status == "failure"
    assert (check.advice == "pip install triton") is not installed


def test_no_compiler() -> None:
    error = "InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx"
    broken = outcomes("C++ compiler", Outcome("raised", error, kind="InvalidCxxCompiler"))
    assert "apt-get install g++" in FRAMEWORK.check("C++ compiler", broken).advice
    assert checks.cache(broken).status == "skipped"
    assert FRAMEWORK.check("torch.compile", broken).found == "needs a working C++ compiler"


def test_cache(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    broken = checks.cache(outcomes("C++ compiler", {"cache": str(tmp_path / "file" / "cache")}))
    assert (broken.status, "TORCHINDUCTOR_CACHE_DIR" in broken.advice) == ("failure", True)
    assert checks.cache(outcomes("C++ compiler", {"keeps": False})).status == "warning"
    new = checks.cache(outcomes("C++ compiler", {"cache": str(tmp_path / "new" / "cache")}))
    assert (new.status, [*tmp_path.iterdir()]) == ("ok", [tmp_path / "file"])


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"values": [576.0, 575.0]}, "gave 576, then 575; correct is 576"),
        ({"compiled": [0, 0]}, "compiled nothing, so there is nothing to capture"),
        ({"compiled": [1, 1]}, "running the same step twice compiled it twice"),
    ],
)
def test_computation_that_is_wrong(facts: dict[str, Any], said: str) -> None:
    check = FRAMEWORK.check("torch.compile", outcomes("torch.compile", facts))
    assert (check.status, check.found) == ("failure", said)


def test_settings_that_hinder() -> None:
    calm = {"TORCHDYNAMO_DISABLE": "0", "TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}
    (check,) = variables.settings(HINDERING, calm)
    assert check.status == "ok"
    (check,) = variables.settings(HINDERING, {"TORCHDYNAMO_DISABLE": "1"})
    assert check.found.startswith("TORCHDYNAMO_DISABLE=1: torch.compile compiles nothing")
