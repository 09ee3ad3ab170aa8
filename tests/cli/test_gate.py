"""``xladoctor gate`` from outside, on runs that were captured before."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import READS, REPORT, ROOT
from tests.cli.forked import called

TRACES = ROOT / "sample_traces"
SICK, CLEAN = TRACES / "scalar_read", TRACES / "two_threads"  # a read in each step; in order
LINE = "programs/scalar_read.py:35"
BASELINE = Path(".xladoctor") / "baseline.json"


@pytest.fixture
def gate(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command in a project of its own."""

    def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        done = called("gate", *words, folder=tmp_path, environment=environment)
        assert "Traceback" not in done.stderr
        return done

    return run


Gate = Callable[..., subprocess.CompletedProcess[str]]


def copied(run: Path, folder: Path) -> Path:
    target = folder / "runs" / run.name
    shutil.copytree(run, target)
    return target


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def assert_refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done.stdout[-500:]
    assert message in " ".join(done.stderr.split())


# Statuses


def test_program_in_order_passes(gate: Gate) -> None:
    done = gate(CLEAN)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Gate passed: nothing fails." in done.stdout


def test_sick_program_fails_with_its_line(gate: Gate) -> None:
    done = gate(SICK)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"    {LINE}  in train\n" in done.stdout
    assert "Gate failed: 1 new finding" in done.stdout


@pytest.mark.parametrize(("options", "status"), [([], 1), (["--update-baseline"], 0)])
def test_ignores_are_added_beside_the_decision(gate: Gate, options: list[str], status: int) -> None:
    done = gate("--add-ignores", *options, SICK)
    assert done.returncode == status
    assert f"XD201 at {LINE}: not written: no line of a file in this repository" in done.stderr


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--fail-on", "error"], 0),
        (["--fail-on", "info"], 1),
        (["--fail-on", "never", "--level", "XD201=error"], 1),
        (["--select", "XD1,XD3"], 0),
        (["--ignore", "XD2:programs/**"], 0),
        (["--ignore", "XD1,XD2:vendor/**"], 1),
        *(
            pytest.param(words, 0, marks=pytest.mark.thorough)
            for words in (
                ["--fail-on", "never"],
                ["--level", "XD2=warning"],
                ["--level", "XD201=off"],
                ["--ignore", "XD201"],
                ["--level", "XD2=info", "--fail-on", "info", "--allow-missing"],
            )
        ),
    ],
    ids=str,
)
def test_options_before_the_run_say_what_fails(gate: Gate, options: list[str], status: int) -> None:
    few = [] if "--select" in options else ["--select", "XD2"]  # others do not matter here
    assert gate(*options, *few, SICK).returncode == status


def test_budget_that_is_over_fails_with_the_lines_that_consume_it(gate: Gate) -> None:
    done = gate(SICK, "--level", "XD2=warning", "--budget", "max_host_syncs_per_step=0.5")
    assert done.returncode == 1
    assert f"    1 a step  {LINE}  item  running_loss += loss.item()\n" in done.stdout
    assert (
        gate(SICK, "--level", "XD2=warning", "--budget", "max_host_syncs_per_step=1").returncode
        == 0
    )


def test_what_could_not_be_judged_is_status_3_unless_it_may_be_missing(
    gate: Gate, tmp_path: Path
) -> None:
    asked = (CLEAN, "--budget", "max_peak_memory=1GiB")
    done = gate(*asked)
    assert done.returncode == 3
    assert "not judged  max_peak_memory: torch_xla's log does not say" in done.stdout
    assert gate(*asked, "--allow-missing").returncode == 0
    assert gate(*asked, XLADOCTOR_ALLOW_MISSING="1").returncode == 0
    assert gate(*asked, "--budget", "max_barriers_per_step=0", "--allow-missing").returncode == 1
    (tmp_path / "report.txt").write_text(REPORT)
    assert gate("report.txt").returncode == 3
    (tmp_path / "report.txt").write_text(REPORT + READS)
    assert gate("report.txt").returncode == 1


# Runs that cannot be judged


@pytest.mark.parametrize(
    ("ended", "message"),
    [
        (
            {"status": 1, "signal": None, "seconds": 1},
            "the program failed (exit status 1) after 40 steps",
        ),
        pytest.param(
            {"status": None, "signal": 9, "seconds": 1},
            "was ended by SIGKILL after 40 steps",
            marks=pytest.mark.thorough,
        ),
        (None, "the run was cut short after 40 steps"),
    ],
    ids=["failed", "killed", "cut"],
)
def test_program_that_did_not_end_well_is_status_2(
    gate: Gate, tmp_path: Path, ended: object, message: str
) -> None:
    run = copied(CLEAN, tmp_path)
    edit(run / "run.json", ended=ended)
    assert_refused(gate(run, "--allow-missing"), message)
    assert_refused(gate(run, "--update-baseline"), message)
    assert not (tmp_path / BASELINE).exists()


def process(run: Path) -> Path:
    """The folder of the process that did the work."""
    (folder,) = [path.parent for path in run.glob("process-*/analysis.log")]
    return folder


def test_run_of_which_a_process_was_cut_short_does_not_pass(gate: Gate, tmp_path: Path) -> None:
    run = copied(CLEAN, tmp_path)
    edit(process(run) / "process.json", ended=False)
    done = gate(run)
    assert done.returncode == 3
    assert "not judged  capture: process-" in done.stdout
    assert gate(run, "--select", "XD2").returncode == 3


def test_capture_that_switched_itself_off_does_not_pass_whatever_is_selected(
    gate: Gate, tmp_path: Path
) -> None:
    run = copied(CLEAN, tmp_path)
    fault = "Traceback (most recent call last):\nOSError: No space left on device\n"
    (process(run) / "faults.log").write_text(fault)
    assert gate(run).returncode == 1  # XD902
    done = gate(run, "--select", "XD2")
    assert done.returncode == 3
    assert "the capture switched itself off: OSError: No space left" in " ".join(
        done.stdout.split()
    )


def test_run_that_saw_warm_up_only_does_not_pass(gate: Gate, tmp_path: Path) -> None:
    run = copied(CLEAN, tmp_path)
    log = process(run) / "steps.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    steps = [at for at, line in enumerate(lines) if json.loads(line)["event"] == "step"]
    log.write_text("".join(lines[: steps[1]]))
    for timeline in run.glob("plugins/profile/*/*"):
        timeline.unlink()
    done = gate(run, "--budget", "max_compilations_after_warmup=0")
    assert done.returncode == 3
    assert "warm-up: the steady state was not seen" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere: no such file or directory"),
        (["train.py"], "put -- before a program: -- python train.py"),
        (["a", "b"], "expected one run, or -- and a command: -- a b"),
        ([], "last: no run in xladoctor-runs/"),
        (["--", "no-such-command"], "cannot run no-such-command"),
        (["--runs", "2", str(CLEAN)], "only valid with a command"),
        (["--timeout", "1m", str(CLEAN)], "only valid with a command"),
        (["--fail-on", "sometimes", str(CLEAN)], "'sometimes' is not one of"),
        (["--level", "XD201", str(CLEAN)], "expected something like RULE=warning"),
        (["--level", "XD201=loud", str(CLEAN)], "option --level XD201: Input should be"),
        (["--level", "XD0=warning", str(CLEAN)], "option --level: no rule begins with XD0"),
        (["--ignore", "XD0:a/**", str(CLEAN)], "option --ignore: no rule begins with XD0"),
        (["--budget", "max_step_ms", str(CLEAN)], "expected something like max_host_syncs"),
        (
            ["--budget", "max_hots=1", str(CLEAN)],
            "option --budget max_hots: no such key; expected one of max_barriers_per_step,",
        ),
        (["--budget", "max_step_ms=fast", str(CLEAN)], "option --budget max_step_ms: "),
        (["--budget", "max_peak_memory=2 apples", str(CLEAN)], "'2 apples' is not a size"),
        (["--select", "xd1", str(CLEAN)], "'xd1' is not a rule or family"),
        (["--ignore", "XD", str(CLEAN)], "nothing to judge"),
        (["--select", "XD503", str(CLEAN)], "nothing to judge"),
        (["--level", "XD=off", str(CLEAN)], "nothing to judge"),
        (["--config", "none.toml", str(CLEAN)], "none.toml: cannot be read"),
        (["--baseline", "none.json", str(CLEAN)], "none.json: no such baseline"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_cannot_be_judged_is_status_2_and_says_why(
    gate: Gate, words: list[str], message: str
) -> None:
    assert_refused(gate(*words), message)


def test_program_of_which_no_run_was_made_stays_unjudged(gate: Gate, tmp_path: Path) -> None:
    """A command that never starts Python, or never uses XLA."""
    assert_refused(gate("-q", "--", "true"), "no Python process reported")
    (tmp_path / "fails.sh").write_text("exit 7\n")
    assert_refused(gate("-q", "--", "sh", "fails.sh"), "the command ended with status 7")


def test_command_that_takes_too_long_is_said_to_and_where_its_threads_stood(gate: Gate) -> None:
    done = gate("-q", "--timeout", "1s", "--", "sleep", "60")
    assert_refused(done, "stopped by --timeout after 1 s: not judged; where its threads stood:")
    assert "/stacks-" in done.stderr


# Where nothing is shown on standard output


def test_verdict_is_said_where_all_formats_go_to_files(gate: Gate, tmp_path: Path) -> None:
    done = gate(SICK, "--format", "junit=out.xml")
    said = f"programs/scalar_read.py: Gate failed: 1 new finding, XD201 at {LINE}.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    assert (tmp_path / "out.xml").exists()
    assert gate(SICK, "--format", "junit=out.xml", "--quiet").stderr == ""


# Without a name


def test_newest_run_is_judged_where_none_is_named(gate: Gate, tmp_path: Path) -> None:
    runs = tmp_path / "xladoctor-runs"
    shutil.copytree(SICK, runs / "2026-01-05-one")
    shutil.copytree(CLEAN, runs / "2026-01-04-two")
    (runs / "2026-01-06-broken").mkdir()
    assert gate().returncode == 0
    manifest = runs / "2026-01-05-one" / "run.json"
    record = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**record, "began_ns": record["began_ns"] + 10**12}))
    assert gate().returncode == 1


# Baseline


def test_what_was_accepted_passes_until_it_gets_worse(gate: Gate, tmp_path: Path) -> None:
    assert "to accept the current findings (not in a baseline yet):" in gate(SICK).stdout
    done = gate(SICK, "--update-baseline")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote {BASELINE}\n  programs/scalar_read.py: 1 finding\n"
    written = (tmp_path / BASELINE).read_bytes()
    done = gate(SICK)
    assert done.returncode == 0
    assert f"known  XD201 at {LINE}: in the baseline\n" in done.stdout

    assert gate(SICK, "--update-baseline").returncode == 0
    assert (tmp_path / BASELINE).read_bytes() == written
    done = gate(SICK, "--update-baseline", "--format", "github=notes.txt")
    assert (done.returncode, (tmp_path / BASELINE).read_bytes()) == (0, written)
    assert (tmp_path / "notes.txt").read_text().startswith("::notice ")

    document = json.loads(written)
    document["scripts"]["programs/scalar_read.py"]["findings"][0]["count"] = 39
    (tmp_path / BASELINE).write_text(json.dumps(document))
    done = gate(SICK)
    assert done.returncode == 1
    assert "    worse: 40 times, in the baseline 39 times\n" in done.stdout


def test_update_of_the_baseline_says_which_budgets_will_still_fail(gate: Gate) -> None:
    over = ("--budget", "max_host_syncs_per_step=0.1", "--budget", "max_barriers_per_step=9")
    done = gate(SICK, "--update-baseline", *over)
    assert done.returncode == 0
    assert done.stdout.splitlines()[2:] == [
        "the gate will still fail, as a baseline has no budgets: 1 budget still over in"
        " programs/scalar_read.py",
        "  max_host_syncs_per_step: host reads 1 a step, allowed 0.1 a step",
    ]
    assert gate(SICK, *over).returncode == 1


def test_new_finding_fails_beside_a_known_one_and_the_gone_one_is_named(gate: Gate) -> None:
    assert (
        gate(TRACES / "missing_lowering", "--script", "train.py", "--update-baseline").returncode
        == 0
    )
    done = gate(SICK, "--script", "train.py")
    assert done.returncode == 1
    assert "    new: not in the baseline\n" in done.stdout
    assert "gone  XD402  programs/missing_lowering.py: loss = huber_loss" in done.stdout


def test_fingerprint_is_the_same_in_report_and_baseline(gate: Gate, tmp_path: Path) -> None:
    report = json.loads(gate(SICK, "--format", "json").stdout)
    (finding,) = report["findings"]
    (judgement,) = report["gate"]["judgements"]
    gate(SICK, "--update-baseline")
    document = json.loads((tmp_path / BASELINE).read_text())
    (known,) = document["scripts"]["programs/scalar_read.py"]["findings"]
    assert finding["fingerprint"] == judgement["fingerprint"] == known["fingerprint"]
    assert (report["gate"]["status"], judgement["state"]) == ("failed", "new")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80", "the baseline cannot be read"),
        (b"<<<<<<< HEAD\n{\n", "the baseline is not JSON"),
        (b'{"version": 1, "results": []}', "not an xladoctor baseline"),
        (b'{"tool": "xladoctor", "schema_version": 99, "later": 1}', "has version 99"),
    ],
    ids=["unreadable", "torn", "foreign", "newer"],
)
@pytest.mark.parametrize("options", [[], ["--update-baseline"]], ids=str)
def test_baseline_of_no_use_is_status_2_and_stays_as_it_is(
    gate: Gate, tmp_path: Path, content: bytes, message: str, options: list[str]
) -> None:
    path = tmp_path / BASELINE
    path.parent.mkdir()
    path.write_bytes(content)
    assert_refused(gate(CLEAN, *options), message)
    assert path.read_bytes() == content


# Configuration


def test_configuration_says_what_fails_and_where_the_baseline_is(
    gate: Gate, tmp_path: Path
) -> None:
    config = tmp_path / "pyproject.toml"
    config.write_text(
        '[tool.xladoctor]\nlevels = { XD201 = "warning" }\n'
        '[tool.xladoctor.gate]\nbaseline = "b.json"\n'
        '[tool.xladoctor.gate.scripts."programs/*.py"]\nmax_host_syncs_per_step = 0.5\n'
    )
    done = gate(SICK)
    assert done.returncode == 1
    assert "let pass: its level is warning" in done.stdout
    assert "budget over  max_host_syncs_per_step" in done.stdout
    assert gate(SICK, "--budget", "max_host_syncs_per_step=1").returncode == 0
    assert (
        gate(SICK, "--level", "XD2=error", "--budget", "max_host_syncs_per_step=1").returncode == 1
    )
    gate(CLEAN, "--update-baseline")
    assert (tmp_path / "b.json").exists()


def test_option_goes_before_the_environment_and_that_before_the_file(
    gate: Gate, tmp_path: Path
) -> None:
    (tmp_path / "xladoctor.toml").write_text('ignore = ["XD201"]\n[gate]\nfail_on = "error"\n')
    assert gate(SICK).returncode == 0
    assert gate(SICK, "--select", "XD201").returncode == 0  # a warning, below error
    assert gate(SICK, "--select", "XD201", XLADOCTOR_FAIL_ON="warning").returncode == 1
    assert (
        gate(
            SICK, "--select", "XD201", "--fail-on", "error", XLADOCTOR_FAIL_ON="warning"
        ).returncode
        == 0
    )
    assert gate(SICK, XLADOCTOR_SELECT="XD201", XLADOCTOR_FAIL_ON="info").returncode == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gate]\nfail_at = 1\n", "xladoctor.toml:2: gate.fail_at: no such key; expected one of"),
        ("<<<<<<< HEAD\n", "xladoctor.toml: not TOML"),
        ("select = ['XD99999']\n", "xladoctor.toml:1: select.0: 'XD99999' is not a rule"),
        ("select = ['XD0']\n", "select: no rule begins with XD0"),
        ("[thresholds.XD201]\nmany = 1\n", "thresholds.XD201: no threshold many; there is: each, "),
    ],
)
def test_bad_configuration_is_status_2_before_anything_runs(
    gate: Gate, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "xladoctor.toml").write_text(text)
    assert_refused(gate("--", "touch", "ran"), message)
    assert not (tmp_path / "ran").exists()


def test_finding_is_accepted_by_hand(gate: Gate, tmp_path: Path) -> None:
    (finding,) = json.loads(gate(SICK, "--format", "json").stdout)["findings"]
    path = tmp_path / ".xladoctor" / "acknowledged.toml"
    path.parent.mkdir()
    line = f'[findings]\n{finding["fingerprint"]} = {{ reason = "logged", expires = '
    path.write_text(f"{line}2999-01-01 }}\n")
    done = gate(SICK)
    assert done.returncode == 0
    assert f"acknowledged  XD201 at {LINE}: logged; until 2999-01-01" in done.stdout
    path.write_text(f"{line}2020-01-01 }}\n")
    done = gate(SICK)
    assert done.returncode == 1
    assert f"the acknowledgement of {finding['fingerprint']} expired" in done.stdout
    path.write_text("[findings")
    assert_refused(gate(SICK), "acknowledged.toml: not TOML")


# Several programs


def test_directory_of_several_programs_names_them(gate: Gate, tmp_path: Path) -> None:
    whole = tmp_path / "out"
    for number, run in enumerate((CLEAN, SICK), 1):
        shutil.copytree(run, whole / f"{number}-{run.name}")
    shutil.copy(CLEAN / "run.json", whole)
    done = gate(whole)
    assert_refused(done, "2 runs; a report is about one")
    assert gate(whole / "1-two_threads").returncode == 0
    assert gate(whole / "2-scalar_read").returncode == 1
