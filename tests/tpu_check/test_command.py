"""The command, over compilers that answer what a test wants."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
import typer

from tests.report.snapshots import assert_as_before
from tests.tpu_check import fakes
from xladoctor.cli.main import app
from xladoctor.errors import XladoctorError
from xladoctor.evidence.load import load
from xladoctor.ingest.interface import IngestError
from xladoctor.tpu_check.compiler import interpreter

GRAPH = "module @jit_f { func.func public @main() { return } }\n"
SNAPSHOTS = Path(__file__).with_name("snapshots")
KEPT_RUN = Path(__file__).with_name("runs") / "jax"
RUN = Path(__file__).parents[2] / "sample_traces" / "recompiling"
OOM = "memory required for HLO temporaries (32.00G) exceeds available HBM (15.75G)"


class Command:
    """``xladoctor tpu-check`` in an empty folder, over a compiler that answers as told."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, output: pytest.CaptureFixture[str]
    ) -> None:
        self._folder, self._patch, self._output = folder, patch, output

    def __call__(self, body: str, *options: str) -> tuple[int, str]:
        """The exit status of the check and what is printed."""
        folder = self._folder
        compiler = fakes.interpreter(folder, body)
        self._patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        self._patch.setattr(interpreter, "find_compiler", lambda python: compiler)
        self._patch.chdir(folder)
        (folder / "step.mlir").write_text(GRAPH, encoding="utf-8")
        return self.other("tpu-check", "step.mlir", "--on", "v5e", *options)

    def other(self, *words: str) -> tuple[int, str]:
        """The same of another command there."""
        try:
            status = app(list(words), standalone_mode=False)
        except SystemExit as ended:
            status = ended.code
        return status or 0, self._output.readouterr().out


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("body", "status", "verdict"),
    [
        ("answer()", 0, "fits"),
        (f"answer('does_not_fit', '', detail={OOM!r})", 1, "does not fit"),
        ("answer('refused', '', kind='host_callback')", 2, "cannot be compiled"),
        ("os.abort()", 2, "cannot be compiled"),
    ],
)
def test_the_exit_status_is_the_verdict(
    body: str, status: int, verdict: str, command: Command
) -> None:
    found, printed = command(body)

    assert found == status
    assert verdict in printed.splitlines()[1]
    assert ("not measured" in printed) == (status < 2)


def test_a_module_that_cannot_be_read_leaves_the_verdict(command: Command) -> None:
    """The fake's module has a name and no entry computation."""
    _, printed = command("answer()")

    assert "peak         300 bytes, <1% of 15.75 GiB" in printed
    assert "padding" not in printed


MEMORY = {
    "peak_memory_in_bytes": 15 << 30,
    "argument_size_in_bytes": 3010560,
    "output_size_in_bytes": 2663424,
    "alias_size_in_bytes": 1024,
    "temp_size_in_bytes": 387072,
}
BUFFERS = [
    {
        "role": role,
        "number": 0,
        "name": "w",
        "type": "f32",
        "shape": [32768, 65536],
        "donated": False,
    }
    for role in ("argument", "result")
]


@pytest.mark.parametrize(
    ("name", "body", "options"),
    [
        ("padded", f"answer(recorded='odd_sizes.pb.gz', memory={MEMORY!r})", ["-v"]),
        ("mesh", "answer(recorded='mesh.pb.gz', devices=4, topology='v5e:2x2')", ["--on", "v6e"]),
        ("too_large", f"answer('does_not_fit', '', detail={OOM!r}, buffers={BUFFERS!r})", []),
        ("refused", "answer('refused', '', kind='host_callback', detail='callback')", []),
        ("json", "answer(recorded='mesh.pb.gz')", ["--format", "json"]),
        ("markdown", "answer(recorded='mesh.pb.gz')", ["--format", "markdown"]),
    ],
)
def test_reports(name: str, body: str, options: list[str], command: Command) -> None:
    _, printed = command(body, *options)

    assert_as_before(SNAPSHOTS / f"{name}.txt", printed)


NEAR = f"answer(memory={MEMORY!r})"


def test_near_the_limit_only_the_job_s_compiler_decides(command: Command) -> None:
    assert command(NEAR)[0] == 2
    assert command(NEAR, "--python", "its/python")[0] == 2
    assert command(NEAR, "--python", "its/python", "--jax", "1")[0] == 0


@pytest.mark.parametrize(("jax", "status"), [("1", 0), ("0", 2)])
def test_the_versions_of_a_run_decide(
    command: Command, jax: str, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--flag=1")
    shutil.copytree(KEPT_RUN, tmp_path / "run")
    for record in (tmp_path / "run").glob("process-*/process.json"):
        said = record.read_text(encoding="utf-8").replace('"0.10.2"', f'"{jax}"', 1)
        record.write_text(said.replace('"0.10.2"', '"2"', 1), encoding="utf-8")

    command(NEAR)
    found, printed = command.other("tpu-check", "run", "--on", "v5e")
    assert found == status
    assert "flags        --flag=1" in printed
    warned = "the run had jax 0, jaxlib 2; --jax 0 compiles with these"
    assert (warned in " ".join(printed.split())) == (status == 2)
    _, printed = command.other("gate", "run", "--budget", "must_fit=true", "--ignore", "XD")
    assert ("is near the limit of v5e" in printed) == (status == 2)


def test_an_interpreter_of_another_release_is_refused(command: Command) -> None:
    with pytest.raises(typer.BadParameter, match="python has JAX 1"):
        command("answer()", "--jax", "0.9.0", "--python", "python")


def test_memory_is_what_the_compiler_plans(command: Command) -> None:
    planned = {"peak_memory_in_bytes": 495_326_208}
    command(f"answer(plan='layers.plan.pb.gz', memory={planned!r})", "--keep", "a.json")

    _, printed = command.other("memory", "a.json")
    assert_as_before(SNAPSHOTS / "memory.txt", printed)


def test_a_damaged_plan_is_left_out(command: Command) -> None:
    damaged = "(folder / 'plan.pb.gz').write_bytes(b'no')"
    command(f"answer(); {damaged}", "--keep", "a.json")

    with pytest.raises(XladoctorError, match="no compiled program that says"):
        command.other("memory", "a.json")


def test_two_checks_are_compared(command: Command, tmp_path: Path) -> None:
    too_large = f"answer('does_not_fit', '', detail={OOM!r}, buffers={BUFFERS!r})"
    command(too_large, "--keep", "a.json")
    shutil.rmtree(tmp_path / "cache")
    fits = {**MEMORY, "peak_memory_in_bytes": 12 << 30}
    command(f"answer(recorded='odd_sizes.pb.gz', memory={fits!r})", "--keep", "b.json")

    status, printed = command.other("compare", "a.json", "b.json")
    assert status == 0
    assert_as_before(SNAPSHOTS / "compared.txt", printed)
    status, _ = command.other("compare", "b.json", "a.json")
    assert status == 1
    _, again = command.other("analyze", "a.json")
    assert "jit_f does not fit v5e; 1 finding." in again


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_two_checks_are_compared_in_each_format(command: Command, form: str) -> None:
    command("answer(recorded='mesh.pb.gz')", "--keep", "a.json")

    _, printed = command.other("compare", "a.json", "a.json", "--format", form)
    assert "all-to-all" in printed


def test_a_page_has_the_graphs(command: Command) -> None:
    _, printed = command("answer(recorded='odd_sizes.pb.gz')", "--format", "html")

    assert "On a TPU, as its compiler decided" in printed
    assert "fusion f32[515,515]{1,0:T(8,128)}" in printed


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--lower-only", "train.py"], "put -- before the command: --lower-only -- train.py"),
        (["--vary", "batch_size=1,2", "last"], "--vary needs --lower-only"),
        (["--", "python", "train.py"], "a command needs --lower-only"),
        (["last", "last~1"], "expected one run: last 'last~1'"),
    ],
)
def test_what_does_not_go_together_is_an_error(
    words: list[str], says: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["xladoctor", "tpu-check", *words])
    with pytest.raises(typer.BadParameter, match=re.escape(says)):
        command.other("tpu-check", "--on", "v5e", *words)


@pytest.mark.parametrize("damaged", ['{"tpu_check": 1}', '{"tpu_check": 1, "graphs": [{}]}'])
def test_a_damaged_check_is_an_error(command: Command, tmp_path: Path, damaged: str) -> None:
    (tmp_path / "a.json").write_text(damaged, encoding="utf-8")
    with pytest.raises(IngestError, match="not what `xladoctor tpu-check --keep` writes"):
        load(str(tmp_path / "a.json"))


def test_a_run_keeps_its_check(command: Command, tmp_path: Path) -> None:
    """A run of another machine, in which the check is put as the command does."""
    shutil.copytree(RUN, tmp_path / "run")
    command(f"answer('does_not_fit', '', detail={OOM!r})", "--keep", "run/tpu-check.json")

    evidence = load(str(tmp_path / "run"))
    assert evidence.database.scalar("SELECT verdict FROM tpu_graph") == "does_not_fit"
    _, printed = command.other("analyze", "run")
    assert "XD620" in printed
    status, printed = command.other("gate", "run", "--budget", "must_fit=true", "--ignore", "XD")
    assert "graphs too large for a TPU" in printed
    assert status == 1


def test_budgets_of_what_was_not_compiled_are_not_judged(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    status, printed = command.other(
        "gate", str(tmp_path / "run"), "--budget", "max_hbm_share=90%", "--ignore", "XD"
    )
    assert "no graph was compiled for a TPU (--tpu-check)" in printed
    assert status == 3
