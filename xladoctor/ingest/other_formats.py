"""Formats that are recognised but not read, as they do not show costs, and what to give instead."""

from __future__ import annotations

import re

from xladoctor.ingest.formats import OtherFormat, all_formats, other_format

RECORD = "xladoctor run your_script.py"
_RUN = f"record the program, which names lines: {RECORD}"


#: Formats of no framework, the most distinctive first: any log may contain a traceback.
_FORMATS = (
    other_format(
        r'\A\s*\{[\s\S]*"cell_type"\s*:',
        "a notebook, in whose output there is no report or log",
        "capture its loop in a cell: import xladoctor, then with xladoctor.capture(): …\n"
        "or run it as a script: jupyter nbconvert --to script, then xladoctor run",
    ),
    other_format(
        r"^\|? ?NVIDIA-SMI |Driver Version: .{0,200}CUDA Version:|GPU-Util|^\| (?:[A-Z]+ )?Chip ",
        "the state of a device at one moment, which does not show what the program did",
        _RUN,
    ),
    other_format(
        r"^HloModule |^[ \t]*(?:ENTRY )?%?\S{1,200} = \S{1,200}\[[\d,]{0,100}\]\S{0,200}"
        r" (?:parameter|fusion)\(|^IR \{",
        "a graph as text, which does not show how often and how long it ran",
        f"give a timeline of it (.xplane.pb) or a metrics report\nor {_RUN}",
    ),
    other_format(
        r"^module @|\b(?:stablehlo|mhlo)\.\w+|^#map\d* = ",
        "a graph in StableHLO, which does not show how often and how long it ran",
        f"give a timeline of it (.xplane.pb)\nor {_RUN}",
    ),
    other_format(
        r"^[ \t]*ncalls[ \t]+tottime[ \t]+percall|function calls .{0,100}in [\d.]{1,20} seconds",
        "a table of cProfile, which shows where Python waits, but not for what",
        _RUN,
    ),
    other_format(
        r"^Package\s+Version\s*$|^[\w.-]+==\d[\w.]*\s*$[\s\S]*^[\w.-]+==\d[\w.]*\s*$",
        "a list of packages",
        f"to check the installation: xladoctor env\nor {_RUN}",
    ),
    other_format(
        r"^[ \t]*Thread \d+ \(|^Thread 0x[0-9a-f]+ \(most recent call first\)",
        "stacks of threads at one moment",
        f"while it hangs: xladoctor stacks PID\nor {_RUN}",
    ),
    other_format(
        r"^.{0,80}Traceback \(most recent call last\):",
        "an error of a program, which does not show what costs time",
        f"once it runs: {RECORD}\nfor what is wrong with an installation: xladoctor env",
    ),
    other_format(
        r"^(?:import \w|from \w[\w.]* import |def \w+\()",
        "source code, which does not show what happened at run time",
        _RUN,
    ),
)
_PROGRESS = re.compile(
    r"\b(?:loss|step|epoch|lr|acc|accuracy)\b\W{0,4}\d|\d ?(?:it/s|s/it)\b", re.IGNORECASE
)
_LEAST_PROGRESS = 3
_OUTPUT = OtherFormat(
    _PROGRESS,
    "a program's own output: progress and losses, and nothing of graphs and waits",
    f"record the program: {RECORD}",
)
_BINARY = (
    (b"\x89PNG", "a picture", "give the text itself"),
    (b"\xff\xd8\xff", "a picture", "give the text itself"),
    (b"%PDF", "a PDF", "give the text itself"),
    (b"PK\x03\x04", "a zip archive", "unpack it, and name the folder"),
    (
        b"SQLite format 3",
        "a database, such as Nsight Systems writes, which is not read",
        "record a trace with the framework's own profiler instead",
    ),
)


def described(head: bytes) -> tuple[str, str] | None:
    """What an unsupported file is and what to give instead, judging by its first 64 KiB."""
    for magic, what, instead in _BINARY:
        if head.startswith(magic):
            return what, instead
    text = head.decode(errors="replace").replace("\r\n", "\n")
    known = (*(other for each in all_formats() for other in each.not_read), *_FORMATS)
    found = next((each for each in known if each.pattern.search(text)), None)
    if found is None and len(_PROGRESS.findall(text)) >= _LEAST_PROGRESS:
        found = _OUTPUT
    return found and (found.what, found.instead)
