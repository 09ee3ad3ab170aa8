"""The fixture and the context manager in pytest, run for real on the CPU device."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.expectation.programs import STEPS
from tests.live.harness import LIVE, line_of, write
from tests.live.test_without_xla import interpreter_without

pytest_plugins = ["pytester"]
pytestmark = LIVE

PASSING = ["pass", "allowance", "step_closure", "own_exception", "nested", "pending"]
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tests of a user, a place for temporary files, and no settings."""
    for name in list(os.environ):
        if name.startswith(("PYTEST_", "XLADOCTOR_", "XLA_", "PT_XLA_")):
            monkeypatch.delenv(name)
    temporary = pytester.mkdir("temporary")
    settings = {"PJRT_DEVICE": "CPU", "XDG_CACHE_HOME": _CACHE, "TMPDIR": temporary, "COLUMNS": 80}
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    write(pytester.path, "test_steps.py", STEPS)
    return pytester.path


def arguments(*words: str) -> list[str]:
    """Arguments of pytest; they name the plugin if this checkout is not installed."""
    installed = any(entry.name == "xladoctor" for entry in entry_points(group="pytest11"))
    return [*([] if installed else ["-p", "xladoctor.pytest_plugin"]), "-W", "error", *words]


def failures(output: str) -> dict[str, str]:
    """The message of each failed test in pytest's output."""
    parts = re.split(r"^_+ test_(\w+) _+$", output, flags=re.MULTILINE)
    texts = (re.findall(r"^E {3}(.*)$", part, re.MULTILINE) for part in parts[2::2])
    return {
        name: "\n".join(line.removeprefix("    ").rstrip() for line in text)
        for name, text in zip(parts[1::2], texts, strict=True)
    }


def words(text: str) -> str:
    """The text as one line."""
    return " ".join(text.split())


def test_fixture(project: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*arguments("-n", "1", "test_steps.py"))

    output = result.stdout.str()
    failed = failures(output)
    result.assert_outcomes(passed=len(PASSING), failed=8)
    assert not set(failed) & set(PASSING)
    assert all(len(line) <= 80 for text in failed.values() for line in text.splitlines()[1:])
    assert "block.py" not in output
    assert list((project / "temporary").glob("xladoctor-*")) == []
    steps = project / "test_steps.py"
    made, loss = (line_of(steps, text) for text in ("inputs = torch.randn", "loss = (self.model"))
    robust = line_of(steps, "loss = huber_loss")
    barrier = next(
        n
        for n, line in enumerate(steps.read_text().splitlines(), 1)
        if line.strip() == "torch_xla.sync()"
    )

    shape = words(failed["shape"])
    assert "UnmetExpectation: 1 compilation where none was expected 1 XD101 Input whose" in shape
    assert f"test_steps.py:{made} in step │ inputs = torch.randn(batch, 16).to(DEVICE)" in shape
    assert f"compiled at test_steps.py:{barrier} in Trainer.step │ torch_xla.sync()" in shape
    assert "why 1 of 1 launches compiled a new graph: the input (parameter " in shape
    assert "changed shape, last from f32[8,16] to f32[7,16]; dimension 0 became 7." in shape
    assert "fix Pad each batch on the host, before it is sent, to one length" in shape

    number = words(failed["number"])
    assert "3 compilations where at most 1 was expected" in number
    assert "XD104 Python number compiled into the graph (3 times)" in number
    assert f"test_steps.py:{loss} in step" in number
    assert "3 of 3 launches" in number
    assert "it took 3 values: 4.5, 5.5, 6.5." in number

    first = words(failed["first"])
    assert "1 First graph of a call site test_steps.py:" in first
    assert "fix Run the step a few times before the block" in first

    second = words(failed["second_launch"])
    assert "XD101" in second
    assert "also This is launch 2 of the line that compiled it" in second

    read = words(failed["read"])
    assert "3 host syncs where at most 1 was expected 1 XD201" in read
    assert f"test_steps.py:{line_of(steps, 'print(float')} in test_read" in read
    assert "reads a value (float), and waits until the device has computed it: 2 reads." in read
    assert "2 XD203 Tensor copied to the host" in read

    fallback = words(failed["fallback"])
    assert "2 fallbacks where none was expected 1 XD402" in fallback
    assert f"test_steps.py:{robust} in Trainer.robust │ loss = huber_loss" in fallback
    assert "aten::huber_loss has no XLA lowering: it ran 2 times on the CPU (1 in" in fallback

    dependent = words(failed["data_dependent"])
    assert "1 XD102 Result shape depends on the data" in dependent
    assert f"test_steps.py:{line_of(steps, 'chosen = tensor[mask]')} in masked" in dependent

    cut = words(failed["graph_cut"])
    assert f"compiled at test_steps.py:{robust} in Trainer.robust" in cut
    assert "changed shape, last from f32[8,16] to f32[9,16]" in cut


@pytest.mark.thorough
def test_below_xladoctor_run(project: Path, pytester: pytest.Pytester) -> None:
    asked = arguments("-k", "shape or read or allowance", "test_steps.py")
    result = pytester.run(
        sys.executable, "-m", "xladoctor", "run", "-o", "out", "-m", "pytest", *asked
    )

    failed = failures(result.stdout.str())
    assert set(failed) == {"shape", "read"}
    assert "changed shape, last from f32[8,16] to f32[7,16]" in words(failed["shape"])
    assert "XD201" in failed["read"]
    assert (project / "out/diagnosis.json").exists()
    assert list((project / "temporary").glob("xladoctor-*")) == []


def test_without_a_framework(project: Path, pytester: pytest.Pytester) -> None:
    write(project, "test_steps.py", "def test_one(xladoctor_expect): pass")
    interpreter = interpreter_without(project / "venv", "torch", "jax")

    result = pytester.run(interpreter, "-m", "pytest", *arguments("test_steps.py"))

    result.assert_outcomes(errors=1)
    output = result.stdout.str()
    assert f"CaptureError: {interpreter} has no framework" in words(output)
    assert "pip install 'xladoctor[xla]'" in output
