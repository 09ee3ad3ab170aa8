"""A probe in a process of its own: whatever ends it is an outcome of the step that it was at."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from xladoctor.environment import child
from xladoctor.environment.child import Outcome, Outcomes
from xladoctor.frontends.torch_xla.environment.checks import FRAMEWORK
from xladoctor.frontends.torch_xla.environment.probe import STEPS

BEGIN = """
import json, os, sys, time
pipe = os.fdopen(int(sys.argv[1]), "w", buffering=1)
def tell(step, **more):
    pipe.write(json.dumps({"step": step, **more}) + "\\n")
"""
TORCH = 'tell("torch"); tell("torch", facts={"version": "2.9.0"}); '


def outcomes(folder: Path, source: str, timeout_s: float = 20.0) -> tuple[Outcomes, list[str]]:
    program, told = folder / "program.py", list[str]()
    program.write_text(BEGIN + source)
    with child.probing(list(FRAMEWORK.steps), [program], FRAMEWORK.unset) as probe:
        ended = probe.outcomes(timeout_s, told.append)
    assert list(ended) == list(STEPS)
    return ended, told


def test_steps_that_are_done_and_those_after_an_exception(tmp_path: Path) -> None:
    source = TORCH + 'tell("torch_xla"); tell("torch_xla", error=["OSError", "two\\n lines"])'
    ended, told = outcomes(tmp_path, source)
    assert told == ["torch", "torch_xla"]
    assert ended["torch"] == Outcome("done", facts={"version": "2.9.0"})
    assert ended["torch_xla"] == Outcome("raised", "OSError: two lines", kind="OSError")
    assert {ended[name].state for name in ("device", "computation", "profiler")} == {"unreached"}


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("os.abort()", "ended by signal 6 (Aborted)"),
        ("os.kill(os.getpid(), 11)", "ended by signal 11 (Segmentation fault)"),
        ("os.kill(os.getpid(), 35)", "ended by signal 35 ("),
        ("os._exit(3)", "exit status 3"),
        ("print('first', flush=True); print('last'); sys.exit(4)", "exit status 4: last"),
        (
            "os.write(2, b'x\\n2026-11-21 20:08:31.2: F a/b.cc:234] Bad flag\\n*** at\\n');"
            " os.abort()",
            "ended by signal 6 (Aborted): Bad flag",
        ),
    ],
)
def test_end_of_the_process_is_that_of_the_step_it_was_at(
    tmp_path: Path, end: str, error: str
) -> None:
    ended, _ = outcomes(tmp_path, f'{TORCH}tell("torch_xla"); {end}')
    assert (ended["torch"].state, ended["torch_xla"].state) == ("done", "died")
    assert ended["torch_xla"].error.startswith(error)
    assert ended["device"].state == "unreached"


def test_end_between_two_steps_is_that_of_the_next(tmp_path: Path) -> None:
    ended, _ = outcomes(tmp_path, f"{TORCH}os.abort()")
    assert (ended["torch"].state, ended["torch_xla"].state) == ("done", "died")


def test_end_before_the_first_step_is_that_of_the_first(tmp_path: Path) -> None:
    ended, _ = outcomes(tmp_path, "os._exit(9)")
    assert ended["torch"] == Outcome("died", "exit status 9")


def test_hang_ends_with_the_time_and_nothing_is_left(tmp_path: Path) -> None:
    source = f"""
{TORCH}tell("torch_xla")
import subprocess
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(tmp_path / "other")!r}, "w").write(str(other.pid))
time.sleep(60)
"""
    began = time.monotonic()
    ended, _ = outcomes(tmp_path, source, timeout_s=3.0)
    assert ended["torch_xla"] == Outcome("hung", "no answer within 3 s")
    assert time.monotonic() - began < 20
    process = Path("/proc", (tmp_path / "other").read_text(), "stat")
    deadline = time.monotonic() + 10
    while process.exists() and process.read_text().split()[2] != "Z":  # until it is reaped
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_probe_imports_nothing_of_the_folder_that_it_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("import interface, settings\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with FRAMEWORK.probing() as probe:
        ended = probe.outcomes(20.0, lambda _: None)
    assert ended["torch"].error == "ModuleNotFoundError: No module named 'interface'"
