"""``xladoctor compilations`` from outside: formats, choices, errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import READS, ROOT
from tests.cli.forked import called

SAMPLE = "sample_traces/recompiling"
LOG = ROOT / "tests/ingest/torch_xla/analysis_logs/torch_xla_2.9.log"


def shown(*arguments: str | Path) -> str:
    done = called("compilations", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_list_within_80_columns() -> None:
    lines = shown(SAMPLE).splitlines()
    assert lines[0] == "12 compilations at 1 call site: 3.246 s, 2.226 s of it after warm-up"
    assert max(map(len, lines)) <= 80


def test_json_has_compilations_and_call_sites() -> None:
    listing = json.loads(shown(SAMPLE, "--format", "json", "--limit", "1"))
    assert [row["index"] for row in listing["compilations"]] == list(range(12))
    first, second = listing["compilations"][:2]
    assert first["cause"] is None
    assert (first["file"], first["line"], first["seconds"]) == (
        "programs/recompiling.py",
        44,
        0.346515643,
    )
    wanted = {
        "kind": "input_shape",
        "basis": "hlo",
        "was": "s64[16,77]",
        "now": "s64[16,45]",
        "against": 0,
        "file": "programs/recompiling.py",
        "line": 38,
    }
    assert second["cause"] | wanted == second["cause"]
    (site,) = listing["call_sites"]
    assert site["kinds"] == {"input_shape": 11, "first": 1}
    assert (site["compilations"], site["seconds"]) == (12, 3.246373042)


def test_first_ones_are_shown_and_the_rest_counted() -> None:
    done = called("compilations", SAMPLE, "--limit", "1")
    assert done.stdout.count("input shape s64") == 0
    assert done.stderr == "… 12 compilations; 1 shown (--limit 0 for all)\n"
    assert shown(SAMPLE, "--limit", "0").count("input shape s64") == 11


@pytest.mark.parametrize(
    "file", ["recompiling.py", "programs/recompiling.py", "/samples/programs/recompiling.py"]
)
def test_one_call_site(file: str) -> None:
    assert shown(SAMPLE, "--site", f"{file}:44") == shown(SAMPLE)


def test_log_alone() -> None:
    text = shown(LOG)
    assert text.startswith("5 compilations at 4 call sites\n")
    assert "unknown: not in the timeline" in text


def test_difference_of_two() -> None:
    text = shown(SAMPLE, "--diff", "0", "3")
    assert "      parameter 1  s64[16,77] → s64[16,43]\n" in text
    comparison = json.loads(shown(SAMPLE, "--diff", "0", "3", "--format", "json"))
    assert comparison["inputs"][0]["b"] == "s64[16,43]"
    assert comparison["a"]["file"] == "programs/recompiling.py"


def test_encoding_without_unicode_gets_plain_characters() -> None:
    done = called(
        "compilations", SAMPLE, environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    )
    assert "input shape s64[16,77] -> s64[16,45]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([SAMPLE, "--diff", "0", "99"], "there is no compilation 99\n  process 0 has the numbers"),
        ([LOG, "--diff", "0", "1"], "no graph to compare: that of compilation 0 and 1 is not"),
        ([SAMPLE, "--process", "3"], "process 3 compiled nothing\n  these processes did: 0"),
        ([SAMPLE, "--site", "a.py:1"], "nothing was compiled at a.py:1\n  call sites: programs/"),
        ([SAMPLE, "--site", "a.py"], "Invalid value for --site"),
        ([SAMPLE, "--site", "a.py:1", "--diff", "0", "1"], "Invalid value for --site"),
        ([SAMPLE, "--diff", "0", "a"], "Invalid value for '--diff'"),
        (["nowhere"], "nowhere: no such file or directory"),
    ],
    ids=str,
)
def test_error_says_what_and_what_to_do(arguments: list[str], said: str) -> None:
    done = called("compilations", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_metrics_alone_have_no_compilations() -> None:
    done = called("compilations", "-", given=READS)
    assert (done.returncode, done.stdout) == (2, "")
    assert "-: no record of compilations" in done.stderr
