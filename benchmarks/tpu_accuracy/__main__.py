"""What tpu-check says of jobs that ran, or died, on TPUs v6e.

    python -m benchmarks.tpu_accuracy EXPERIMENTS --qwen3 PYTHON --gemma4 PYTHON [--other PYTHON]
        [--only NAME …]

EXPERIMENTS is ``wiki/experiments`` of the public repository
vlasenkoalexey/tpu_performance_autoresearch_wiki, checked out. PYTHON has the jobs' packages: for
Qwen3 JAX 0.9.0, libtpu 0.0.34, Flax, Optax and tokamax 0.0.13; for Gemma 4 JAX 0.10.0, libtpu
0.0.40, Flax and Optax. ``--other`` has another release of the compiler. The truth was written down
before (``points.toml``). Each step is lowered with PYTHON and given to ``xladoctor tpu-check``;
what came of it is kept in ``benchmarks/tpu_accuracy/measured.json``, and
docs/tpu-check-accuracy.md has the table. A verdict that is false ends this with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TRUTH, KEPT = HERE / "points.toml", HERE / "measured.json"
PAGE = HERE.parents[1] / "docs" / "tpu-check-accuracy.md"
TPU = {"qwen3": "v6e:2x4", "gemma4": "v6e:2x2"}
RELEASES = {"qwen3": "0.9.0", "gemma4": "0.10.0"}  # of JAX, that the jobs had
CAPACITY = 31.25  # GiB, as the jobs' messages have it
_BEGIN, _END = "<!-- table -->\n", "<!-- end -->\n"
_GIB = 1 << 30


def measured(
    point: dict[str, Any], flags: str, experiments: Path, lowering: Path, python: Path
) -> dict[str, Any]:
    """What tpu-check says about a point: sizes in GiB, times in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        graph, kept = Path(folder, "step.mlir"), Path(folder, "kept.json")
        lower = [str(lowering), str(HERE / "lower.py"), str(experiments), str(graph)]
        subprocess.run([*lower, json.dumps(point)], check=True)
        command = [
            sys.executable,
            "-m",
            "xladoctor",
            "tpu-check",
            str(graph),
            "--on",
            TPU[point["model"]],
        ]
        command += ["--python", str(python), "--timeout", "40m", "--keep", str(kept)]
        if python == lowering:
            command += ["--jax", RELEASES[point["model"]]]
        subprocess.run(command, env={**os.environ, "LIBTPU_INIT_ARGS": flags}, check=False)
        (found,) = json.loads(kept.read_text(encoding="utf-8"))["graphs"]
    sizes = {name: found.get(f"{name}_bytes") for name in ("peak", "needed", "least", "temporary")}
    return {
        "verdict": found["verdict"],
        "compiler": found["compiler"],
        "seconds": round(found["compile_ns"] / 1e9, 1),
        "processor": round(found["processor_ns"] / 1e9, 1),
        **{name: round(size / _GIB, 3) if size else None for name, size in sizes.items()},
    }


def error(point: dict[str, Any], found: dict[str, Any]) -> float | None:
    """How far the memory is from the truth, as a share of that; None if either is unknown.

    A message says "Used" of the program's own memory if that alone is too much, else with the
    arguments.
    """
    said = found["peak"] or found["needed"]
    program = found["temporary"]
    if "used" in point and found["needed"]:
        said = program if program and program > CAPACITY else program and found["needed"]
    truth = point.get("peak") or point.get("used")
    return said / truth - 1 if said and truth else None


def agrees(point: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether a verdict is not false: an unknown one is not."""
    return found["verdict"] in ("unknown", "fits" if "peak" in point else "does_not_fit")


def table(points: list[dict[str, Any]], kept: dict[str, dict[str, Any]]) -> str:
    """The table in Markdown: a row for each point that was measured."""
    lines = [
        "| Step | Flags | On the TPU | Its compiler | Error | libtpu 0.0.50 | Error | Processor |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for point in points:
        if point["name"] not in kept:
            continue
        own, other = (kept.get(point["name"], {}).get(which) for which in ("own", "other"))
        truth = f"{point['peak']:.2f}" if "peak" in point else f"out of memory: {point['used']:.2f}"
        cells = [point["name"], point["flags"], truth]
        for found in (own, other):
            cells += [_said(found), _percent(error(point, found)) if found else ""]
        cells.append(f"{own['processor']:.0f} s" if own else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _said(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    size = found["peak"] or found["needed"]
    verdict = found["verdict"].replace("_", " ")
    return f"{verdict}: {size:.2f}" if size else f"{verdict}: at least {found['least']:.2f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:+.1f}%"


def write(points: list[dict[str, Any]], kept: dict[str, dict[str, Any]]) -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    PAGE.write_text(f"{before}{_BEGIN}\n{table(points, kept)}\n{_END}{after}", encoding="utf-8")


def main() -> int:
    """Measure, keep and tabulate; 1 if a verdict is false."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("experiments", type=Path)
    parser.add_argument("--qwen3", type=Path)
    parser.add_argument("--gemma4", type=Path)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--only", action="append", default=[])
    asked = parser.parse_args()
    truth = tomllib.loads(TRUTH.read_text(encoding="utf-8"))
    points, flags = truth["point"], truth["flags"]
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for point in points:
        own = getattr(asked, point["model"])
        if own is None or (asked.only and point["name"] not in asked.only):
            continue
        for which, python in (("own", own), ("other", asked.other)):
            if python is None:
                continue
            found = measured(point, flags[point["flags"]], asked.experiments, own, python)
            kept.setdefault(point["name"], {})[which] = found
            print(point["name"], which, found, _percent(error(point, found)), flush=True)
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    write(points, kept)
    false = [
        (point["name"], which)
        for point in points
        for which, found in kept.get(point["name"], {}).items()
        if not agrees(point, found)
    ]
    print(*(f"false verdict: {name} ({which})" for name, which in false), sep="\n")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
