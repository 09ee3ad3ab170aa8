"""Patches for the sick examples: for how many there is one, and how many of these hold.

    python -m benchmarks.fixes [recompiling jax/loss_read …] [--pairs 3] [--no-verify]

Each program runs once under capture, in a copy of its folder; then `xladoctor fix --verify` tries
its patches. What came of each is kept in `benchmarks/fixes.json`, and docs/fixes.md has the table.
Run it on a quiet machine; all programs take hours.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.environment import for_cpu
from xladoctor.quantities import duration

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
KEPT = Path(__file__).with_name("fixes.json")
_FOLDERS = (".", "recompilation", "jax", "torch_compile")
_LIMIT_S = 3600
_PROVED = ("outcome", "before_s", "after_s", "times", "reason", "note")


def names() -> list[str]:
    """The sick examples, as paths below ``examples`` without their suffix."""
    found = (path for folder in _FOLDERS for path in (EXAMPLES / folder).glob("*.py"))
    return sorted(
        str(path.relative_to(EXAMPLES).with_suffix(""))
        for path in found
        if not path.stem.endswith("_healed")
    )


def tried(name: str, pairs: int, *, verify: bool) -> dict[str, Any]:
    """What came of a program."""
    source = (EXAMPLES / name).with_suffix(".py")
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        shutil.copytree(source.parent, project, ignore=shutil.ignore_patterns("__pycache__"))
        run = Path(folder, "run")
        _xladoctor(project, "run", "--quiet", "-o", str(run), source.name)
        flags = ["--verify", "--pairs", str(pairs)] if verify else []
        printed = _xladoctor(project, "fix", str(run), "--quiet", "--format", "json", *flags)
        plan = json.loads(printed) if printed else {"patches": [], "skips": []}
        report = json.loads((run / "diagnosis.json").read_text(encoding="utf-8"))
    return {"findings": rows(plan, report)}


def rows(plan: dict[str, Any], report: dict[str, Any]) -> list[dict[str, Any]]:
    """What came of each finding at warning or above, of a plan and a report as JSON."""
    severities = {each["fingerprint"]: each["severity"] for each in report["findings"]}
    made = [
        {
            "rule": each["rule"],
            "severity": severities.get(each["fingerprint"], ""),
            "kind": each.get("kind"),
            "effect": each.get("effect"),
            "reason": each.get("reason"),
            "predicted_s": each.get("predicted_s"),
            "proof": {key: (each.get("proof") or {}).get(key) for key in _PROVED},
        }
        for each in (*plan["patches"], *plan["skips"])
    ]
    return [row for row in made if row["severity"] in ("warning", "error")]


def _xladoctor(project: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "xladoctor", *words],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        env=for_cpu(),
        timeout=_LIMIT_S,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"xladoctor {' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout


def table(kept: dict[str, Any]) -> str:
    """The rows of docs/fixes.md: each patch, and what came of it."""
    lines = [
        "| Program | Finding | Patch | Loop without it | With it | Times as fast | Outcome |",
        "| --- | --- | --- | ---: | ---: | --- | --- |",
    ]
    for name, result in sorted(kept.items()):
        for row in result["findings"]:
            if row["kind"]:
                cells = [f"`{name}`", row["rule"], f"`{row['kind']}`", *_measured(row["proof"])]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _measured(proof: dict[str, Any]) -> list[str]:
    times = proof["times"]
    if not times:
        return ["", "", "", proof["outcome"] or "not tried"]
    seconds = [duration(proof[key]) for key in ("before_s", "after_s")]
    high = "∞" if times["high"] is None else f"{times['high']:.3g}"
    interval = f"{times['value']:.3g} ({times['low']:.3g} to {high})"
    unclear = ", speed-up not proven" if "not proven" in (proof["note"] or "") else ""
    return [*seconds, interval, f"{proof['outcome']}{unclear}"]


def sums(kept: dict[str, Any]) -> str:
    """How many programs have a patch, and how many patches hold, as a sentence."""
    ill = [result["findings"] for result in kept.values() if result["findings"]]
    patched = [rows for rows in ill if any(row["kind"] for row in rows)]
    outcomes = Counter(
        row["proof"]["outcome"] for rows in patched for row in rows if row["proof"]["outcome"]
    )
    others = "".join(
        f'; "{name}": {count}' for name, count in sorted(outcomes.items()) if name != "verified"
    )
    return (
        f"{len(patched)} of {len(ill)} programs with findings have a patch. Of"
        f" {outcomes.total()} patches tried, {outcomes['verified']} verified{others}."
    )


def main() -> None:
    """Try the programs that are named, or all, and print the table and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--no-verify", action="store_true")
    asked = parser.parse_args()
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in asked.programs or names():
        kept[name] = tried(name, asked.pairs, verify=not asked.no_verify)
        text = json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False)
        KEPT.write_text(text + "\n", encoding="utf-8")
        print(
            name,
            *(
                f"{row['rule']} {row['kind'] or '-'} {row['proof']['outcome'] or ''}"
                for row in kept[name]["findings"]
            ),
            sep="  ",
            flush=True,
        )
    print(table(kept))
    print(sums(kept))


if __name__ == "__main__":
    main()
