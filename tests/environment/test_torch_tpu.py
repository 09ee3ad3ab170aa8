"""What each check of TorchTPU makes of what was found."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from xladoctor.environment import framework, steps
from xladoctor.environment.child import Outcome, Outcomes
from xladoctor.frontends.torch.environment.checks import FRAMEWORK as TORCH
from xladoctor.frontends.torch_tpu.environment import packages
from xladoctor.frontends.torch_tpu.environment.checks import FRAMEWORK
from xladoctor.frontends.torch_tpu.environment.probe import STEPS

TCMALLOC = "<TorchTpu/Performance/TcMalloc/> tcmalloc is not loaded; TorchTPU host performance …"
SOUND: dict[str, dict[str, Any]] = {
    "torch": {"version": "2.13.0+cpu"},
    "torch_tpu": {"warnings": []},
    "TPU": {"devices": 1, "files": True},
    "TPU computation": {"values": [576.0, 576.0], "compiled": [1, 0]},
}
BUILT = [(2, 11, 0), (2, 13, 0), (2, 15, 0)]


def outcomes(step: str = "torch", change: Outcome | dict[str, Any] | None = None) -> Outcomes:
    """Those of a sound installation, but for one step; what comes after a failure is unreached."""
    made = {name: Outcome("done", facts=facts) for name, facts in SOUND.items()}
    if isinstance(change, Outcome):
        after = list(SOUND)[list(SOUND).index(step) :]
        return {**made, **dict.fromkeys(after, Outcome("unreached")), step: change}
    return {**made, step: Outcome("done", facts={**SOUND[step], **(change or {})})}


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TPU_LIBRARY_PATH", "TORCH_DEVICE_BACKEND_AUTOLOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(packages, "libraries", lambda: BUILT)
    monkeypatch.setattr(steps, "installed", {"torch_tpu": "0.2.0", "libtpu": "0.0.52"}.get)
    monkeypatch.setattr(metadata, "requires", lambda _: ["numpy>=2", "libtpu>=0.0.50"])


def without_a_tpu(files: bool = False, warned: tuple[str, ...] = (TCMALLOC,)) -> Outcomes:
    found = outcomes("TPU", {"devices": 0, "files": files})
    return {
        **found,
        "torch_tpu": Outcome("done", facts={"warnings": list(warned)}),
        "TPU computation": Outcome("done"),
    }


def test_sound_installation() -> None:
    assert list(outcomes()) == list(FRAMEWORK.steps) == list(STEPS)
    assert {FRAMEWORK.check(name, outcomes()).status for name in FRAMEWORK.checks} == {"ok"}


def test_machine_without_a_tpu_is_not_at_fault() -> None:
    made = [FRAMEWORK.check(name, without_a_tpu()) for name in FRAMEWORK.checks]
    assert {check.name for check in made if check.status == "skipped"} == {
        "TPU",
        "TPU computation",
        "tcmalloc",
    }
    assert {check.status for check in made} == {"ok", "skipped"}
    assert (
        "runs that were captured elsewhere can be analyzed"
        in FRAMEWORK.check("TPU", without_a_tpu()).found
    )


def test_device_files_without_a_tpu_that_torch_tpu_sees() -> None:
    check = FRAMEWORK.check("TPU", without_a_tpu(files=True))
    assert (check.status, "/sys/bus/pci" in check.advice) == ("warning", True)


def test_tpu_that_libtpu_cannot_open() -> None:
    error = "RuntimeError: TPU initialization failed: No jellyfish device found."
    broken = outcomes("TPU", Outcome("raised", error, kind="RuntimeError"))
    assert "device files" in FRAMEWORK.check("TPU", broken).advice
    assert FRAMEWORK.check("TPU computation", broken).found == "needs a working TPU"


@pytest.mark.parametrize(
    ("torch", "imports", "status", "said"),
    [
        ("2.13.0+cpu", True, "ok", "it loads those for 2.13.0"),
        ("2.12.1", True, "ok", "it loads those for 2.11.0"),
        ("2.15.2", True, "ok", "it loads those for 2.15.0"),
        ("2.16.0", True, "warning", "torch is newer than these"),
        ("2.16.0", False, "failure", "torch is newer than these"),
        ("2.10.0", False, "failure", "libraries for torch 2.11.0 to 2.15.0"),
        ("unknown", True, "skipped", "do not say"),
    ],
)
def test_versions(torch: str, imports: bool, status: str, said: str) -> None:
    error = Outcome("raised", "ImportError: …", kind="ImportError")
    found = {
        **outcomes("torch_tpu", None if imports else error),
        "torch": Outcome("done", facts={"version": torch}),
    }
    check = packages.versions(found)
    assert (check.status, said in check.found) == (status, True)
    assert check.advice == (
        "pip install 'torch>=2.11.0,<=2.15.0'" if status in ("warning", "failure") else ""
    )


def test_libraries_are_those_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    package = tmp_path / "torch_tpu" / "_internal"
    package.mkdir(parents=True)
    (tmp_path / "torch_tpu" / "__init__.py").write_text("raise RuntimeError\n")
    for name in ("env_2_9_0.so", "env_2_11_0.so", "env_utils.py", "testing_2_12_0.so"):
        (package / name).touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert packages.libraries() == [(2, 9, 0), (2, 11, 0)]


@pytest.mark.parametrize(
    ("installed", "status"), [("0.0.52", "ok"), ("0.0.9", "warning"), (None, "failure")]
)
def test_libtpu(monkeypatch: pytest.MonkeyPatch, installed: str | None, status: str) -> None:
    monkeypatch.setattr(steps, "installed", lambda _: installed)
    check = packages.libtpu(outcomes())
    assert check.status == status
    assert check.advice == ("" if status == "ok" else "pip install 'libtpu>=0.0.50'")


@pytest.mark.parametrize("there", [True, False])
def test_library_of_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool) -> None:
    file = tmp_path / "libtpu.so"
    if there:
        file.touch()
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(file))
    assert packages.libtpu(outcomes()).status == ("ok" if there else "failure")


def test_tcmalloc_is_not_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    warned = outcomes("torch_tpu", {"warnings": [TCMALLOC]})
    monkeypatch.setattr(packages, "_TCMALLOC", str(tmp_path / "missing"))
    check = packages.tcmalloc(warned)
    assert check.status == "warning"
    assert check.advice.startswith("apt-get install libtcmalloc-minimal4\nexport LD_PRELOAD=")
    monkeypatch.setattr(packages, "_TCMALLOC", str(tmp_path))
    assert packages.tcmalloc(warned).advice == f"export LD_PRELOAD={tmp_path}"


def test_torch_does_not_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    check = FRAMEWORK.check("torch_tpu", outcomes())
    assert (check.status, 'no device "tpu"' in check.found) == ("warning", True)


def test_build_without_optimization() -> None:
    check = FRAMEWORK.check(
        "torch_tpu", outcomes("torch_tpu", {"warnings": ["<…> [UNOPTIMIZED BUILD] …"]})
    )
    assert check.status == "warning"


def test_broken_torch_leaves_the_rest_unchecked() -> None:
    broken = outcomes("torch", Outcome("raised", "ImportError: libx.so", kind="ImportError"))
    made = {name: FRAMEWORK.check(name, broken).status for name in FRAMEWORK.checks}
    assert made["torch"] == "failure"
    assert {made[name] for name in ("torch_tpu", "TPU", "TPU computation", "tcmalloc")} == {
        "skipped"
    }


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"values": [576.0, 575.0]}, "gave 576, then 575; correct is 576"),
        ({"compiled": [1, 1]}, "running the same step twice compiled it twice"),
    ],
)
def test_computation_that_is_wrong(facts: dict[str, Any], said: str) -> None:
    check = FRAMEWORK.check("TPU computation", outcomes("TPU computation", facts))
    assert (check.status, check.found) == ("failure", said)


@pytest.mark.parametrize("there", [True, False])
def test_it_is_checked_in_place_of_torch_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    known = {"torch", "torch_tpu"} if there else {"torch"}
    monkeypatch.setattr(framework, "find_spec", lambda name: object() if name in known else None)
    assert (FRAMEWORK.installed, TORCH.installed) == (there, not there)
