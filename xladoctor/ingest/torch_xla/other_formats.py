"""What people give that holds no evidence of what costs time: by its own name, and what to give
instead.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_RECORD = "xladoctor run your_script.py"
_REPORT = (
    "give torch_xla's metrics report: print(torch_xla.debug.metrics.metrics_report())\n"
    "or its analysis log, which names lines: PT_XLA_DEBUG_LEVEL=2 PT_XLA_DEBUG_FILE=debug.log"
)
_TRACE = (
    'give its trace: profiler.export_chrome_trace("trace.json"); xladoctor analyze trace.json\n'
    f"or record the program: {_RECORD}"
)
_RUN = f"record the program, which names lines: {_RECORD}"


class OtherFormat(NamedTuple):
    """A format that is known and not read.

    Attributes:
        pattern: what no other text has, in the first 64 KiB.
        what: what it is, and what it does not tell.
        instead: what to give.
    """

    pattern: re.Pattern[str]
    what: str
    instead: str


def _format(pattern: str, what: str, instead: str) -> OtherFormat:
    return OtherFormat(re.compile(pattern, re.MULTILINE), what, instead)


#: The surest first: a traceback may stand in the log of anything.
_FORMATS = (
    _format(
        r"NEURON_CC_WRAPPER|\bneuronx?-cc\b|^\.+\nCompiler status PASS",
        "the log of AWS Neuron's compiler, which names files, not what made a graph new",
        _REPORT,
    ),
    _format(
        r'\A\s*\{[\s\S]*"cell_type"\s*:',
        "a notebook, in whose output there is no report or log",
        "capture its loop in a cell: import xladoctor, then with xladoctor.capture(): …\n"
        "or run it as a script: jupyter nbconvert --to script, then xladoctor run",
    ),
    _format(
        r"\btlparse\b|<title>\s*(?:Dynamo|tlparse)|dynamo_output_graph",
        "a page of tlparse, made of a log that has more",
        "give that log itself, the file in the folder of TORCH_TRACE: xladoctor analyze"
        f" dedicated_log_torch_trace_….log\nor record the program: {_RECORD}",
    ),
    _format(
        r"Self C(?:PU|UDA) %|Self CPU time total:|CPU total %.*# of Calls",
        "a table of PyTorch's profiler (key_averages), which has sums and no order of events",
        _TRACE,
    ),
    _format(
        r"^\|? ?NVIDIA-SMI |Driver Version: .*CUDA Version:|GPU-Util|^\| (?:TPU )?Chip ",
        "the state of a device at one moment, which does not tell what the program did",
        _RUN,
    ),
    _format(
        r"^HloModule |^[ \t]*(?:ENTRY )?%?\S+ = \S+\[[\d,]*\]\S* (?:parameter|fusion)\(|^IR \{",
        "a graph as text, which does not tell how often and for how long it ran",
        f"give a timeline of it (.xplane.pb) or a metrics report\nor {_RUN}",
    ),
    _format(
        r"^module @|\b(?:stablehlo|mhlo)\.\w+|^#map\d* = ",
        "a graph in StableHLO, which does not tell how often and for how long it ran",
        f"give a timeline of it (.xplane.pb)\nor {_RUN}",
    ),
    _format(
        r"^[ \t]*ncalls[ \t]+tottime[ \t]+percall|function calls .*in [\d.]+ seconds",
        "a table of cProfile, which sees where Python waits and not what for",
        _RUN,
    ),
    _format(
        r"^Package\s+Version\s*$|^[\w.-]+==\d[\w.]*\s*$[\s\S]*^[\w.-]+==\d[\w.]*\s*$",
        "a list of packages",
        f"to check the installation: xladoctor env\nor {_RUN}",
    ),
    _format(
        r"^Collecting environment information|^PyTorch version: ",
        "a description of an environment",
        f"to check the installation: xladoctor env\nor {_RUN}",
    ),
    _format(
        r"^[ \t]*Thread \d+ \(|^Thread 0x[0-9a-f]+ \(most recent call first\)",
        "stacks of threads at one moment",
        f"while it hangs: xladoctor stacks PID\nor {_RUN}",
    ),
    _format(
        r"^.{0,80}Traceback \(most recent call last\):",
        "an error of a program, which does not tell what costs time",
        f"once it runs: {_RECORD}\nfor what is wrong with an installation: xladoctor env",
    ),
    _format(
        r"^(?:import \w|from \w[\w.]* import |def \w+\()",
        "source code, which does not tell what happened as it ran",
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
    f"record the program: {_RECORD}\nor print(torch_xla.debug.metrics.metrics_report()) at its end",
)
_BINARY = (
    (b"\x89PNG", "a picture", "give the text itself"),
    (b"\xff\xd8\xff", "a picture", "give the text itself"),
    (b"%PDF", "a PDF", "give the text itself"),
    (b"PK\x03\x04", "a zip archive", "unpack it, and name the folder"),
    (
        b"SQLite format 3",
        "a database, such as Nsight Systems writes, which is not read",
        "record a trace with torch.profiler or jax.profiler instead",
    ),
)


def described(head: bytes) -> tuple[str, str] | None:
    """What a file is that no reader takes, and what to give instead, by its first 64 KiB."""
    for magic, what, instead in _BINARY:
        if head.startswith(magic):
            return what, instead
    text = head.decode(errors="replace").replace("\r\n", "\n")
    found = next((each for each in _FORMATS if each.pattern.search(text)), None)
    if found is None and len(_PROGRESS.findall(text)) >= _LEAST_PROGRESS:
        found = _OUTPUT
    return found and (found.what, found.instead)
