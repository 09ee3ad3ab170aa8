"""Which frame the capture names, on stacks of functions compiled as if they lay elsewhere."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.call_site import PLACE, CallSites

LIBRARY = sysconfig.get_paths()["purelib"] + "/somewhere/library.py"
USER = "/home/ada/train.py"
DECORATORS = """
    def passing(function):
        def call(*args, **kwargs):
            return function(*args, **kwargs)
        return call

    def working(function):
        def call(*args, **kwargs):
            return [function() for _ in range(2)][-1]
        return call

    def narrow(function):
        def call(value):
            return function(*[])
        return call

    class Hooked:
        def __init__(self, function):
            self.function = function
        def __call__(self, *args, **kwargs):
            return self.function(*args, **kwargs)
    """


def run(source: str, file: str, **names: Any) -> dict[str, Any]:
    exec(compile(dedent(source), file, "exec"), names)
    return names


@pytest.fixture
def library() -> dict[str, Any]:
    return run(DECORATORS, LIBRARY, __name__="library")


def site_of(call: str, library: dict[str, Any]) -> dict[str, Any]:
    """Where the innermost call of ``ask`` stands, when user code runs ``call`` twice."""
    sites = CallSites(frozenset())
    asked = [sites.here, sites.here]
    source = f"for ask in asked:\n    site = {call}\n"
    site = run(source, USER, asked=asked, **library)["site"]
    assert len(sites.rows) == 1, "the second call is known by its instruction"
    return dict(zip(PLACE, sites.rows[site], strict=True))


@pytest.mark.parametrize(
    "call",
    [
        "passing(ask)()",
        "Hooked(ask)()",
        "passing(passing(ask))()",
        "passing(Hooked(ask))()",
    ],
)
def test_library_that_only_passes_a_call_on_is_not_named(
    call: str, library: dict[str, Any]
) -> None:
    site = site_of(call, library)
    assert (site["file"], site["line"], site["user_file"]) == (USER, 2, None)


@pytest.mark.parametrize("call", ["working(ask)()", "narrow(ask)(1)", "passing(working(ask))()"])
def test_library_that_works_is_named_with_its_caller(call: str, library: dict[str, Any]) -> None:
    site = site_of(call, library)
    assert (site["file"], site["user_file"], site["user_line"]) == (LIBRARY, USER, 2)


def test_what_passes_on_is_told_for_readers_of_other_stacks(library: dict[str, Any]) -> None:
    sites = CallSites(frozenset())
    run("passing(ask)(); working(ask)()", USER, ask=sites.here, **library)
    assert {(file, passes) for file, _, passes in sites.passing()} == {
        (LIBRARY, True),
        (LIBRARY, False),
    }


def test_text_of_a_line_is_kept_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text('login(token="hunter2-S3cr3t"); site = ask()\n')
    sites = CallSites(frozenset())
    run(file.read_text(), str(file), ask=sites.here, login=lambda token: None)
    assert sites.describe()[0]["source"] == 'login(token="…"); site = ask()'


def test_comments_that_ask_to_ignore_are_kept_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text('site = ask()\nf()  # xladoctor: ignore[XD201] as token="hunter2-S3cr3t"\n')
    sites = CallSites(frozenset())
    run("site = ask()", str(file), ask=sites.here)
    assert sites.ignores() == [
        {
            "file": str(file),
            "line": 2,
            "first": 2,
            "last": 2,
            "text": '# xladoctor: ignore[XD201] as token="…"',
        },
    ]
