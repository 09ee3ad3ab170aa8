"""Which line is named for a read: the library's, the user's, or none because a comment says so."""

from __future__ import annotations

import pytest

from tests.live.harness import LIVE, Captured, command, line_of, write

pytestmark = [*LIVE, pytest.mark.xdist_group("call sites")]

STEPS = 20
TRAIN = f"""
    import torch
    import torch_xla
    import metrics_lib

    device = torch_xla.device()
    model = torch.nn.Linear(4, 1).to(device)
    inputs = torch.ones(8, 4).to(device)
    for step in range({STEPS}):
        model.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        metrics_lib.record(loss)
        loss.item()  # xladoctor: ignore[XD201] wanted in the log
        torch_xla.sync()
    """
LIBRARY = """
    seen = []


    def record(value):
        seen.append(float(value))
    """


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """A program that reads through an installed package, through torch, and with a comment."""
    folder = tmp_path_factory.mktemp("call_sites")
    program = write(folder, "train.py", TRAIN)
    library = write(folder, "env/site-packages/metrics_lib/__init__.py", LIBRARY)
    path = {"PYTHONPATH": str(library.parents[1])}
    return command(folder / "out", program, cwd=folder, env=path)


def test_read_in_an_installed_package_is_named_there_with_its_caller(run: Captured) -> None:
    library = run.directory.parent / "env/site-packages/metrics_lib/__init__.py"
    (finding,) = [f for f in run.findings("XD201") if f["cause"]["kinds"] == ["float"]]

    assert [(p["role"], p["file"], p["line"]) for p in finding["locations"]] == [
        ("guilty", str(library.relative_to(run.directory.parent)), line_of(library, "seen.append")),
        ("caller", "train.py", line_of(run.program, "metrics_lib.record(loss)")),
    ]
    assert finding["count"] == STEPS


def test_read_inside_torch_is_named_at_the_users_line(run: Captured) -> None:
    (finding,) = [f for f in run.findings("XD201") if f["cause"]["kinds"] == ["bool"]]

    assert [(p["role"], p["file"], p["line"]) for p in finding["locations"]] == [
        ("guilty", "train.py", line_of(run.program, "torch.nn.utils.clip_grad_norm_"))
    ]
    assert finding["cause"]["via"] == "clip_grad_norm_"
    assert "(bool inside clip_grad_norm_)" in finding["message"]


def test_comment_on_the_line_moves_its_finding_to_the_ignored(run: Captured) -> None:
    line = line_of(run.program, "loss.item()")

    (ignored,) = run.report["ignored"]
    assert ignored.pop("fingerprint") not in {f["fingerprint"] for f in run.findings("XD201")}
    assert ignored == {
        "rule": "XD201", "file": "train.py", "line": line, "reason": "wanted in the log",
        "function": "<module>",
        "source": "    loss.item()  # xladoctor: ignore[XD201] wanted in the log",
        "count": 20, "per_step": 1.0,
    }  # fmt: skip
    assert len(run.findings("XD201")) == 2
    assert "XD201" in run.report["rules"]["fired"]


def test_warning_about_a_read_names_the_programs_line_and_not_ours(run: Captured) -> None:
    library = run.directory.parent / "env/site-packages/metrics_lib/__init__.py"
    line = line_of(library, "seen.append")

    assert f"{library}:{line}: UserWarning: Converting a tensor" in run.finished.stderr
    assert "_xladoctor" not in run.finished.stderr
