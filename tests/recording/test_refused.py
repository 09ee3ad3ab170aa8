"""Programs that are not there leave no run directory; the message says what to type."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.recording.test_launcher import Silent
from xladoctor import hang
from xladoctor.recording import launcher
from xladoctor.recording.interface import CaptureError, RunRequest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a script in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    (tmp_path / "all.sh").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["trian.py"], "trian.py: no such script", "there is train.py"),
        (["train"], "train: no such script", "there is train.py"),
        (["sub/train.py"], "sub/train.py: no such script", ""),
        (
            ["python", "train.py", "--lr", "1"],
            "python: leave it out, or put -- before it:",
            "xladoctor run train.py --lr 1\nxladoctor run -- python train.py --lr 1",
        ),
        (
            ["python3.11", "-m", "train"],
            "python3.11: leave it out, or put -- before it:",
            "xladoctor run -m train\nxladoctor run -- python3.11 -m train",
        ),
        (
            ["bash", "all.sh"],
            "bash is a command, not a script; put -- before it:",
            "xladoctor run -- bash all.sh",
        ),
        (
            ["all.sh", "x y"],
            "all.sh is not a Python script; for a command put -- before it:",
            "xladoctor run -- bash all.sh 'x y'",
        ),
        (
            ["nb.ipynb"],
            "nb.ipynb is a notebook; capture its loop in a cell:",
            "import xladoctor\nwith xladoctor.capture(): …\nor run it as a script:"
            " jupyter nbconvert"
            " --to script nb.ipynb && xladoctor run nb.py",
        ),
        (["-m", "trian"], "no module named trian", ""),
        (
            ["-m", "train.py"],
            "train.py is a script, not a module; leave out -m:",
            "xladoctor run train.py",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_such_program(folder: Path, words: list[str], what: str, hint: str) -> None:
    with pytest.raises(CaptureError) as caught:
        launcher.run(RunRequest((sys.executable, *words), words[0]), Silent(), hang.end)
    assert (caught.value.what, caught.value.hint) == (what, hint)
    assert sorted(file.name for file in folder.iterdir()) == ["all.sh", "train.py"]


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["train.py"], "cannot run train.py: Permission denied", "xladoctor run train.py"),
        (["no-such-command"], "cannot run no-such-command: No such file or directory", ""),
        (["python", "trian.py"], "trian.py: no such script", "there is train.py"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_such_command(folder: Path, words: list[str], what: str, hint: str) -> None:
    request = RunRequest(tuple(words), words[0], needs_framework=False)
    with pytest.raises(CaptureError) as caught:
        launcher.run(request, Silent(), hang.end)
    assert (caught.value.what, caught.value.hint) == (what, hint)
    assert sorted(file.name for file in folder.iterdir()) == ["all.sh", "train.py"]
