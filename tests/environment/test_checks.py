"""What each check makes of what was found."""

from __future__ import annotations

import shutil
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xladoctor.diagnosis.pack import load_rules
from xladoctor.environment import capture, host, stacks, storage, variables
from xladoctor.environment.child import Outcome, Outcomes
from xladoctor.environment.interface import Check, Examination
from xladoctor.frontends.torch_xla.environment import device, packages
from xladoctor.frontends.torch_xla.environment.checks import FRAMEWORK, HINDERING
from xladoctor.frontends.torch_xla.environment.probe import STEPS

SOUND: dict[str, dict[str, Any]] = {
    "torch": {"version": "2.9.0+cpu"},
    "torch_xla": {"version": "2.9.0", "pjrt_device": "CPU", "tpu_chips": 0},
    "device": {"devices": ["CPU:0"]},
    "computation": {"values": [576.0, 576.0], "compiled": [1, 0]},
    "profiler": {"bytes": 3_566, "step_marker": True},
}


def outcomes(**changes: Outcome | dict[str, Any]) -> Outcomes:
    """Those of a sound installation; a change to one that is not done leaves the rest unreached."""
    made: dict[str, Outcome] = {}
    for name in STEPS:
        change = changes.get(name, {})
        if any(not outcome.done for outcome in made.values()):
            made[name] = Outcome("unreached")
        elif isinstance(change, Outcome):
            made[name] = change
        else:
            made[name] = Outcome("done", facts={**SOUND[name], **change})
    return made


def raised(kind: str, message: str) -> Outcome:
    return Outcome("raised", f"{kind}: {message}", kind=kind)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("PJRT_DEVICE", "CPU")


def test_failures_alone_make_an_examination_not_ok() -> None:
    kinds = [Check("a", "ok", ""), Check("b", "warning", ""), Check("c", "skipped", "")]
    assert Examination(tuple(kinds)).ok
    assert not Examination((*kinds, Check("d", "failure", ""))).ok


def test_host_is_sound_where_the_tests_run() -> None:
    checks = (host.python, host.system, host.xladoctor)
    assert [check().status for check in checks] == ["ok"] * 3
    assert f"{len(load_rules())} rules" in host.xladoctor().found


# torch and torch_xla


@pytest.mark.parametrize(
    ("torch", "torch_xla", "status"),
    [
        ("2.9.0", "2.9.0", "ok"),
        ("2.9.0+cu128", "2.9.0", "ok"),
        ("2.9.0", "2.9.0+git1a2b", "ok"),
        ("2.9.1", "2.9.0", "warning"),  # as both could be imported
        ("2.8.0", "2.9.0", "failure"),
        ("2.10.0.dev20251020", "2.9.0", "failure"),
    ],
)
def test_versions_belong_together_or_not(torch: str, torch_xla: str, status: str) -> None:
    check = packages.versions(outcomes(torch={"version": torch}, torch_xla={"version": torch_xla}))
    assert check.status == status
    if status != "ok":
        assert check.found == f"torch {torch} with torch_xla 2.9.0, which was built for torch 2.9.0"
        assert check.advice == "pip install 'torch==2.9.0'"


def test_other_patch_is_a_failure_where_the_import_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", {"torch": "2.9.1", "torch_xla": "2.9.0"}.__getitem__)
    ended = outcomes(
        torch={"version": "2.9.1"}, torch_xla=raised("ImportError", "x.so: undefined symbol: _ZN5E")
    )
    assert packages.versions(ended).status == "failure"
    check = FRAMEWORK.check("torch_xla", ended)
    assert "was built for a torch other than 2.9.1 (ImportError: x.so: unde" in check.found
    assert check.advice == "pip install 'torch==2.9.0'"


def test_torch_xla_without_torch_is_not_judged() -> None:
    missing = raised("ModuleNotFoundError", "No module named 'torch'")
    check = FRAMEWORK.check("torch", outcomes(torch=missing))
    assert (check.status, check.found) == ("failure", f"not installed for {sys.executable}")
    assert check.advice.startswith("pip install 'xladoctor[xla]'")
    assert FRAMEWORK.check("torch_xla", outcomes(torch=missing)) == Check(
        "torch_xla", "skipped", "needs torch"
    )


def test_missing_torch_xla_is_to_be_that_of_torch() -> None:
    missing = raised("ModuleNotFoundError", "No module named 'torch_xla'")
    check = FRAMEWORK.check(
        "torch_xla", outcomes(torch={"version": "2.8.0+cpu"}, torch_xla=missing)
    )
    assert check.status == "failure"
    assert check.advice.startswith("pip install 'torch_xla==2.8.0'")


@pytest.mark.parametrize(
    ("outcome", "advice"),
    [
        (raised("ImportError", "/lib64/libm.so.6: version `GLIBC_2.35' not found"), "C library"),
        (raised("OSError", "libx.so: cannot open shared object file"), "LD_LIBRARY_PATH"),
        (
            Outcome("died", "ended by signal 6 (Aborted): Unknown flag in XLA_FLAGS: --x"),
            "fix XLA_FLAGS",
        ),
        (Outcome("hung", "no answer within 60 s"), "--timeout"),
        (Outcome("died", "ended by signal 11 (Segmentation fault)"), '-c "import torch_xla"'),
    ],
)
def test_error_of_the_import_is_shown_with_what_to_do(outcome: Outcome, advice: str) -> None:
    check = FRAMEWORK.check("torch_xla", outcomes(torch_xla=outcome))
    assert check.status == "failure"
    assert check.found == f"cannot be imported: {outcome.error}"
    assert advice in check.advice


# The device


@pytest.mark.parametrize(
    ("value", "status", "said"),
    [
        ("CPU", "ok", "CPU"),
        ("TPU_0", "ok", "TPU_0"),
        ("cpu", "failure", "'cpu' is not a device; set it to CPU"),
        ("GPU", "failure", "'GPU' is not a device; set it to one of CPU, TPU, NEURON, CUDA, XPU"),
        ("", "failure", "set, but empty; set it to one of CPU"),
        (None, "ok", "not set; torch_xla chose CPU"),
    ],
)
def test_pjrt_device(
    monkeypatch: pytest.MonkeyPatch, value: str | None, status: str, said: str
) -> None:
    if value is None:
        monkeypatch.delenv("PJRT_DEVICE")
    else:
        monkeypatch.setenv("PJRT_DEVICE", value)
    ended = outcomes() if status == "ok" else outcomes(device=raised("RuntimeError", "No PjRt…"))
    check = device.pjrt_device(ended)
    assert check.status == status
    assert f"{check.found}; {check.advice}".startswith(said)
    assert FRAMEWORK.check("device", ended).status == ("ok" if status == "ok" else "skipped")


def test_device_that_works_is_one_whatever_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PJRT_DEVICE", "MINE")  # registered by the program's own sitecustomize
    assert device.pjrt_device(outcomes()).status == "ok"


def test_choice_that_nobody_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PJRT_DEVICE")
    assert device.pjrt_device(outcomes(torch_xla={"pjrt_device": None})).status == "failure"
    unknown = device.pjrt_device(outcomes(torch=Outcome("hung", "…")))
    assert (unknown.status, unknown.found) == (
        "skipped",
        "not set; what torch_xla chooses needs torch",
    )


def test_devices_are_counted_by_kind() -> None:
    assert FRAMEWORK.check("device", outcomes()).found == "1 CPU device"
    four = outcomes(device={"devices": [f"TPU:{i}" for i in range(4)]})
    assert FRAMEWORK.check("device", four).found == "4 TPU devices"
    assert FRAMEWORK.check("device", outcomes(device={"devices": []})).status == "failure"


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("No PjRtPlugin registered for: CUDA.", "CPU always works"),
        ("libtpu not found", "pip install 'torch_xla[tpu]'"),
        ("The TPU is already in use by process with pid 12.", "another program uses the device"),
        ("something new", "torch_xla.device()"),
    ],
)
def test_device_that_is_not_there(error: str, advice: str) -> None:
    check = FRAMEWORK.check("device", outcomes(device=raised("RuntimeError", error)))
    assert (check.status, check.found) == ("failure", f"no device: RuntimeError: {error}")
    assert advice in check.advice


@pytest.mark.parametrize(
    ("installed", "status", "said"),
    [
        ({"libtpu": "0.0.21"}, "ok", "0.0.21"),
        ({"libtpu": "0.0.17"}, "warning", "0.0.17; torch_xla was built for 0.0.21"),
        ({}, "failure", "not installed"),
    ],
)
def test_libtpu_where_there_is_a_tpu(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], status: str, said: str
) -> None:
    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda _: ["numpy", 'libtpu==0.0.21; extra == "tpu"'])
    check = device.libtpu(outcomes(torch_xla={"tpu_chips": 4}))
    assert (check.status, check.found) == (status, said)
    assert check.advice == ("" if status == "ok" else "pip install 'libtpu==0.0.21'")


def test_libtpu_and_neuron_where_they_are_of_no_use() -> None:
    assert device.libtpu(outcomes()).status == "skipped"
    assert device.neuron().status == "skipped"


def test_asked_for_but_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PJRT_DEVICE", "NEURON")
    assert device.neuron().status == "failure"
    monkeypatch.setenv("PJRT_DEVICE", "TPU")
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(tmp_path / "libtpu.so"))
    assert device.libtpu(outcomes()).status == "failure"
    (tmp_path / "libtpu.so").touch()
    assert device.libtpu(outcomes()).status == "ok"


@pytest.mark.parametrize(
    ("facts", "status", "said"),
    [
        ({}, "ok", "correct, and compiled once for two runs"),
        ({"compiled": [0, 0]}, "ok", "correct"),  # from the persistent cache
        ({"values": [576.0, 575.0]}, "failure", "gave 576, then 575; correct is 576"),
        ({"values": [float("nan"), 576.0]}, "failure", "gave nan, then 576"),
        ({"compiled": [1, 1]}, "failure", "running the same step twice compiled it twice"),
        ({"compiled": [4, 0]}, "warning", "correct, but compiled in 4 pieces"),
    ],
)
def test_computation(facts: dict[str, Any], status: str, said: str) -> None:
    check = FRAMEWORK.check("computation", outcomes(computation=facts))
    assert check.status == status
    assert check.found.startswith(said)
    assert bool(check.advice) == (status != "ok")


def test_profiler_that_records_no_step() -> None:
    assert FRAMEWORK.check("profiler", outcomes()).status == "ok"
    silent = FRAMEWORK.check("profiler", outcomes(profiler={"bytes": 12, "step_marker": False}))
    assert (silent.status, silent.found) == ("failure", "recorded no step (12 bytes)")


def test_what_was_not_reached_names_what_it_needs() -> None:
    ended = outcomes(device=Outcome("died", "…"))
    assert FRAMEWORK.check("computation", ended).found == "needs a device"
    assert FRAMEWORK.check("profiler", ended).found == "needs a device"
    ended = outcomes(computation=Outcome("hung", "…"))
    assert FRAMEWORK.check("profiler", ended).found == "needs a working computation"


# Settings


def test_settings_that_do_not_hurt() -> None:
    calm = {
        "PJRT_DEVICE": "CPU",
        "XLA_SYNC_WAIT": "0",
        "XLA_USE_BF16": "false",
        "XLA_FLAGS": "--x",
        "XLA_COMPILATION_CACHE_SIZE": "2048",
        "PT_XLA_DEBUG_FILE": "",
    }
    (check,) = variables.settings(HINDERING, calm)
    assert check.status == "ok"
    assert variables.settings(HINDERING, {}) == [check]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("XLA_SYNC_WAIT", "1"),
        ("XLA_USE_EAGER_DEBUG_MODE", "1"),
        ("XLA_IR_DEBUG", "true"),
        ("XLA_HLO_DEBUG", "1"),
        ("PT_XLA_DEBUG", "1"),
        ("PT_XLA_DEBUG_LEVEL", "2"),
        ("PT_XLA_DEBUG_FILE", "/tmp/log"),
        ("XLA_SAVE_TENSORS_FILE", "/tmp/graphs"),
        ("XLA_DUMP_HLO_GRAPH", "1"),
        ("XLA_USE_BF16", "1"),
        ("XLA_DOWNCAST_BF16", "1"),
        ("XRT_TPU_CONFIG", "tpu_worker;0;10.0.0.2:8470"),
        ("XLA_COMPILATION_CACHE_SIZE", "1"),
        ("XLA_COMPILATION_CACHE_SIZE", "many"),
        ("XLA_METRICS_FILE", "m.txt"),
        ("XLA_FNTRACKER_FILE", "f.txt"),
        ("XLA_FLAGS", "--xla_a=1 --xla_dump_to=/tmp/x"),
    ],
)
def test_setting_that_hurts_is_a_warning_of_its_own(name: str, value: str) -> None:
    (check,) = variables.settings(HINDERING, {name: value, "HOME": "/root"})
    assert (check.name, check.status) == ("settings", "warning")
    assert check.found.startswith(name)
    assert check.advice


def test_no_setting_is_judged_twice() -> None:
    queries = [rule.query for rule in load_rules() if rule.needs == ["environment"]]
    others = [name for setting in HINDERING for name in setting.names]
    assert queries
    assert [name for name in others if any(f"'{name}'" in query for query in queries)] == []
    assert len(set(others)) == len(others)


# Storage


@pytest.mark.parametrize(
    ("free", "status", "said"),
    [
        (199e6, "failure", "199 MB free, too little"),
        (1.9e9, "warning", "1.9 GB free, little"),
        (2e9, "ok", "2.0 GB free"),
    ],
)
def test_disk_space(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: float, status: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    check = storage.run_directory()
    assert check.status == status
    assert said in check.found


def test_directory_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    check = storage.run_directory()
    assert (check.status, check.found) == (
        "failure",
        "cannot write here: No such file or directory",
    )


# The capture


def test_capture_starts() -> None:
    assert capture.capture() == Check("capture", "ok", "starts with the program's Python")


def script(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_python_that_ignores_pythonpath_is_called_so(tmp_path: Path) -> None:
    wrapper = script(tmp_path, f'exec {sys.executable} -I "$@"')
    check = capture.capture(wrapper)
    assert (check.status, check.found) == ("failure", f"{wrapper} ignores PYTHONPATH")


def test_python_without_site_does_not_start_the_capture(tmp_path: Path) -> None:
    check = capture.capture(script(tmp_path, f'exec {sys.executable} -S "$@"'))
    assert (check.status, check.found) == ("failure", "does not start")


def test_python_that_does_not_run(tmp_path: Path) -> None:
    assert capture.capture(str(tmp_path / "none")).status == "failure"
    broken = capture.capture(script(tmp_path, "echo no libpython >&2; exit 127"))
    assert (broken.status, broken.found) == ("failure", "does not start: no libpython")


def test_broken_sitecustomize_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import not_installed_anywhere\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    check = capture.capture()
    assert check.status == "warning"
    assert "No module named 'not_installed_anywhere'" in check.found


# Stacks of running programs


def proc(folder: Path, scope: str | None, capabilities: int) -> Path:
    (folder / "self").mkdir()
    (folder / "self/status").write_text(f"Name:\tcat\nCapEff:\t{capabilities:016x}\n")
    if scope is not None:
        (folder / "sys/kernel/yama").mkdir(parents=True)
        (folder / "sys/kernel/yama/ptrace_scope").write_text(scope)
    return folder


@pytest.mark.parametrize(
    ("scope", "capabilities", "said"),
    [
        (None, 0, None),
        ("0\n", 0, None),
        ("1\n", 1 << 19, None),
        ("2\n", 0x1FFFFFFFFFF, None),
        ("1\n", ~(1 << 19) & 0x1FFFFFFFFFF, "only of programs that it started"),
        ("2\n", 0, "only with the capability CAP_SYS_PTRACE"),
        ("3\n", 1 << 19, "never, until the system restarts"),
    ],
)
def test_leave_to_trace(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    scope: str | None,
    capabilities: int,
    said: str | None,
) -> None:
    monkeypatch.setattr(stacks, "_py_spy", lambda: "0.4.1")
    check = stacks.stacks(proc(tmp_path, scope, capabilities))
    assert check.status == ("warning" if said else "ok")
    assert (said or "py-spy 0.4.1") in check.found


def test_missing_py_spy_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    check = stacks.stacks(proc(tmp_path, None, 0))
    assert (check.status, check.found) == ("warning", "py-spy is not installed")
    assert check.advice == "pip install py-spy"
