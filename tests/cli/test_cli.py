"""The command line from outside: statuses, messages, streams, and what is loaded."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import xladoctor
from tests.cli.command import ENVIRONMENT, HEAVY, READS, REPORT, ROOT, started
from tests.cli.forked import called
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.schema_version import SCHEMA_VERSION
from xladoctor.report.interface import Style
from xladoctor.report.json import schema
from xladoctor.report.rule_page import page, render

# Start


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["analyze", "--help"], ["run", "--help"]], ids=" ".join
)
def test_what_needs_nothing_heavy_loads_nothing_heavy(arguments: list[str]) -> None:
    heavy = HEAVY - ({"pydantic"} if len(arguments) > 1 else set())  # typer's own, for parameters
    program = (
        "import sys\nfrom xladoctor.cli.main import app\n"
        f"sys.argv = ['xladoctor', *{arguments!r}]\n"
        "try:\n    app()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('loaded:', sorted({heavy!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    assert done.stderr == "loaded: []\n"
    assert done.stdout


def test_version_names_tool_and_schema() -> None:
    done = started("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"xladoctor {xladoctor.__version__} (report schema {SCHEMA_VERSION})\n"


def test_help_lists_the_commands() -> None:
    done = started("-h")
    assert done.returncode == 0
    for command in ("run", "analyze", "rules", "explain"):
        assert f" {command} " in done.stdout


@pytest.mark.parametrize("arguments", [[], ["rules"]], ids=str)
def test_summaries_fit_into_a_line(arguments: list[str]) -> None:
    done = called(*arguments, "--help", environment={"COLUMNS": "80"})
    _, listed = done.stdout.split("Commands:\n")
    assert "..." not in listed
    assert all(line.rstrip().endswith(".") for line in listed.splitlines())


def test_options_are_in_sections_and_those_for_beginners_come_first() -> None:
    lines = called("run", "--help").stdout.splitlines()
    sections = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert sections == ["Arguments:", "Options:", "Timeline:", "Report:", "Rules:"]
    assert lines[lines.index("Options:") + 1].startswith("  --stop-after ")


@pytest.mark.parametrize(
    ("given", "message"),
    [("0", "expected at least 1"), ("soon", "'soon' is not a time"), ("-1s", "is not a time")],
)
def test_program_stops_after_a_number_of_steps_or_a_time(given: str, message: str) -> None:
    done = called("run", "--stop-after", given, "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["analyze"], ["analyze", "a", "--format", "x"], ["run"]],
    ids=" ".join,
)
def test_wrong_usage_is_status_2_on_standard_error(arguments: list[str]) -> None:
    done = started(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: " in done.stderr
    assert "Traceback" not in done.stderr


# Analyze


def test_report_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text(REPORT + READS)
    done = called("analyze", "report.txt", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("xladoctor  report.txt\n")
    assert "XD201" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_report_on_standard_input() -> None:
    done = called("analyze", "-", given=REPORT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("xladoctor  -\n")


def test_json_is_valid_and_the_only_output() -> None:
    done = called("analyze", "-", "--format", "json", given=REPORT + READS)
    report = json.loads(done.stdout)
    jsonschema.validate(report, schema())
    assert [finding["rule"] for finding in report["findings"]] == ["XD201"]
    assert report["findings"][0]["count"] == 40


def test_format_comes_from_the_environment_too() -> None:
    done = called("analyze", "-", given=REPORT, environment={"XLADOCTOR_FORMAT": "json"})
    assert json.loads(done.stdout)["schema_version"] == 3


def test_width_is_that_of_columns() -> None:
    done = called("analyze", "-", given=REPORT + READS, environment={"COLUMNS": "50"})
    assert 40 < max(map(len, done.stdout.splitlines())) <= 50


def test_encoding_without_unicode_gets_plain_characters() -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = started("analyze", "-", given=REPORT + READS, environment=ascii_only)
    assert done.returncode == 0
    assert done.stdout.isascii()


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """Paths of no use, and one that does not exist."""
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "program.py").write_text("import torch\nprint(torch.ones(2))\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("mine")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("empty", "empty: is empty"),
        ("binary", "binary: byte 0 is zero: not a text file"),
        ("program.py", "program.py: no run of it in xladoctor-runs/"),
        ("missing", "missing: no such file or directory"),
        ("program.py/inside", "program.py/inside: no such file or directory"),
        ("folder", "folder: nothing in it that can be read"),
        ("damaged", "damaged/run.json: not a manifest of xladoctor: "),
    ],
)
@pytest.mark.parametrize("form", ["terminal", "json"])
def test_input_of_no_use_is_status_2_and_one_message(
    bad: Path, name: str, message: str, form: str
) -> None:
    done = called("analyze", bad / name, "--format", form)

    assert (done.returncode, done.stdout) == (2, "")
    first, *hint = done.stderr.splitlines()
    assert first.startswith(f"xladoctor: {bad}/{message}")
    assert hint
    assert all(line.startswith("  ") for line in hint)


def test_nothing_on_standard_input_is_status_2() -> None:
    done = called("analyze", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("xladoctor: standard input: is empty\n  expected ")


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    "command", [["analyze", "-"], ["analyze", "-", "--format", "json"], ["rules"]], ids=" ".join
)
def test_reader_that_goes_away_is_no_fault(command: list[str], buffered: bool) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with subprocess.Popen(
        [sys.executable, *([] if buffered else ["-u"]), "-m", "xladoctor", *command],
        stdin=subprocess.PIPE,
        stdout=write_end,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        text=True,
    ) as process:
        os.close(write_end)
        _, errors = process.communicate(REPORT, timeout=120)
    assert (process.returncode, errors) == (0, "")


# Colours


@pytest.mark.parametrize(
    ("option", "environment", "colored"),
    [
        ("auto", {}, False),
        ("always", {}, True),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_who_decides_about_colours(option: str, environment: dict[str, str], colored: bool) -> None:
    done = called("analyze", "-", "--color", option, given=REPORT, environment=environment)
    assert done.returncode == 0
    assert ("\x1b[" in done.stdout) is colored


def test_json_is_never_coloured() -> None:
    done = called("analyze", "-", "--color", "always", "--format", "json", given=REPORT)
    assert "\x1b" not in done.stdout


# Terminals


@pytest.mark.parametrize(
    "environment",
    [
        {"NO_COLOR": "1", "FORCE_COLOR": "1"},
        {"TERM": "dumb"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    ],
    ids=["no colour", "dumb", "ascii"],
)
@pytest.mark.parametrize(
    "words",
    [
        "analyze S",
        "analyze S -v",
        "gate S",
        "compare S T",
        "explain XD101",
        "fix S",
        "compilations S",
    ],
)
def test_output_fits_whatever_reads_it(words: str, environment: dict[str, str]) -> None:
    samples = {"S": "sample_traces/scalar_read", "T": "sample_traces/recompiling"}
    command = [samples.get(word, word) for word in words.split()]
    done = started(*command, environment={"COLUMNS": "60", **environment})
    assert done.returncode < 70
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    if "PYTHONIOENCODING" in environment:
        assert (done.stdout + done.stderr).isascii()
        assert "\\x" not in done.stdout
        assert "\\u" not in done.stdout


# Rules


@pytest.mark.parametrize("name", ["XD101", "xd101"])
def test_rule_is_explained(name: str) -> None:
    done = called("explain", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# XD101 changing-input-shape\n")
    for part in ("Why it is slow", "Fix", "When it is wrong", "Thresholds", "References"):
        assert f"\n## {part}\n" in done.stdout


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_explanations_of_rules_fit_the_width(width: int, unicode: bool) -> None:
    for rule in load_rules():
        output = io.StringIO()
        render(rule, output, Style(width, unicode=unicode))
        text = output.getvalue()
        words = re.sub("^(```.*?^```|#.*?)$", "", text, flags=re.MULTILINE | re.DOTALL)
        wide = [line for line in words.splitlines() if len(line) > width and " " in line[2:]]
        assert wide == []
        assert unicode == (not text.isascii())
        if unicode:
            assert text.split() == page(rule).split()


@pytest.mark.parametrize("word", ["xd101", "101", "changing-input-shape"])
def test_rule_is_found_by_id_number_and_name(word: str) -> None:
    assert called("explain", word).stdout.startswith("# XD101 changing-input-shape\n")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("changing-shape", "did you mean XD101 (changing-input-shape)"),
        ("nope", "xladoctor rules lists all of them"),
    ],
)
def test_rule_that_does_not_exist_is_status_2_with_those_alike(word: str, hint: str) -> None:
    done = called("explain", word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"xladoctor: {word}: no such rule\n  {hint}")


# Faults of the analysis


STATUSES = pytest.mark.parametrize(
    ("status", "options", "expected"), [(0, [], 0), (3, [], 3), (0, ["--gate"], 70)]
)


def run_with_faulty_analysis(
    folder: Path, fault: str, options: list[str], status: int
) -> subprocess.CompletedProcess[str]:
    """``xladoctor run``, in whose analysis a statement is executed."""
    program = (
        "import os, sys\nfrom xladoctor import doctor\nfrom xladoctor.cli.main import main\n"
        f"def examine_outcome(*_, **__):\n    {fault}\n"
        "doctor.examine_outcome = examine_outcome\nmain()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program, "run", *options, "--", "sh", "-c", f"exit {status}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=120,
    )


@pytest.mark.parametrize("fault", ["ZeroDivisionError()", "UnicodeError('x')", "OSError(5, 'x')"])
@STATUSES
def test_fault_of_the_analysis_never_replaces_the_programs_status(
    tmp_path: Path, fault: str, status: int, options: list[str], expected: int
) -> None:
    done = run_with_faulty_analysis(tmp_path, f"raise {fault}", options, status)
    assert done.returncode == expected
    assert fault.partition("(")[0] in done.stderr
    assert "this is a bug in xladoctor" in done.stderr


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("import ctypes; ctypes.string_at(0)", "Segmentation fault"),
        ("os.kill(os.getpid(), 9)", "Killed"),
    ],
)
@STATUSES
def test_analysis_that_is_ended_by_a_signal_is_said_and_the_status_kept(
    tmp_path: Path, fault: str, word: str, status: int, options: list[str], expected: int
) -> None:
    done = run_with_faulty_analysis(tmp_path, fault, options, status)
    assert done.returncode == expected
    said = f"xladoctor: the analysis was ended by a signal: {word}\n  try: xladoctor analyze "
    assert said in done.stderr


def test_fault_in_machine_code_is_said_with_its_place() -> None:
    program = (
        "import ctypes\nfrom xladoctor import doctor\nfrom xladoctor.cli.main import main\n"
        "doctor.examine = lambda *_, **__: ctypes.string_at(0)\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "analyze", str(ROOT / "sample_traces" / "scalar_read")],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=120,
    )
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr
    assert "string_at" in done.stderr
