"""No text that others wrote is obeyed: whatever the command, the format and the field."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.forked import called
from tests.hostile.corpus import HOSTILE, INLINE, NAME, run_directory
from tests.stacks.programs import hanging
from tests.support import PACK
from xladoctor.report.output import Format

FORMATS = [str(name) for name in Format]
WIDE = {"COLUMNS": "4000"}  # a command stays on one line
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_COMMAND = re.compile(r"xladoctor ((?:analyze|compare|compilations|gate|stacks) .*)")
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_directory(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_directory(tmp_path_factory.mktemp("hostile"), "recompiling")


@pytest.fixture(scope="module")
def paths(run: Path) -> dict[str, list[Path]]:
    """Each kind of evidence, as the arguments that name it."""
    (log,) = run.glob("process-*/analysis.log")
    (metrics,) = run.glob("process-*/metrics.txt")
    (timeline,) = run.glob("plugins/profile/*/*.xplane.pb")
    return {
        "run": [run],
        "timeline": [timeline],
        "log": [log],
        "metrics": [metrics],
        "files": [timeline, log, metrics],
    }


def check(
    done: Done, statuses: Sequence[int], layout: str = "terminal", *, colored: bool = False
) -> None:
    """What holds of every output."""
    assert done.returncode in statuses, done.stderr
    assert "Traceback" not in done.stderr
    for stream in (done.stdout, done.stderr):
        shown = _COLOURS.sub("", stream) if colored else stream
        assert {c for c in shown if not c.isprintable()} <= {"\n", "\t"}
        assert "##[" not in shown
        assert "##vso[" not in shown
    of_github = done.stdout.splitlines() if layout == "github" else []
    assert [line for line in of_github if not re.match("::(error|warning|notice) ", line)] == []
    lines = [*([] if of_github else done.stdout.splitlines()), *done.stderr.splitlines()]
    assert [line for line in lines if line.lstrip().startswith("::")] == []
    if done.returncode != 2 and layout in ("json", "gitlab", "sarif"):
        json.dumps(json.loads(done.stdout), ensure_ascii=False).encode()
    if done.returncode != 2 and layout == "junit":
        ET.fromstring(done.stdout)
    if layout in ("markdown", "github-summary"):
        assert_no_links(done.stdout)


def assert_no_links(text: str) -> None:
    """Outside of code, nothing that a platform makes a link of."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"@ada|#1\b|www\.|http://|<red>|</b>\|", text)


def commands_in(text: str) -> list[str]:
    return _COMMAND.findall(text)


def expanded(command: str, folder: Path) -> list[str]:
    """The words that a shell makes of a command; nothing else may happen."""
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True, cwd=folder
    ).stdout.split(b"\0")[:-1]
    assert list(folder.iterdir()) == []
    return [word.decode("utf-8", "surrogateescape") for word in words]


@pytest.mark.parametrize(
    "layout",
    [
        layout
        if layout in ("terminal", "markdown")  # the others are as they are in files
        else pytest.param(layout, marks=pytest.mark.thorough)
        for layout in FORMATS
    ],
)
def test_analysis_on_standard_output(layout: str, run: Path) -> None:
    check(called("analyze", run, "--format", layout), (0,), layout)


def in_all_formats(*words: str | Path, folder: Path, statuses: Sequence[int]) -> None:
    """The command with a file for each format, which are like standard output."""
    files = {name: folder / f"{name}{INLINE.replace('/', '')}" for name in FORMATS}
    asked = [f"--format={name}={file}" for name, file in files.items()]
    check(called(*words, *asked, folder=folder), statuses)
    for name, file in files.items():
        text = file.read_text("utf-8")
        check(subprocess.CompletedProcess([], 0, text, ""), (0,), name)
        file.unlink()


@pytest.mark.parametrize("kind", ["run", "timeline", "log", "metrics", "files"])
def test_analysis_in_files(kind: str, paths: dict[str, list[Path]], tmp_path: Path) -> None:
    in_all_formats("analyze", *paths[kind], folder=tmp_path, statuses=(0,))


@pytest.mark.parametrize("color", ["always", pytest.param("never", marks=pytest.mark.thorough)])
def test_analysis_in_colour_and_ascii(color: str, run: Path) -> None:
    words = ("analyze", run, "--color", color)
    check(called(*words), (0,), colored=color == "always")
    ascii_only = called(*words, environment={"PYTHONIOENCODING": "ascii"})
    check(ascii_only, (0,), colored=color == "always")
    assert ascii_only.stdout.isascii()


def test_commands_name_the_run_and_run_nothing_else(other: Path, tmp_path: Path) -> None:
    done = called("analyze", other, "--verbose", environment=WIDE)
    commands = commands_in(done.stdout)
    assert {command.split()[0] for command in commands} == {"analyze", "compilations"}
    for command in commands:
        assert expanded(command, tmp_path)[1] == str(other)


@pytest.mark.parametrize("layout", ["table", "json"])
def test_compilations(layout: str, paths: dict[str, list[Path]]) -> None:
    for kind in ("run", "log", "metrics"):
        done = called("compilations", *paths[kind], "--format", layout)
        check(done, (0, 2), layout)
    of_two = ("--format", layout, "--diff", "3", "5")
    check(called("compilations", *paths["run"], *of_two), (0, 2), layout)
    check(called("compilations", *paths["run"], "--site", f"{NAME}:3"), (2,))


@pytest.mark.parametrize(
    "table",
    [
        "event",
        "source_line",
        *(
            pytest.param(table, marks=pytest.mark.thorough)
            for table in ("process", "compiled_site")
        ),
    ],
)
def test_every_text_of_a_table(table: str, run: Path) -> None:
    for layout in ("table", "csv", "json"):
        done = called("query", run, f"FROM {table} LIMIT 500", "--format", layout)
        check(done, (0,), layout)
        if layout == "csv":
            assert len({len(row) for row in csv.reader(io.StringIO(done.stdout))}) == 1


@pytest.mark.parametrize(
    "layout",
    ["table", *(pytest.param(layout, marks=pytest.mark.thorough) for layout in ("csv", "json"))],
)
def test_values_and_names_of_a_query(layout: str, run: Path, tmp_path: Path) -> None:
    name = HOSTILE.replace('"', '""').replace("\udcff", "")
    value = HOSTILE.replace("'", "''").replace("\udcff", "")
    question = f"SELECT '::error::' || '{value}' AS \"{name}\", '{value}' AS b"
    check(called("query", run, question, "--format", layout), (0,), layout)
    check(called("query", run, f"EXPLAIN {question}"), (0,))
    check(called("query", run, f"SELECT {INLINE}"), (2,))
    check(called("query", run, f'SELECT "{name}" FROM event'), (2,))
    check(called("query", "--schema", HOSTILE), (2,))
    target = tmp_path / "rows"
    check(called("query", run, question, "--format", layout, "-o", target), (0,))
    check(subprocess.CompletedProcess([], 0, target.read_text("utf-8"), ""), (0,), layout)
    if layout == "json":  # which loses nothing
        ((row),) = json.loads(target.read_text("utf-8"))
        assert row["b"] == HOSTILE.replace("\udcff", "")


@pytest.mark.parametrize("layout", ["markdown", "terminal", "json"])
@pytest.mark.thorough
def test_comparison(layout: str, run: Path, other: Path, paths: dict[str, list[Path]]) -> None:
    for b in (run, other, *paths["log"], *paths["metrics"], *paths["timeline"]):
        check(called("compare", run, b, "--format", layout), (0, 1, 3), layout)


CONFIGURATION = """
[gate]
fail_on = "warning"
[gate.budgets]
max_host_syncs_per_step = 0.0
"""


@pytest.mark.thorough
def test_gate(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / NAME.replace("\udcff", "")
    folder.mkdir()
    config = folder / "xladoctor.toml"
    config.write_text(CONFIGURATION, "utf-8")
    words = ("gate", run, "--config", config, "--script", HOSTILE)
    in_all_formats(*words, folder=tmp_path, statuses=(1, 3))
    check(called("gate", run, "--script", HOSTILE, "--update-baseline", folder=tmp_path), (0,))
    file = tmp_path / ".xladoctor" / "baseline.json"
    baseline = json.loads(file.read_text("utf-8"))
    for entry in baseline["scripts"].values():
        for number, known in enumerate(entry["findings"]):
            known |= {"fingerprint": f"gone{number}", "code": HOSTILE.replace("\udcff", "")}
    file.write_text(json.dumps(baseline), "utf-8")
    words = ("gate", run, "--baseline", file, "--script", HOSTILE)
    in_all_formats(*words, folder=tmp_path, statuses=(0, 1, 3))
    check(called(*words, folder=tmp_path), (0, 1, 3))


def test_what_to_copy_after_the_gate(run: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {**WIDE, "CI": ""}  # there the command to copy runs the program again
    done = called("gate", run, "--fail-on", "info", folder=tmp_path, environment=environment)
    commands = [each for each in commands_in(done.stdout) if "--update-baseline" in each]
    assert [expanded(each, empty)[-1] for each in commands] == [str(run)]


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", HOSTILE],
        ["analyze", "{run}", "--format", HOSTILE],
        ["analyze", "{run}", "--session", HOSTILE],
        ["analyze", "{run}", "--config", HOSTILE],
        ["analyze", "{run}", "--select", HOSTILE],
        [HOSTILE],
        ["analyze", f"--{HOSTILE}"],
        ["explain", HOSTILE],
        ["gate", HOSTILE, HOSTILE],
        ["gate", f"{HOSTILE}.py"],
        ["gate", "{run}", "--baseline", HOSTILE],
        ["gate", "{run}", "--level", HOSTILE],
        ["gate", "{run}", "--budget", f"{HOSTILE}=1"],
        ["compare", HOSTILE, HOSTILE],
        ["compare", "{run}", "{run}", "--despite", HOSTILE],
        ["compare", "{run}", "{run}", "--max-slowdown", HOSTILE],
        ["compilations", HOSTILE],
        ["stacks", HOSTILE],
        ["env", "--timeout", HOSTILE],
        ["capture", HOSTILE],
        ["capture", "localhost:1", "--server-directory", HOSTILE],
        ["query", "{run}", HOSTILE],
    ],
    ids=lambda words: " ".join(filter(str.isprintable, words)),
)
def test_what_is_wrong_with_arguments(words: list[str], run: Path, tmp_path: Path) -> None:
    check(called(*(str(run) if w == "{run}" else w for w in words), folder=tmp_path), (2,))


@pytest.mark.parametrize(
    "content",
    [
        f'"{INLINE}" = 1',
        f'[gate]\n"{INLINE}" = 1',
        "\x1b]0;t\x07",
        'levels = {"::error::x" = "off"}',
        '"a\\n::error::\\u001b" = 1',
        'ignore = ["\\n::error::\\u001b]0;t"]',
    ],
    ids=range(6),
)
def test_what_is_wrong_with_a_configuration(content: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "xladoctor.toml").write_bytes(content.encode("utf-8", "surrogateescape"))
    check(called("gate", run, folder=tmp_path), (2,))


@pytest.mark.parametrize(
    "damage",
    [
        "",
        pytest.param(json.dumps({"\n::error::\x1b": HOSTILE}), marks=pytest.mark.thorough),
        f'{{"tool": {{"name": "{INLINE}"}}}}',
    ],
    ids=range(3),
)
@pytest.mark.parametrize("name", ["run.json", "process.json", "call_sites.json", "steps.jsonl"])
def test_damaged_files(name: str, damage: str, tmp_path: Path) -> None:
    run = run_directory(tmp_path)
    for file in run.rglob(name):
        file.write_bytes(damage.encode("utf-8", "surrogateescape"))
    check(called("analyze", run), (0, 2))


def test_rules_and_pages() -> None:
    check(called("rules"), (0,))
    check(called("explain", next(iter(PACK)), environment={"PYTHONIOENCODING": "ascii"}), (0,))


NAMED = f"""
    import threading, time
    name = {HOSTILE.replace(chr(0xDCFF), "")!r}
    scope = {{"time": time}}
    exec(compile("def f(): time.sleep(1000)", name, "exec"), scope)
    threading.Thread(target=scope["f"], name=name).start()
    print("ready", flush=True)
    time.sleep(1000)
"""


@pytest.mark.parametrize("layout", ["terminal", "json"])
def test_stacks_of_a_program_that_names_its_threads_and_files(layout: str, tmp_path: Path) -> None:
    with hanging(tmp_path, NAMED) as pid:
        check(called("stacks", str(pid), "--all", "--format", layout), (0,), layout)


@pytest.mark.thorough
@pytest.mark.parametrize("layout", ["terminal", "json"])
def test_examination_of_hostile_settings(layout: str, tmp_path: Path) -> None:
    settings = {"PT_XLA_DEBUG_LEVEL": HOSTILE, "PJRT_DEVICE": HOSTILE, "XLA_FLAGS": HOSTILE}
    done = called("env", "--format", layout, folder=tmp_path, environment=settings)
    check(done, (0, 1), layout)
