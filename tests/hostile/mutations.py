"""What faults and strangers do to evidence: records, texts and messages that are almost right.

Each function takes a random source and gives one mutant; a seed gives the same mutants again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

#: Values that no record has where it is asked for something.
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63,
    10**20,
    -(10**20),
    0.5,
    1e308,
    "",
    "x" * 5000,
    "caf\udce9",
    "\x1b]0;owned\x07",
    "::error::no\n::error::",
    "../../etc/passwd",
    "/dev/zero",
    "nan",
    [],
    [[]],
    [None],
    {},
    {"": None},
    [1, 2, 3],
    "\u202egnp.exe",
    "\x00",
)
_DIGITS = re.compile(rb"(?<!\d)\d+(?:\.\d+)?")
#: In place of a number: at the edges of 32, 53, 63 and 64 bits, beyond a float, and none.
_NUMBERS = tuple(
    str(number).encode()
    for number in (
        *(edge + more for edge in (2**31, 2**53, 2**63, 2**64) for more in (-1, 0)),
        10**18 - 1,
        10**400,
        "9" * 5000,
        "9e30",
        "9e400",
        "-1",
        "0",
        "nan",
        "inf",
        "\u00b2",
        "\u0663",
    )
)
_WORDS = (
    b"Metric: ",
    b"Counter: ",
    b"TotalSamples: ",
    b"Value: ",
    b"Accumulator: ",
    b" GB",
    b"Compilation Analysis: ",
    b"Execution Analysis: ",
    b"pt-xla-profiler: ",
    b"\n",
    b"\r\n",
    b"\x00",
    b"\xff\xfe",
    b"0.000.000034",
    b"99999999999999999999",
    b"\x1b[31m",
    b"<pre>",
    b"[ScheduleSyncTensorsGraph]\n",
    b"## BEGIN_GRAPH\n",
    b"1%=",
    b"; ",
    b"(",
    b":",
    b"-",
    b"%",
    b"Percentiles: ",
    b"[MetricsData; step=",
    b"]",
    b"e9999",
    b"nan",
)


def of_bytes(data: bytes, random: Random) -> bytes:
    """Cut, flipped, repeated, moved, or with words of the formats in it."""
    mutant = bytearray(data)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(mutant) + 1)
        length = min(random.choice((1, 2, 8, 64, 1000)), len(mutant) - at)
        kind = random.randrange(7)
        if kind == 0:
            del mutant[at:]
        elif kind == 1:
            del mutant[at : at + length]
        elif kind == 2 and length:
            mutant[at] ^= 1 << random.randrange(8)
        elif kind == 3:
            mutant[at:at] = mutant[at : at + length] * random.choice((1, 2, 30))
        elif kind == 4:
            mutant[at:at] = random.choice(_WORDS)
        elif kind == 5:
            mutant[at : at + length] = random.randbytes(length)
        else:
            part = mutant[at : at + length]
            del mutant[at : at + length]
            to = random.randrange(len(mutant) + 1)
            mutant[to:to] = part
    return bytes(mutant)


def of_numbers(data: bytes, random: Random) -> bytes:
    """Numbers replaced by ones that no field can hold."""
    places = [match.span() for match in _DIGITS.finditer(data)]
    mutant = data
    for begin, end in sorted(random.sample(places, min(3, len(places))), reverse=True):
        mutant = mutant[:begin] + random.choice(_NUMBERS) + mutant[end:]
    return mutant


def of_lines(text: str, random: Random) -> str:
    """Lines cut off, left out, repeated, exchanged, or run together."""
    lines = text.splitlines(keepends=True)
    for _ in range(random.randint(1, 4)):
        if not lines:
            break
        at = random.randrange(len(lines))
        kind = random.randrange(6)
        if kind == 0:
            del lines[at:]
        elif kind == 1:
            del lines[at]
        elif kind == 2:
            lines[at:at] = lines[at : at + random.randint(1, 40)]
        elif kind == 3:
            lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
        elif kind == 4:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = lines[at].rstrip("\n")
    return "".join(lines)


def of_record(record: Any, random: Random) -> Any:
    """A value replaced, a key left out or added, a list grown, somewhere in a record."""
    mutant = json.loads(json.dumps(record))
    for _ in range(random.randint(1, 3)):
        found = list(places(mutant))
        if not found:
            return random.choice(ODD)
        holder, key = random.choice(found)
        kind = random.randrange(5)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder += [holder[key]] * random.choice((1, 2, 200))
        elif kind == 2 and isinstance(holder, dict):
            holder[str(random.choice(ODD))] = holder[key]
        elif kind == 3:
            holder[key] = [[[holder[key]]]]
        else:
            holder[key] = random.choice(ODD)
    return mutant


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in a record: what holds it, and its key there."""
    keys: Any = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield value, key
        yield from places(value[key])


def damage(run: Path, random: Random) -> str:
    """Damage one or two files of a run directory; which, and how."""
    files = [
        path for path in sorted(run.rglob("*")) if path.is_file() and path.name != "diagnosis.json"
    ]
    done = []
    for path in random.sample(files, random.choice((1, 1, 1, 2))):
        done.append(f"{path.relative_to(run)}: {_damage(path, random)}")
    return "; ".join(done)


def _damage(path: Path, random: Random) -> str:
    if path.suffix == ".json" and random.random() < 0.8:
        record = of_record(json.loads(path.read_text()), random)
        path.write_text(json.dumps(record))
        return f"record {json.dumps(record)[:200]}"
    if path.suffix == ".jsonl" and random.random() < 0.7:
        lines = path.read_text().splitlines()
        at = random.randrange(len(lines)) if lines else 0
        lines[at : at + 1] = [
            json.dumps(of_record(json.loads(line), random)) for line in lines[at : at + 1]
        ]
        path.write_text("\n".join(lines) + "\n")
        return f"line {at + 1} {lines[at][:200] if lines else ''}"
    if path.suffix in (".txt", ".log", ".jsonl") and random.random() < 0.5:
        path.write_text(of_lines(path.read_text(), random))
        return "lines"
    kind = random.randrange(8)
    if kind == 0:
        path.unlink()
        return "gone"
    path.write_bytes(of_bytes(path.read_bytes(), random))
    return "bytes"
