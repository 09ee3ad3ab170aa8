"""Comments that ignore findings, from the program to the report, and back into the program."""

from __future__ import annotations

import pytest

from tests.live.harness import LIVE, Captured, command, line_of, write

pytestmark = [*LIVE, pytest.mark.xdist_group("ignores")]

TRAIN = """
    import torch
    import torch_xla

    device = torch_xla.device()
    model = torch.nn.Linear(4, 1).to(device)
    inputs = torch.ones(8, 4).to(device)
    for step in range(20):
        model.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        # xladoctor: ignore[XD201] wanted in the log
        loss.item()
        print(
            loss.item(),
            step)  # xladoctor: ignore[XD201] shown
        total = 1.0 + \\
            loss.item()
        torch_xla.sync()  # xladoctor: ignore[XD201] stale
    """


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """A program with comments above, in and behind statements, which is given another one."""
    folder = tmp_path_factory.mktemp("ignores")
    (folder / ".git").mkdir()
    program = write(folder, "train.py", TRAIN)
    return command(folder / "out", program, cwd=folder, flags=("--add-ignores",))


def test_comments_suppress_the_findings_that_they_are_about(run: Captured) -> None:
    above = line_of(run.program, "# xladoctor: ignore[XD201] wanted")
    assert {(each["line"], each["reason"]) for each in run.report["ignored"]} == {
        (above + 1, "wanted in the log"),
        (above + 3, "shown"),
    }


def test_comment_of_no_use_is_a_note(run: Captured) -> None:
    line = line_of(run.program, "torch_xla.sync()")
    said = [text for text in run.report["warnings"] if "ignore" in text]
    assert said == [f"unused ignore at train.py:{line}: XD201 did not fire"]


def test_comment_is_written_for_what_is_left(run: Captured) -> None:
    line = line_of(run.program, "step)") + 2
    (finding,) = run.findings("XD201")
    assert finding["locations"][0]["line"] == line
    assert f"train.py: wrote comments in line {line}" in run.finished.stderr
    row = run.program.read_text().splitlines()[line - 1]
    assert row == "        loss.item()  # xladoctor: ignore[XD201]"
