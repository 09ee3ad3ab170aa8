"""The exception that ended a program, with the program's line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from xladoctor.recording.bootstrap._xladoctor import process
from xladoctor.recording.bootstrap._xladoctor.call_site import CallSites
from xladoctor.recording.bootstrap._xladoctor.frontend import InJob

PROGRAM = "import json\ndef load(text):\n    return json.loads(text)\nload('{')\n"


def test_uncaught_exception_has_the_last_line_of_the_program_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passes through the standard library last, which is not the program's."""
    monkeypatch.chdir(tmp_path)
    program = compile(PROGRAM, str(tmp_path / "train.py"), "exec")
    with pytest.raises(json.JSONDecodeError) as caught:
        exec(program, {})
    monkeypatch.setattr(sys, "last_type", caught.type, raising=False)
    monkeypatch.setattr(sys, "last_traceback", caught.tb, raising=False)
    described = process.describe(InJob(None, None, None), (), CallSites(()))
    assert described["uncaught"] == "JSONDecodeError at train.py:3"
    monkeypatch.delattr(sys, "last_type")
    assert process.describe(InJob(None, None, None), (), CallSites(()))["uncaught"] is None
