"""A finding keeps its identity when its line moves, is reformatted, or runs elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import evidence, finding, location
from xladoctor.diagnosis.identity import distinct, fingerprint
from xladoctor.diagnosis.source_line import code
from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.run_records import Manifest

HERE = evidence({}, cwd="/home/ada/project", root="/home/ada/project")
LINE = "    total += loss.item()"


def name(
    file: str = "train.py",
    line: int = 41,
    source: str | None = LINE,
    function: str = "train",
    rule: str = "XD201",
    what: str = "",
    given: Evidence = HERE,
) -> str:
    place = location(file, line, source=source, function=function)
    return fingerprint(rule, what, [place], given)


@given(st.integers(1, 10**6))
def test_line_s_number_does_not_matter(line: int) -> None:
    assert name(line=line) == name()


@pytest.mark.parametrize(
    "source",
    [
        "total += loss.item()",
        "\ttotal  +=  loss . item ( )  ",
        LINE + "  # logged",
        LINE + "#",
        LINE + '  # it\'s "odd" # twice',
    ],
)
def test_spaces_and_comments_do_not_matter(source: str) -> None:
    assert name(source=source) == name()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("log('loss', x.item())", 'log("loss", x.item())'),
        ("log(x.item(),)", "log(x.item())"),
        ("log([x.item(), ], )", "log([x.item()])"),
        ("log('#1', x.item())  # one", 'log("#1", x.item())'),
        (r"log('it\'s #1')  # one", r"log('it\'s #1')"),
        ("    ), y.item())  # the rest", "), y.item())"),
        ("x.item(),  # of a longer call", "x.item(),"),
        ('    """text of many lines # 1', '"""text of many lines # 1'),
    ],
)
def test_what_formatters_change_does_not_matter(before: str, after: str) -> None:
    assert code(before) == code(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("log('#1')", "log('#2')"),
        ("a = x.item()", "b = x.item()"),
        ("x.item()", "y.item()"),
        ("log(a, b)", "log(a)"),
        ("", "x"),
    ],
)
def test_other_code_is_other_code(before: str, after: str) -> None:
    assert code(before) != code(after)


@given(st.text(st.characters(exclude_characters="#'\"")), st.text())
def test_comment_is_no_part_of_the_code(line: str, comment: str) -> None:
    assert code(f"{line}#{comment}") == code(line)


@given(st.text())
def test_code_of_any_text_has_no_space_and_is_its_own_code(source: str) -> None:
    text = code(source)
    assert text == "".join(text.split())
    assert isinstance(code(text), str)


@pytest.mark.parametrize(
    "change",
    [
        {"function": "evaluate"},
        {"file": "other.py"},
        {"source": LINE + " * 2"},
        {"rule": "XD202"},
        {"what": "aten::nonzero"},
    ],
    ids=str,
)
def test_what_it_names_does_matter(change: dict[str, str]) -> None:
    assert name(**change) != name()  # type: ignore[arg-type]


def test_line_that_nobody_read_is_known_by_its_number() -> None:
    assert name(source=None) == name(source=None)
    assert name(source=None, line=42) != name(source=None)
    assert name(source=None) != name()


def test_finding_of_the_whole_run_is_known_by_what_it_is() -> None:
    assert fingerprint("XD701", "A", [], HERE) == fingerprint("XD701", "A", [], HERE)
    assert fingerprint("XD701", "A", [], HERE) != fingerprint("XD701", "B", [], HERE)


def test_first_location_alone_counts() -> None:
    places = [location(source=LINE), location("data.py", 3, role="made", source="x")]
    assert fingerprint("XD201", "", places, HERE) == name()


# The same program elsewhere


FOLDERS = st.lists(st.sampled_from(["src", "tools", "größe", "a b"]), max_size=3)


@given(FOLDERS, st.sampled_from(["/home/ada/project", "/builds/7/project", "/"]))
def test_folder_it_runs_from_and_place_of_the_repository_do_not_matter(
    parts: list[str], root: str
) -> None:
    cwd = "/".join([root.rstrip("/"), *parts]) or "/"
    elsewhere = replace(HERE, origin=Manifest(command=[], cwd=cwd, root=root))
    up = "../" * len(parts)
    absolute = f"{root.rstrip('/')}/src/train.py"
    expected = name("src/train.py")
    assert name(f"{up}src/train.py", given=elsewhere) == expected
    assert name(absolute, given=elsewhere) == expected
    assert name(elsewhere.shown(absolute) or "", given=elsewhere) == expected


@pytest.mark.parametrize(
    "file",
    [
        "/home/ada/venv/lib/python3.11/site-packages/lib/core.py",
        "/opt/python/lib/python3.12/site-packages/lib/core.py",
        "/usr/lib/python3/dist-packages/lib/core.py",
        ".venv/lib/python3.13/site-packages/lib/core.py",
        "/opt/lib/python3.11/lib/core.py",
    ],
)
def test_installed_package_is_the_same_in_every_environment(file: str) -> None:
    assert name(file) == name("/venv/lib/python3.11/site-packages/lib/core.py")


def test_file_outside_of_the_repository_keeps_its_path() -> None:
    assert name("/data/train.py") != name("train.py")


# Twice in a function


def test_equal_ones_are_numbered_in_the_order_of_their_lines() -> None:
    lines = {line: finding(fingerprint="f", locations=[location(line=line)]) for line in (30, 9, 7)}
    numbered = {each.locations[0].line: each.fingerprint for each in distinct(list(lines.values()))}
    assert numbered == {7: "f", 9: "f-2", 30: "f-3"}
    moved = [replace(each, locations=[location(line=line + 100)]) for line, each in lines.items()]
    assert {each.locations[0].line - 100: each.fingerprint for each in distinct(moved)} == numbered


@given(st.lists(st.sampled_from("abc"), max_size=9))
def test_no_two_findings_have_the_same_identity(names: list[str]) -> None:
    findings = distinct(
        [
            finding(fingerprint=each, locations=[location(line=line)])
            for line, each in enumerate(names)
        ]
    )
    assert len({each.fingerprint for each in findings}) == len(names)
