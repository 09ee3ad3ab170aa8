"""The page on writing rules: each of its commands prints what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import ROOT
from tests.cli.forked import called

PAGE = ROOT / "docs" / "writing-rules.md"
_BLOCK = re.compile(
    r"^(?:[^\n]*`(\S+\.yaml)`:\n\n```yaml|```console)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)


def as_run(page: str, folder: Path) -> str:
    """The page with what its commands print in this folder, its files written."""
    (folder / "sample_traces").symlink_to(ROOT / "sample_traces")

    def filled(block: re.Match[str]) -> str:
        if block[1]:
            (folder / block[1]).write_text(block[2], encoding="utf-8")
            return block[0]
        shown = ""
        for command in re.findall(r"^\$ (.*)", block[2], re.MULTILINE):
            first, _, then = command.partition(" | ")
            program, *words = shlex.split(first)
            if program == "xladoctor":
                done = called(*words, folder=folder)
                out = piped(done.stdout, then, folder) if then else done.stdout
                shown += f"$ {command}\n{out}{done.stderr}"
            else:
                subprocess.run(["bash", "-c", command], cwd=folder, check=True)
                shown += f"$ {command}\n"
        return f"```console\n{shown}```"

    return _BLOCK.sub(filled, page)


def piped(text: str, command: str, folder: Path) -> str:
    """What a command makes of a text."""
    done = subprocess.run(
        ["bash", "-c", command],
        input=text,
        cwd=folder,
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    )
    return done.stdout


@pytest.mark.thorough
def test_each_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    now = as_run(page, tmp_path)
    if os.environ.get("XLADOCTOR_UPDATE_SNAPSHOTS"):
        PAGE.write_text(now, encoding="utf-8")
    assert now.splitlines() == PAGE.read_text(encoding="utf-8").splitlines()
    assert (tmp_path / "my_rules" / "ACME001-small-uploads.yaml").exists()
    assert now.count("$ xladoctor ") >= 8
