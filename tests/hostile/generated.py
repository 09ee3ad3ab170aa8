"""Inputs made from the readers: each field of each format, with values that it should not have.

Fields of run directories, settings and timelines are those that are declared; those of texts are
what the readers' regular expressions find in texts that the readers' tests read.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from tests.hostile.declared import manifest, messages, records, sample
from tests.hostile.documents import OF_JSON, OF_TEXT, Document, Field, as_json
from tests.hostile.limits import Input
from tests.hostile.near_matches import Expression, expressions
from xladoctor.configuration.interface import Configuration
from xladoctor.diagnosis.rule import Rule
from xladoctor.gate.baseline import Baseline
from xladoctor.ingest.protobuf_schema import message

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS.parent / "sample_traces"
_OF_TEXTS = re.compile(r"xladoctor\.(frontends\.\w+\.ingest|ingest|recording)\b")
_AROUND = 15  # lines of a text before and after the one with the field
_MOST_LINE = 2_000
_TOP = '{"traceEvents": [\n'


def generated() -> Iterator[Input]:
    """All of them, format by format."""
    for each in (*run_directories(), *settings(), *texts(), *traces(), *logs()):
        yield from each.inputs()
    yield from timelines()


def run_directories() -> Iterator[Document]:
    """One for each kind of record that a run directory has."""
    folder: dict[str, list[str]] = {}
    for path, record in records():
        folder.setdefault(path, []).append(json.dumps(record))
    files = {path: "\n".join([*lines, ""]).encode() for path, lines in folder.items()}
    files["run.json"] = manifest()
    for path, record in records():
        text, fields = as_json(record)
        is_log = path.endswith(".jsonl")
        before = files[path].decode() if is_log else ""
        others = {name: content for name, content in files.items() if name != path}
        kind = f"run directory, {path.rpartition('/')[2]}"
        between = "\n" if is_log else ""
        yield Document(kind, path, text, fields, OF_JSON, before, "\n", between, others)


def settings() -> Iterator[Document]:
    """A baseline, a rule, and each key of a configuration."""
    for kind, path, declared in (
        ("baseline", "baseline.json", Baseline),
        ("rule", "ACME001-odd-thing.yaml", Rule),
    ):
        value = sample(declared.model_json_schema())
        for script in value.get("scripts", {}).values():
            del script["findings"][1:]  # each has a fingerprint of its own
        text, fields = as_json(value)
        yield Document(kind, path, text, fields, OF_JSON)
    for key, value in sample(Configuration.model_json_schema()).items():
        text, fields = as_json(value, colon=" = ")
        yield Document("configuration", "xladoctor.toml", text, fields, OF_JSON, f"{key} = ")


def texts() -> Iterator[Document]:
    """Parts of texts, each around what an expression finds; each group of it is a field."""
    for expression in expressions():
        if _OF_TEXTS.match(expression.name) and (found := _found(expression)):
            yield found


def _found(expression: Expression) -> Document | None:
    """The first text with a line in which most groups of an expression are."""
    pattern = expression.pattern
    if isinstance(pattern.pattern, bytes):
        return None
    best: tuple[int, int, re.Match[str]] | None = None
    for place, (lines, number) in enumerate(corpus()):
        if (match := pattern.search(lines[number])) and match[0]:
            groups = sum(group is not None for group in match.groups())
            best = max(best or (-1, 0, match), (groups, -place, match), key=itemgetter(0))
            if groups == pattern.groups:
                break
    if best is None:
        return None
    _, place, match = best
    lines, number = corpus()[-place]
    fields = [
        Field(f"group {group}", *match.span(group))
        for group in range(pattern.groups + 1)
        if match.start(group) >= 0
    ]
    before, after, between = (
        "\n".join(["", *lines[max(0, first) : last], ""])
        for first, last in (
            (number - _AROUND, number),
            (number + 1, number + _AROUND),
            (number + 1, number + 4),
        )
    )
    name = f"{expression.name}.txt"
    return Document(
        "text", name, lines[number], fields, OF_TEXT, before.lstrip("\n"), after, between
    )


@cache
def corpus() -> list[tuple[list[str], int]]:
    """The lines of recorded texts, and of those that the readers' tests have in them: each text's
    lines and the number of one, of lines that differ in more than numbers.
    """
    files = [*SAMPLES.glob("*/process-*/*.txt"), *SAMPLES.glob("*/process-*/*.log")]
    files += [*(TESTS / "ingest").rglob("*.txt"), *(TESTS / "ingest").rglob("*.log")]
    whole = [path.read_text("utf-8", "replace") for path in sorted(files)]
    for path in sorted((TESTS / "ingest").rglob("test_*.py")):
        whole += [
            node.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        ]
    distinct: dict[str, tuple[list[str], int]] = {}
    for lines in map(str.splitlines, whole):
        for number, line in enumerate(lines):
            if len(line) < _MOST_LINE:
                distinct.setdefault(re.sub(r"\d+", "0", line), (lines, number))
    return list(distinct.values())


def traces() -> Iterator[Document]:
    """An event of each kind of a recorded trace of torch.profiler, between the others."""
    for file in (TESTS / "chrome" / "recorded" / "first-call-2.9.json.gz", _broken()):
        whole = json.loads(gzip.decompress(file.read_bytes()))
        kinds: dict[Any, dict[str, Any]] = {}
        for event in whole["traceEvents"]:
            kinds.setdefault((event["ph"], event.get("cat"), *event.get("args", ())), event)
        others = ",\n".join(map(json.dumps, whole["traceEvents"][:300]))
        for event in kinds.values():
            text, fields = as_json(event)
            yield Document(
                "trace",
                "a.pt.trace.json",
                text,
                fields,
                OF_JSON,
                f"{_TOP}{others},\n",
                "\n]}",
                ",\n",
            )


def _broken() -> Path:
    return TESTS / "chrome" / "recorded" / "broken-2.9.json.gz"


def logs() -> Iterator[Document]:
    """A record of each kind of a log of TORCH_TRACE, between the others."""
    whole = gzip.decompress((SAMPLES / "graph_breaks" / "torch_trace.log.gz").read_bytes()).decode()
    parts = re.split(r"\n(?=V\d)", whole)
    before = "\n".join(part for part in parts[:60] if len(part) < 3_000) + "\n"
    kinds: dict[Any, tuple[str, dict[str, Any], str]] = {}
    for part in parts:
        head, brace, rest = part.partition("{")
        line, end, payload = rest.partition("\n")
        try:
            record = json.loads(brace + line)
        except ValueError:
            continue
        if len(part) < 10_000:
            kinds.setdefault(tuple(record), (head, record, end + payload))
    for head, record, payload in kinds.values():
        text, fields = as_json(record)
        moved = [Field(each.name, each.begin + len(head), each.end + len(head)) for each in fields]
        yield Document(
            "structured log",
            "torch_trace.log",
            f"{head}{text}{payload}",
            moved,
            OF_JSON,
            before,
            "\n",
            "\n",
        )


def timelines() -> Iterator[Input]:
    """Each field of the messages of a timeline, and of a module in it."""
    from tests.ingest.hlo_modules import module
    from tests.ingest.loop_trace import loop
    from tests.ingest.test_records import compiled
    from tests.xspace import devices

    spaces = {
        "loop": compiled(loop(3), 105, "aa").space,
        "tpu": devices.tpu(),
        "gpu": devices.gpu(),
    }
    for name, space in spaces.items():
        whole = message("XSpace").FromString(space.bytes())
        for what, mutant in messages(whole):
            yield _of_timeline("timeline", f"{name}{what}", mutant.SerializeToString())
    for what, mutant in messages(module()):
        carrier = compiled(loop(3), 105, "aa").space
        carrier.hlo(7, "jit_step", mutant.SerializeToString())
        yield _of_timeline("module", what, carrier.bytes())


def _of_timeline(kind: str, what: str, content: bytes) -> Input:
    return Input(kind, what, lambda: {"vm.xplane.pb": content})
