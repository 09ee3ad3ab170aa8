"""Evidence, settings and names that want to be obeyed: by terminals, CI systems, shells, readers.

A recorded run with hostile text behind every string that it has, and a path that is as bad.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from xladoctor.ingest.protobuf_schema import message

SAMPLES = Path(__file__).parents[2] / "sample_traces"
#: On one line: window title, colour (also with one character), direction, command, markup, shell.
INLINE = (
    "\x1b]0;t\x07\x1b[31m\x9b31m\u202e::error::x ##[error]x ##vso[task]x [red]x[/] </b>|`"
    " @ada #1 www.evil.example http://evil.example ; touch pwned # $(touch pwned) '\" \udcff"
)
HOSTILE = f"x{INLINE}\n::error::{INLINE}\r\n   ::warning::y"
#: Of a path: no slash.
NAME = f"run{INLINE.replace('/', '')}\n::error::x"
#: Values that readers tell records apart by.
_KEPT = {"event", "kind", "during", "doing", "session", "frontend", "name", "dtype"}


def run_directory(folder: Path, sample: str = "dynamic_shape") -> Path:
    """A spoiled copy of a recorded run, below ``folder``, with a spoiled name."""
    run = folder / f"{NAME}-{sample}"
    shutil.copytree(SAMPLES / sample, run)
    (run / "diagnosis.json").unlink(missing_ok=True)
    for file in run.rglob("*.json"):
        file.write_text(json.dumps(_spoiled(json.loads(file.read_text("utf-8")))), "utf-8")
    for file in run.rglob("*.jsonl"):
        lines = file.read_text("utf-8").splitlines()
        file.write_text("".join(f"{json.dumps(_spoiled(json.loads(x)))}\n" for x in lines), "utf-8")
    for file in (*run.rglob("*.log"), *run.rglob("*.txt")):
        _spoil_text(file)
    for file in run.rglob("*.xplane.pb"):
        _spoil_timeline(file)
    manifest = json.loads((run / "run.json").read_text("utf-8"))
    manifest |= {"path": "x; touch pwned #", "kind": HOSTILE}
    (run / "run.json").write_text(json.dumps(manifest), "utf-8")
    return run


def _spoiled(value: Any, key: str = "") -> Any:
    if isinstance(value, str):
        return value if key in _KEPT else value + HOSTILE
    if isinstance(value, dict):
        return {name: _spoiled(item, name) for name, item in value.items()}
    return [_spoiled(item, key) for item in value] if isinstance(value, list) else value


def _spoil_text(file: Path) -> None:
    """Names of files, functions and counters; behind them, as lines end with what is read."""
    text = file.read_text("utf-8")
    for name in (".py", "Counter: aten::", "Frame:"):
        text = text.replace(name, f"{INLINE}{name}" if name == ".py" else f"{name}{INLINE}")
    file.write_bytes(text.encode("utf-8", "surrogateescape"))


def _spoil_timeline(file: Path) -> None:
    """Names of hosts, lines and Python functions, and texts of events; protobuf has no bytes."""
    space = message("XSpace").FromString(file.read_bytes())
    text, inline = (bad.replace("\udcff", "") for bad in (HOSTILE, INLINE))
    space.hostnames.append(text)
    for plane in space.planes:
        stats = [stat for entry in plane.event_metadata for stat in entry.value.stats]
        for entry in plane.event_metadata:
            entry.value.name = entry.value.name.replace(".py", f"{inline}.py")
            entry.value.display_name += text
        for line in plane.lines:
            line.name += text
            stats += [stat for event in line.events for stat in event.stats]
        for stat in stats:
            if stat.str_value:
                stat.str_value += text
    file.write_bytes(space.SerializeToString())
