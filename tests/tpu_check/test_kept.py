"""The graphs that a run kept: which of them is the steady step, and what is said without any.

``runs/`` has two recorded runs, and the programs that they are of.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tpu_check import fakes
from xladoctor.cli.main import app
from xladoctor.tpu_check.compiler import interpreter
from xladoctor.tpu_check.graphs import GraphsError, find_graphs
from xladoctor.tpu_check.kept import kept_graphs

RUNS = Path(__file__).parent / "runs"
KINDS = ("torch_xla", "jax")
STEADY = "graph-2-step.mlirbc.gz"


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a recorded run, to be damaged."""
    return Path(shutil.copytree(RUNS / request.param, tmp_path / "run"))


def process(run: Path) -> Path:
    (folder,) = run.glob("process-*")
    return folder


def rewrite(file: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change each object of a file of JSON, or of JSON lines; None removes it."""
    changed = [change(json.loads(line)) for line in file.read_text().splitlines()]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in changed if one is not None))


def names(run: Path, most: int = 4) -> list[tuple[str, str]]:
    graphs = kept_graphs(run, most).graphs
    return [
        (", ".join(filter(None, [graph.name, graph.role])), graph.source.name) for graph in graphs
    ]


# -- which graphs ----------------------------------------------------------------------------


def test_the_steady_step_of_barriers_comes_first_and_warm_up_is_left_out() -> None:
    assert names(RUNS / "torch_xla") == [
        ("train_torch.py:19, the steady step", STEADY),
        ("train_torch.py:24", "graph-4-step.mlirbc.gz"),
        ("train_torch.py:19, compiled late, in step 9", "graph-3-step.mlirbc.gz"),
    ]


def test_the_versions_of_a_run_are_known() -> None:
    for kind, versions in (
        ("jax", {"jax": "0.10.2", "jaxlib": "0.10.2"}),
        ("torch_xla", {"torch_xla": "2.9.0"}),
    ):
        assert kept_graphs(RUNS / kind).graphs[0].versions == versions


def test_the_steady_step_of_functions_has_their_names() -> None:
    assert names(RUNS / "jax") == [
        ("step, train_jax.py:30, the steady step", STEADY),
        ("evaluate, train_jax.py:32", "graph-4-evaluate.mlirbc.gz"),
        ("step, train_jax.py:30, compiled late, in step 8", "graph-3-step.mlirbc.gz"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_compiler_is_told(kind: str) -> None:
    steady = kept_graphs(RUNS / kind).graphs[0]

    assert (steady.form, steady.replicas, steady.partitions) == ("stablehlo", 1, 1)
    assert steady.launches == 8
    assert steady.content.startswith(b"ML\xefRStableHLO_v1".replace(b"R", b"R\r"))
    assert b"train_" in steady.content, "it has lines"


def test_what_a_barrier_overwrites_is_known_from_the_compiled_module() -> None:
    """Two layers, the momentum of each, and their gradients."""
    torch_xla, jax = (kept_graphs(RUNS / kind).graphs[0] for kind in KINDS)

    assert torch_xla.donated.count("tensor<64x64xf32>") == 4
    assert torch_xla.donated.count("tensor<64xf32>") == 4
    assert jax.donated == ()


def test_most_graphs_are_left_out_by_number() -> None:
    found = kept_graphs(RUNS / "jax", 1)

    assert len(found.graphs) == 1
    assert len(found.left_out) == 2


def test_without_a_steady_step_the_largest_comes_first(run: Path) -> None:
    def once(line: dict[str, Any]) -> dict[str, Any] | None:
        late = line.get("step", line.get("index", 0)) > 1
        return None if late and line["event"] != "tail" else line

    rewrite(process(run) / "steps.jsonl", once)
    sites = process(run) / "call_sites.json"
    rewrite(sites, lambda content: {**content, "launches": []})

    found = kept_graphs(run)
    sizes = [len(graph.content) for graph in found.graphs]

    assert "steady" not in found.graphs[0].role
    assert found.graphs[0].launches is None
    assert sizes == sorted(sizes, reverse=True)
    assert found.notes == ("no graph runs in a loop; the largest comes first",)


def test_one_of_several_processes_speaks_for_all(run: Path) -> None:
    folder = process(run)
    twin = Path(shutil.copytree(folder, folder.with_name("process-7")))
    rewrite(twin / "process.json", lambda content: {**content, "pid": 7})

    assert len({source for _, source in names(run)}) == len(names(run)) == 3


# -- none, and damaged ones ------------------------------------------------------------------


def without_graphs(line: dict[str, Any]) -> dict[str, Any] | None:
    return None if line["event"] == "graph" else line


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, "the run was made by a version of xladoctor that kept none"),
        ({"no_graphs": "--graph-bytes 0 asks for none"}, "--graph-bytes 0 asks for none"),
        ({"no_graphs": None}, "the program compiled none while it was recorded"),
        ({"no_graphs": None, "graphs_left_out": 2}, "larger than --graph-bytes"),
    ],
)
def test_why_a_run_has_none(run: Path, said: dict[str, Any], reason: str) -> None:
    rewrite(process(run) / "steps.jsonl", without_graphs)
    keys = ("no_graphs", "graphs_left_out")
    rewrite(
        process(run) / "process.json",
        lambda content: {key: content[key] for key in content if key not in keys} | said,
    )

    with pytest.raises(GraphsError, match=reason):
        kept_graphs(run)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (Path.unlink, "is gone"),
        (lambda file: file.write_bytes(file.read_bytes()[:-300]), STEADY),
        (lambda file: file.write_bytes(gzip.compress(b"module @other {}")), "is no longer a graph"),
        (lambda file: file.write_bytes(b""), "is no longer a graph"),
    ],
)
def test_a_damaged_graph_is_left_out_with_a_note(
    run: Path, damage: Callable[[Path], Any], said: str
) -> None:
    damage(process(run) / STEADY)

    found = kept_graphs(run)

    assert len(found.graphs) == 2
    assert "steady" in found.graphs[0].role
    (note,) = found.notes
    assert said in note


def test_a_link_out_of_the_run_is_not_followed(run: Path, tmp_path: Path) -> None:
    file = process(run) / STEADY
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")

    assert STEADY not in [source for _, source in names(run)]


def test_an_index_that_names_files_elsewhere_names_none(run: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes((process(run) / STEADY).read_bytes())
    rewrite(
        process(run) / "steps.jsonl",
        lambda line: {**line, "kept_as": "../other"} if line["event"] == "graph" else line,
    )

    with pytest.raises(GraphsError, match="is gone, or not a plain file"):
        kept_graphs(run)


def test_a_file_of_a_run_is_a_graph_by_itself(run: Path) -> None:
    (graph,) = find_graphs(process(run) / STEADY).graphs

    assert graph.form == "stablehlo"


# -- the command -----------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["last", "last~0", "train_jax.py", "runs/one", "xladoctor-runs/a"])
def test_the_command_finds_runs_as_others_do(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for place in ("xladoctor-runs/a", "runs/one"):
        shutil.copytree(RUNS / "jax", tmp_path / place)
    monkeypatch.setattr(
        interpreter, "find_compiler", lambda python: fakes.interpreter(tmp_path, "answer()")
    )

    app(["tpu-check", word, "--on", "v5e", "--most", "1"], standalone_mode=False)

    said = capsys.readouterr()
    assert "step fits v5e." in said.out
    assert "step · train_jax.py:30, the steady step" in said.out
    assert STEADY in said.out
    assert "2 more graphs were left out" in said.err
    assert [*tmp_path.glob("*/*/tpu-check.json")]


def test_what_the_child_is_asked_names_what_may_be_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    counted = "f'donated-{len(request[\"donated\"])}'"
    body = f"answer('refused', '', kind='custom_call', detail={counted})"
    monkeypatch.setattr(
        interpreter, "find_compiler", lambda python: fakes.interpreter(tmp_path, body)
    )

    monkeypatch.chdir(tmp_path)
    shutil.copytree(RUNS / "torch_xla", tmp_path / "run")
    app(["tpu-check", "run", "--on", "v5e", "--most", "1"], standalone_mode=False)

    donated = kept_graphs(RUNS / "torch_xla").graphs[0].donated
    assert f"donated-{len(donated)}" in capsys.readouterr().out
