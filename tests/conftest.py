"""What tests of several folders share, and their order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

#: How long an example takes is the machine's business.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Background jobs of a shell ignore SIGINT, and so do their children: tests and the programs under
# test must receive it as they do in a terminal.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):  # not on Windows
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup

# What is judged again shall be judged, by what the tests run as well.
os.environ.setdefault("XLADOCTOR_CACHE", "off")

ROOT = Path(__file__).parents[1]
#: Tests that start programs, browsers, servers or environments, as their names begin.
PROGRAMS = (
    "ci/",
    "cli/",
    "differential/",
    "environment/",
    "evidence_elsewhere/",
    "expectation/",
    "fixes/test_isolation",
    "frontends/test_toy",
    "hostile/",
    "install/",
    "journeys/",
    "known_good/",
    "live/",
    "move/proof/test_verify",
    "move/test_processes",
    "move/test_table",
    "pods/test_engines",
    "pods/test_joined",
    "ported/",
    "prescriptions/",
    "recording/test_launcher",
    "recording/test_results",
    "report/test_html_browser",
    "report/test_screenshots",
    "rules/test_third_party_rules",
    "stacks/",
    "storage/",
    "tpu_check/test_command",
    "tpu_check/test_environments",
    "tpu_check/test_run",
    "view/",
)
#: Tests that take seconds each, as what they generate, damage or read whole is much.
LONG = (
    "causes/test_derive.py",
    "chrome/test_graphs.py::test_whether_cuda_graphs_are_used_is_told_of_each_gpu",
    "chrome/test_judged.py",
    "chrome/test_reader.py::test_a_trace_that_is_cut_off_anywhere",
    "chrome/test_recorded.py",
    "chrome/test_replayed.py",
    "comparison/test_comparable.py::test_difference_forbids_judging_times",
    "comparison/test_significance.py",
    "diagnosis/test_pictures.py",
    "evidence/test_contract.py::test_examples_run",
    "evidence/test_database.py::test_number_beyond_a_column_is_unknown_and_counted",
    "evidence/test_database.py::test_rare_values_and_changing_lists",
    "evidence/test_query_shapes.py",
    "ingest/test_compiled.py",
    "ingest/test_effort.py",
    "ingest/test_xplane.py",
    "pods/test_rules.py",
    "recording/test_remote_fetch.py",
    "report/test_compilations.py::test_output_is_as_it_was",
    "report/test_markdown.py::test_summary_is_within_its_limit",
    "rules/test_fixes.py::test_a_number_is_passed_as_data",
    "test_whole_files.py::test_killed_at_any_step",
    "tpu_check/test_kept.py",
    "xspace/",
)
#: What takes longest, the longest first: begun late, it would run on with the other worker idle.
FIRST = (
    "live/test_determinism",
    "live/test_device_bound",
    "install/",
    "ci/",
    "live/test_endings",
    "live/test_processes",
    "live/",
    "stacks/",
)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of the second half, and start the longest first."""

    def rank(item: pytest.Item) -> int:
        name = item.nodeid.removeprefix("tests/")
        return next((n for n, begin in enumerate(FIRST) if name.startswith(begin)), len(FIRST))

    for item in items:
        if item.nodeid.removeprefix("tests/").startswith((*PROGRAMS, *LONG)):
            item.add_marker("programs")
    items.sort(key=rank)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """Name what failed once more, last: pytest's own summary shows whole values on a CI machine."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        failed = [
            report.nodeid for of in ("failed", "error") for report in reporter.stats.get(of, ())
        ]
        if failed:
            reporter.write_line("\n".join(["", "failing tests:", *failed]))


@pytest.fixture(params=["interpreted", "compiled"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the loops over a file's bytes and events run."""
    from xladoctor.ingest.xplane import compiled

    endless = compiled.PATIENCE if request.param == "interpreted" else -1
    monkeypatch.setattr(compiled.Loop, "interpreted", 0)
    monkeypatch.setattr(compiled, "PATIENCE", 1000 * endless)
    return str(request.param)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this repository."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
    (built,) = folder.glob("xladoctor-*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of an environment with the wheel and what it needs, and nothing else.

    One for all tests that ask for it: they are in one group, and so in one worker.
    """
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    _run(sys.executable, "-m", "venv", folder)
    _run(folder / "bin" / "python", "-m", "pip", "install", "-q", wheel)
    return folder / "bin"


def _run(*command: str | Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(word) for word in command], env=environment, check=True)
