"""Which line is named for a read: the library's, the user's, or none because a comment says so."""

from __future__ import annotations

import pytest

from tests.live.harness import LIVE, Captured, command, line_of, write
from xladoctor.doctor import load_evidence

pytestmark = [*LIVE, pytest.mark.xdist_group("call sites")]

STEPS = 20
TRAIN = f"""
    import torch
    import torch_xla
    import metrics_lib

    device = torch_xla.device()
    model = torch.nn.Linear(4, 1).to(device)
    inputs = torch.ones(8, 4).to(device)
    for step in range({STEPS}):
        model.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        noise = torch.distributions.Normal(loss.detach(), 1.0).sample()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        metrics_lib.record(loss)
        loss.item()  # xladoctor: ignore[XD201] wanted in the log
        torch_xla.sync()
    """
LIBRARY = """
    seen = []


    def record(value):
        seen.append(float(value))
    """


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """A program that reads through an installed package, through torch, and with a comment."""
    folder = tmp_path_factory.mktemp("call_sites")
    program = write(folder, "train.py", TRAIN)
    library = write(folder, "env/site-packages/metrics_lib/__init__.py", LIBRARY)
    path = {"PYTHONPATH": str(library.parents[1])}
    return command(folder / "out", program, cwd=folder, env=path)


def test_read_in_an_installed_package_is_named_there_with_its_caller(run: Captured) -> None:
    library = run.directory.parent / "env/site-packages/metrics_lib/__init__.py"
    (finding,) = [f for f in run.findings("XD201") if f["cause"]["kinds"] == ["float"]]

    assert [(p["role"], p["file"], p["line"]) for p in finding["locations"]] == [
        ("guilty", str(library.relative_to(run.directory.parent)), line_of(library, "seen.append")),
        ("caller", "train.py", line_of(run.program, "metrics_lib.record(loss)")),
    ]
    assert finding["count"] == STEPS


@pytest.mark.parametrize(
    ("via", "line", "cure"),
    [
        ("clip_grad_norm_", "torch.nn.utils.clip_grad_norm_", "error_if_nonfinite=True"),
        ("__init__", "noise = torch.distributions.Normal", "validate_args=False"),
    ],
)
def test_read_inside_torch_is_named_at_the_users_line_with_its_cure(
    run: Captured, via: str, line: str, cure: str
) -> None:
    (finding,) = [f for f in run.findings("XD207") if f["cause"]["via"] == via]

    assert [(p["role"], p["file"], p["line"]) for p in finding["locations"]] == [
        ("guilty", "train.py", line_of(run.program, line))
    ]
    assert finding["cause"]["kinds"] == ["bool"]
    assert cure in finding["message"]


def test_comment_on_the_line_moves_its_finding_to_the_ignored(run: Captured) -> None:
    line = line_of(run.program, "loss.item()")

    (ignored,) = run.report["ignored"]
    assert ignored.pop("fingerprint") not in {f["fingerprint"] for f in run.findings("XD201")}
    assert ignored == {
        "rule": "XD201",
        "file": "train.py",
        "line": line,
        "reason": "wanted in the log",
        "function": "<module>",
        "source": "    loss.item()  # xladoctor: ignore[XD201] wanted in the log",
        "count": 20,
        "per_step": 1.0,
    }
    assert [len(run.findings(rule)) for rule in ("XD201", "XD207")] == [1, 2]
    assert "XD201" in run.report["rules"]["fired"]


def test_warning_about_a_read_names_the_programs_line_and_not_ours(run: Captured) -> None:
    library = run.directory.parent / "env/site-packages/metrics_lib/__init__.py"
    line = line_of(library, "seen.append")

    assert f"{library}:{line}: UserWarning: Converting a tensor" in run.finished.stderr
    assert "_xladoctor" not in run.finished.stderr


PASSING = f"""
    import contextlib

    import torch
    import torch_xla
    import torch_xla.core.xla_model as xm
    import passing_lib


    @torch.no_grad()
    def evaluate(model, inputs):
        return float(model(inputs).sum())


    @passing_lib.logged
    def mean(value):
        return value.mean().item()


    @contextlib.contextmanager
    def step_of():
        yield
        xm.mark_step()


    def main():
        device = xm.xla_device()
        model = torch.nn.Linear(4, 1).to(device)
        inputs = torch.ones(8, 4).to(device)
        as_list = passing_lib.logged(torch.Tensor.tolist)
        for step in range({STEPS}):
            model.zero_grad()
            with step_of():
                loss = model(inputs).square()
            as_list(loss)
            mean(loss)
            evaluate(model, inputs)


    main()
    """
PASSING_LIBRARY = """
    import functools


    def logged(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            result = function(*args, **kwargs)
            return result

        return call
    """


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """A program with deprecated names, decorators of packages, and a context manager."""
    folder = tmp_path_factory.mktemp("passing")
    program = write(folder, "train.py", PASSING)
    library = write(folder, "env/site-packages/passing_lib/__init__.py", PASSING_LIBRARY)
    path = {"PYTHONPATH": str(library.parents[1])}
    return command(folder / "out", program, cwd=folder, env=path)


@pytest.mark.thorough
def test_what_only_passes_a_call_on_is_never_named(passing: Captured) -> None:
    """The step log, the analysis log and the modules name the same lines, all of the program."""
    program = passing.program
    reads = {
        line_of(program, "as_list(loss)"),
        line_of(program, "return value.mean()"),
        line_of(program, "return float("),
    }
    barriers = {line_of(program, "xm.mark_step()")}
    database = load_evidence(str(passing.directory)).database
    rows = {
        table: database.rows(
            f"SELECT DISTINCT file, line, user_file FROM {table} WHERE file IS NOT NULL"
        )
        for table in ("step", "host_sync", "compilation", "hlo_instruction")
    }

    assert {row["file"] for table in rows.values() for row in table} == {str(program)}
    assert {row["user_file"] for table in rows.values() for row in table} == {None}
    assert {row["line"] for row in rows["step"]} == barriers
    assert {row["line"] for row in rows["host_sync"]} == reads
    assert {row["line"] for row in rows["compilation"]} <= reads | barriers
    read = {
        finding["locations"][0]["line"]
        for rule in ("XD201", "XD203")
        for finding in passing.findings(rule)
    }
    assert read == reads
