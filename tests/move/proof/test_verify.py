"""A program and its moved copy, run: with a mistake in the copy, or without."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from xladoctor.fixes.interface import FixError
from xladoctor.move.proof.interface import Side, Verification
from xladoctor.move.proof.verify import Trial, verify
from xladoctor.report.interface import Style
from xladoctor.report.text import write
from xladoctor.report.verification import parts, record

ROOT = Path(__file__).parents[3]
XLA = Side("torch_xla", Path(sys.executable), {"PJRT_DEVICE": "CPU"})
#: `make torch-tpu-cpu` makes it.
TPU = Side("TorchTPU", ROOT / ".venv-torch-tpu/bin/python")
pytestmark = pytest.mark.xdist_group("moved")

TRAINING = """\
import torch, torch_xla
import torch_xla.core.xla_model as xm
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_xla.distributed.parallel_loader import MpDeviceLoader

device = torch_xla.device()
model = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4)
).to(device)
rows = TensorDataset(torch.randn(128, 8), torch.randint(0, 4, (128,)))
loader = MpDeviceLoader(DataLoader(rows, batch_size=16, shuffle=True), device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for x, y in loader:
    x = x.to(device) + 0.01 * torch.randn(x.shape, generator=None, device=device)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y.to(device))
    loss.backward()
    xm.optimizer_step(optimizer)
print(loss.item())
"""
PLAIN = (
    ("import torch, torch_xla\nimport torch_xla.core.xla_model as xm\n", "import torch\n"),
    ("from torch_xla.distributed.parallel_loader import MpDeviceLoader\n", ""),
    ("torch_xla.device()", 'torch.device("tpu")'),
    (
        "MpDeviceLoader(DataLoader(rows, batch_size=16, shuffle=True), device)",
        "DataLoader(rows, batch_size=16, shuffle=True)",
    ),
    ("xm.optimizer_step(optimizer)", "optimizer.step()"),
)
#: A mistake, the first kind of value that it changes, and in which step.
MISTAKES = {
    "rate": ("lr=1e-2", "lr=2e-2", "updates"),
    "dropout": ("nn.Dropout(0.3)", "nn.Identity()", "outputs"),
    "loss": ("loss.backward()", "(loss / 2).backward()", "loss"),
    "momentum": ("lr=1e-2", "lr=1e-2, betas=(0.5, 0.999)", "updates"),
    "order": ("shuffle=True", "shuffle=False", "inputs"),
}


@pytest.fixture(params=[XLA, TPU], ids=lambda side: side.name)
def target(request: pytest.FixtureRequest) -> Side:
    side: Side = request.param
    if not side.interpreter.exists():
        pytest.skip("make torch-tpu-cpu makes an environment with TorchTPU")
    return side


def moved(side: Side, *changes: tuple[str, str]) -> str:
    """The program for a side, with changes."""
    text = TRAINING
    synced = ("xm.optimizer_step(optimizer)", "optimizer.step(); torch_xla.sync()")
    for old, new in (*(PLAIN if side is TPU else (PLAIN[3], synced)), *changes):
        assert old in text
        text = text.replace(old, new)
    return text


def verified(folder: Path, target: Side, text: str, **how: object) -> Verification:
    program = folder / "train.py"
    program.write_text(TRAINING, encoding="utf-8")
    trial = replace(Trial(["train.py"], folder, counts=False), **how)  # type: ignore[arg-type]
    return verify(folder, {program: text}, XLA, target, trial)


def test_moved_program_agrees_with_counts_and_findings(tmp_path: Path, target: Side) -> None:
    found = verified(tmp_path, target, moved(target), counts=True)

    assert (found.judgement.outcome, found.judgement.steps) == ("agrees", 3), found.judgement
    counts = {name: values for name, *values in found.counts}
    assert counts["launches"][0] == 1.0
    assert (counts["launches"][1] or 0) > 1 if target is TPU else counts["launches"][1] == 1.0
    output = io.StringIO()
    write([*parts(found, Style())], output, Style())
    assert output.getvalue().startswith("the first 3 steps agree within 0.1%\n")
    assert all(len(line) <= 80 for line in output.getvalue().splitlines())
    assert record(found)["judgement"]["outcome"] == "agrees"


def test_program_on_another_device_than_it_is_to_use_fails(tmp_path: Path) -> None:
    found = verified(tmp_path, replace(XLA, device="tpu"), moved(XLA))
    assert (found.judgement.outcome, found.judgement.reason) == (
        "fails",
        "the moved program computes on xla, not on tpu",
    )


@pytest.mark.parametrize("mistake", MISTAKES)
def test_first_difference_is_that_of_the_mistake(
    tmp_path: Path, target: Side, mistake: str
) -> None:
    old, new, kind = MISTAKES[mistake]
    judgement = verified(tmp_path, target, moved(target, (old, new))).judgement

    assert judgement.outcome == ("not comparable" if kind == "inputs" else "differs")
    assert judgement.first is not None
    step = 2 if mistake == "momentum" else 1  # Adam's first update is the gradient's sign
    assert (judgement.first.kind, judgement.first.step) == (kind, step)


def test_program_that_fails_says_where(tmp_path: Path, target: Side) -> None:
    text = moved(target, ("for x, y", "model.missing()\nfor x, y"))
    line = text.splitlines().index("model.missing()") + 1
    found = verified(tmp_path, target, text)

    assert found.judgement.outcome == "fails"
    assert f"no attribute 'missing' (train.py:{line})" in found.judgement.reason


def test_original_that_fails_is_not_comparable(tmp_path: Path) -> None:
    found = verified(tmp_path, replace(XLA, interpreter=Path("/bin/false")), moved(XLA))
    assert found.judgement.outcome == "fails"
    program = tmp_path / "train.py"
    other = replace(XLA, interpreter=Path("/bin/false"))
    trial = Trial(["train.py"], tmp_path, counts=False)
    found = verify(tmp_path, {program: TRAINING}, other, XLA, trial)
    assert found.judgement.outcome == "not comparable"
    with pytest.raises(FixError):
        verify(tmp_path / "absent", {}, XLA, XLA, trial)
