"""How time and memory of the readers grow with their input: `make benchmark-scaling`, or
`python -m benchmarks.scaling --doublings 3 'frame in a report' 'defects of a configuration'`.

Each kind of input is doubled, and read in a process of its own. Printed are, of the two largest,
the exponent of the time (1: linear, 2: quadratic), and how many bytes the peak of the memory grows
for each byte that the input does. Some inputs are what programs leave, others what only damage or
malice makes. What a process takes for an input of nothing is subtracted from its time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ingest import process

_EVIDENCE = """
import sys
from xladoctor.errors import XladoctorError
from xladoctor.evidence.load import load
try: load(sys.argv[1])
except XladoctorError as error: print(error)
"""
_CONFIGURATION = """
import sys
from pathlib import Path
from xladoctor.configuration.load import load_configuration
from xladoctor.errors import XladoctorError
try: load_configuration(Path(sys.argv[1]))
except XladoctorError as error: print(len(error.what))
"""
_BASELINE = """
import sys
from pathlib import Path
from xladoctor.errors import XladoctorError
from xladoctor.gate.baseline import read
try: read(Path(sys.argv[1]))
except XladoctorError as error: print(len(error.what))
"""
#: Of this process alone, where the one of `wait4` begins with its parent's.
_PEAK = "print(*(l for l in open('/proc/self/status') if l.startswith('VmHWM:')))"
_EXPONENT, _FACTOR = 1.3, 4.0  # what is more than these is marked,
_SECONDS, _BYTES = 0.5, 30_000_000  # unless it is too little to be told from chance


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes:
        smallest: items of the first input.
        write: writes an input of so many items to a path.
        read: Python code that reads its first argument.
    """

    smallest: int
    write: Callable[[Path, int], None]
    read: str = _EVIDENCE


def field(number: int, value: bytes | int) -> bytes:
    """A protobuf field."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def entry(number: int) -> bytes:
    """The metadata of an event, with this id."""
    return field(4, field(1, number) + field(2, field(1, number) + field(2, b"work")))


def timeline(*planes: bytes) -> bytes:
    """A timeline of planes, each named as a host's."""
    return b"".join(field(1, field(2, b"/host:CPU") + plane) for plane in planes)


def lines(path: Path, count: int) -> None:
    """A plane of many lines with one event each."""
    event = field(4, field(1, 1) + field(2, 1000) + field(3, 500))
    plane = entry(1) + b"".join(field(3, field(1, n) + event) for n in range(count))
    path.write_bytes(timeline(plane))


def events(path: Path, count: int) -> None:
    """A line of many events."""
    event = b"".join(
        field(4, field(1, 1) + field(2, n * 1000) + field(3, 500)) for n in range(count)
    )
    path.write_bytes(timeline(entry(1) + field(3, field(1, 1) + event)))


def planes(path: Path, count: int) -> None:
    """Planes whose only id is high."""
    plane = entry((1 << 20) - 1) + field(3, field(4, field(1, 1)))
    path.write_bytes(timeline(*[plane] * count))


def analysis(path: Path, count: int) -> None:
    """An analysis log, each of its graphs another one."""
    with path.open("w") as file:
        for n in range(count):
            file.write(analysis_block(f"{n:032x}", n % 50))


def analysis_block(graph: str, line: int) -> str:
    """A compilation as the log has it."""
    body = [
        "=" * 80,
        "Compilation Cause",
        "  user torch_xla.sync",
        "Graph Info: ",
        f"  Graph Hash: {graph}",
        "  Number of Graph Inputs: 7",
        "  Number of Graph Outputs: 3",
        "Python Frame Triggered Execution: ",
        "  sync (/usr/lib/python3/site-packages/torch_xla/torch_xla.py:87)",
        f"  train (/home/ada/train.py:{line})",
        "-" * 80,
        "=" * 80,
    ]
    return "\n" + "".join(f"Compilation Analysis: {text}\n" for text in body)


def frame(path: Path, count: int) -> None:
    """One line that may be a frame at each of its brackets and colons."""
    begin = analysis_block("ab", 1)
    path.write_text(
        begin
        + "\nCompilation Analysis: Compilation Cause\nCompilation Analysis: "
        + "f (a:1 " * count
        + "\n"
    )


def word(path: Path, count: int) -> None:
    """A line of the console's judgements that is one word."""
    path.write_text(analysis_block("ab", 1) + "pt-xla-profiler: " + "w" * count + "\n")


def packed(path: Path, count: int) -> None:
    """A packed text of one byte again and again."""
    with gzip.open(path, "wb", 9) as file:
        for _ in range(count):
            file.write(b"x" * (1 << 20))


def run(path: Path, logged: str, count: int) -> None:
    """A run directory whose step log repeats a line."""
    folder = path / "process-1"
    folder.mkdir(parents=True)
    record: dict[str, object] = {
        "pid": 1,
        "rank": None,
        "host": "vm",
        "frontend": "torch_xla",
        "used_device": True,
        "versions": {},
        "devices": ["CPU:0"],
        "ended": True,
        "main": "train.py",
        "cwd": "/",
        "began_ns": 0,
        "ended_ns": 1,
        "settings": {},
        "settings_lines": {},
        "folders": {"standard": [], "installed": []},
        "no_analysis_log": None,
    }
    (path / "run.json").write_text(json.dumps({"command": ["train.py"], "ended": {"seconds": 1}}))
    (folder / "process.json").write_text(json.dumps(record))
    with (folder / "steps.jsonl").open("w") as file:
        for n in range(count):
            file.write(logged.replace("NUMBER", str(n)) + "\n")


def steps(path: Path, count: int) -> None:
    """Steps."""
    run(
        path,
        '{"event":"step","thread":140000000000001,"main":true,"index":NUMBER,"steps":1,'
        '"end_ns":179000NUMBER,"duration_ns":50000,"barrier_ns":500,"compile_ns":0,"site":null,'
        '"executions":1,"reads":[],"input":[0,0],"uploads":[],"counters":{}}',
        count,
    )


def compiles(path: Path, count: int) -> None:
    """Compilations."""
    run(
        path,
        '{"event":"compile","thread":140000000000001,"step":NUMBER,"during":"barrier",'
        '"end_ns":179000NUMBER,"duration_ns":50000,"site":null}',
        count,
    )


def uploads(path: Path, count: int) -> None:
    """Uploads."""
    run(
        path,
        '{"event":"upload","thread":140000000000001,"step":NUMBER,"dtype":"float32",'
        '"shape":[128,1024],"site":null}',
        count,
    )


def shape(path: Path, count: int) -> None:
    """One upload of many dimensions."""
    run(
        path,
        '{"event":"upload","thread":1,"step":0,"dtype":"float32","shape":['
        + "1024," * count
        + '1],"site":null}',
        1,
    )


def keys(path: Path, count: int) -> None:
    """A baseline with many keys that it cannot have, of which the last is there twice."""
    names = ", ".join(f'"key {n}": 0' for n in (*range(count), count - 1))
    path.write_text(f"{{{names}}}")


def defects(path: Path, count: int) -> None:
    """A configuration of nothing but defects."""
    path.write_text("[gate]\n" + "".join(f"key-{n} = 0\n" for n in range(count)))


KINDS = {
    "lines of a timeline": Kind(10_000, lines),
    "events of a timeline": Kind(500_000, events),
    "planes with a high id": Kind(1_000, planes),
    "blocks of an analysis log": Kind(10_000, analysis),
    "frame in an analysis log": Kind(50_000, frame),
    "word in a report": Kind(100_000, word),
    "MiB in a packed text": Kind(50, packed),
    "steps of a run": Kind(20_000, steps),
    "compilations of a run": Kind(20_000, compiles),
    "uploads of a run": Kind(50_000, uploads),
    "dimensions of an upload": Kind(500_000, shape),
    "keys of a baseline": Kind(20_000, keys, _BASELINE),
    "defects of a configuration": Kind(2_000, defects, _CONFIGURATION),
}
_SUFFIX: dict[Callable[[Path, int], None], str] = {
    lines: ".xplane.pb",
    events: ".xplane.pb",
    planes: ".xplane.pb",
    packed: ".log.gz",
}


@dataclass(frozen=True)
class Reading:
    """What reading an input took: seconds, bytes at its peak, bytes of the input."""

    seconds: float
    peak: int
    size: int


def measure(kind: Kind, count: int, folder: Path) -> Reading:
    """Read an input of so many items."""
    path = folder / f"input-{count}{_SUFFIX.get(kind.write, '')}"
    kind.write(path, count)
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    done = process(sys.executable, "-c", kind.read + _PEAK, path)
    peak_kib = int(done.output.split()[-2])
    return Reading(done.wall_s, peak_kib << 10, sum(file.stat().st_size for file in files))


def growth(name: str, doublings: int, folder: Path) -> str:
    """A line on one kind of input."""
    kind = KINDS[name]
    least = measure(kind, 1, folder).seconds
    *_, before, after = (measure(kind, kind.smallest << n, folder) for n in range(doublings + 1))
    seconds = [max(1e-3, each.seconds - least) for each in (before, after)]
    exponent = math.log2(seconds[1] / seconds[0])
    more = after.peak - before.peak
    factor = more / max(1, after.size - before.size)
    slow, large = exponent > _EXPONENT and seconds[1] > _SECONDS, factor > _FACTOR and more > _BYTES
    mark = "  <-- more" if slow or large else ""
    return (
        f"{name:28}{after.size / 1e6:>9.1f} MB{seconds[1]:>9.2f} s{after.peak / 1e6:>8,.0f} MB"
        f"{exponent:>10.2f}{factor:>9.1f}{mark}"
    )


def main() -> None:
    """Print a line for each kind of input."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--doublings", type=int, default=2)
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there is: {', '.join(KINDS)}")
    print(f"{'':28}{'input':>12}{'time':>11}{'peak':>11}{'exponent':>10}{'memory':>9}")
    for name in options.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            print(growth(name, max(1, options.doublings), Path(folder)), flush=True)


if __name__ == "__main__":
    main()
