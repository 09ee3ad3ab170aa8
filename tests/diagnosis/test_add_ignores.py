"""Comments that are written into the files of a program."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support import evidence, finding, location
from xladoctor.diagnosis.add_ignores import UnfitSourceError, add_ignores, with_ignores
from xladoctor.diagnosis.finding import Finding
from xladoctor.evidence.interface import Evidence

ASKS = "  # xladoctor: ignore[XD201]"
HOST = {"process": [{"process": 0, "host": socket.gethostname()}]}


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("x.item()\n", 1, f"x.item(){ASKS}\n"),
        ("x.item()", 1, f"x.item(){ASKS}"),
        ("x.item()  \r\ny()\r\n", 1, f"x.item(){ASKS}\r\ny()\r\n"),
        ("x.item()\ry()\r", 2, f"x.item()\ry(){ASKS}\r"),
        ("x.item()  # why\n", 1, f"x.item()  # why{ASKS}\n"),
        ("x()  # xladoctor: ignore[XD1] why\n", 1, "x()  # xladoctor: ignore[XD1, XD201] why\n"),
        ("x()  # xladoctor: ignore[XD2] why\n", 1, "x()  # xladoctor: ignore[XD2] why\n"),
        ("# xladoctor: ignore[XD1]\nx()\n", 2, "# xladoctor: ignore[XD1, XD201]\nx()\n"),
        ("# xladoctor: ignore XD1\nx()\n", 2, f"# xladoctor: ignore XD1\nx(){ASKS}\n"),
        ("f(\n  a,\n  b)\n", 2, f"f(\n  a,{ASKS}\n  b)\n"),
        ("y = a + \\\n  b\n", 1, f"y = a + \\\n  b{ASKS}\n"),
        ("s = '''\n# a\n''' + f(\n1)\n", 2, f"s = '''\n# a\n''' + f(\n1){ASKS}\n"),
        ("s = f'''\n{x.item()}\n'''\n", 1, f"s = f'''\n{{x.item()}}\n'''{ASKS}\n"),
        ("for x in y: x.item()\n", 1, f"for x in y: x.item(){ASKS}\n"),
        ("s = '#'\x0c; x()\n", 1, f"s = '#'\x0c; x(){ASKS}\n"),
        ("\ufeffé = x()\n", 1, f"\ufeffé = x(){ASKS}\n"),
    ],
)
def test_comment_is_added_where_there_is_room_and_nothing_else_changes(
    before: str, line: int, after: str
) -> None:
    new, _ = with_ignores(before.encode(), {line: {"XD201"}}, {})
    assert new.decode() == after
    assert with_ignores(new, {line: {"XD201"}}, {})[0] == new


def test_rules_of_one_statement_share_a_comment() -> None:
    new, lines = with_ignores(b"y = a + \\\n  b\n", {1: {"XD201", "XD301"}, 2: {"XD101"}}, {})
    assert new == b"y = a + \\\n  b  # xladoctor: ignore[XD101, XD201, XD301]\n"
    assert lines == [2]


def test_encoding_is_kept() -> None:
    text = "# coding: latin-1\né = x()\n".encode("latin-1")
    assert with_ignores(text, {2: {"XD201"}}, {})[0] == text[:-1] + ASKS.encode() + b"\n"


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        (b"x()\n", 2, "line 2 is not what ran"),
        (b"y()\n", 1, "line 1 is not what ran"),
        (b"x()\n(\n", 1, "cannot be read as Python"),
        (b"x()\n\xff\n", 1, "cannot be read as Python"),
        (b"# coding: none\nx()\n", 2, "cannot be read as Python"),
        (b"", 1, "line 1 is not what ran"),
    ],
)
def test_file_that_is_not_what_ran_is_refused(content: bytes, line: int, why: str) -> None:
    with pytest.raises(UnfitSourceError, match=why):
        with_ignores(content, {line: {"XD201"}}, {1: "x()"})


# Files


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a repository, as it ran."""
    (tmp_path / ".git").mkdir()
    path = tmp_path / "train.py"
    path.write_text("x.item()\ny.item()\n")
    path.chmod(0o750)
    os.utime(path, ns=(1000, 1000))
    monkeypatch.chdir(tmp_path)
    return path


def run(program: Path, **changes: Any) -> Evidence:
    here = str(program.parent)
    return evidence(HOST, **{"cwd": here, "root": here, "began_ns": 1000, **changes})


def at(line: int, rule: str = "XD201", file: str = "train.py", **fields: Any) -> Finding:
    return finding(rule, locations=[location(file, line, **fields)])


def test_file_is_replaced_with_its_rights(program: Path) -> None:
    told = add_ignores([(run(program), [at(1), at(2, "XD101")]), (run(program), [at(2)])])
    assert told == ["train.py: wrote comments in lines 1, 2; they count from the next run on"]
    assert program.read_text() == f"x.item(){ASKS}\ny.item()  # xladoctor: ignore[XD101, XD201]\n"
    assert program.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in program.parent.iterdir() if path.is_file()] == ["train.py"]


def test_caller_is_given_the_comment_where_the_line_is_a_librarys(program: Path) -> None:
    found = finding(
        locations=[location("/env/site-packages/lib.py", 3), location("train.py", 2, role="caller")]
    )
    add_ignores([(run(program), [found])])
    assert program.read_text() == f"x.item()\ny.item(){ASKS}\n"


def test_file_that_changed_since_the_run_is_refused(program: Path) -> None:
    before = program.read_text()
    assert add_ignores([(run(program, began_ns=999), [at(1)])]) == [
        "XD201 at train.py:1: not written: the file has changed since the run; run it again"
    ]
    assert "line 1 is not what ran" in add_ignores([(run(program), [at(1, source="z()")])])[0]
    assert program.read_text() == before


@pytest.mark.parametrize("file", ["../other.py", "site-packages/lib.py", "data.txt", "link.py"])
def test_file_that_is_not_the_programs_own_is_refused(program: Path, file: str) -> None:
    path = program.parent / file
    path.parent.mkdir(exist_ok=True)
    if file == "link.py":
        path.symlink_to(program)
    else:
        path.write_text("x.item()\n")
        os.utime(path, ns=(1000, 1000))
    (told,) = add_ignores([(run(program), [at(1, file=file)])])
    assert told.startswith(f"XD201 at {file}:1: not written: no line of a file in this repository")
    assert "xladoctor" not in path.read_text()
    path.unlink()


def test_run_of_another_machine_and_finding_without_a_line_are_refused(program: Path) -> None:
    elsewhere = evidence(
        {"process": [{"process": 0, "host": "another"}]},
        cwd=str(program.parent),
        root=str(program.parent),
        began_ns=1000,
    )
    told = add_ignores([(elsewhere, [at(1)]), (run(program), [finding("XD701", locations=[])])])
    assert [text.partition(": ")[0] for text in told] == ["XD201 at train.py:1", "XD701"]
    assert program.read_text() == "x.item()\ny.item()\n"
