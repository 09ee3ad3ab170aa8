"""What a second start compiled, and why: each part of a key, what was not kept, folders."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

from tests.report.snapshots import assert_as_before
from xladoctor.cache_keys.compare import CacheComparison, compare
from xladoctor.cache_keys.lookup import Lookup, Part, Start
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.report import cache as report
from xladoctor.report.interface import Style

SNAPSHOTS = Path(__file__).parent / "snapshots"
OPTIONS = "num_replicas: 1\nxla_backend_optimization_level: 3\nxla_gpu_kernel_cache_file: {}"
PARTS = {
    "jax_lib version": "0.10.2",
    "XLA flags": "--xla_a=1\n--xla_b",
    "compile_options": OPTIONS.format("/a"),
    "accelerator_config": "1 x cpu",
}


def part(text: str | None) -> Part:
    return Part(str(text), text)


def lookup(name: str = "jit_step", outcome: str = "kept", **changes: object) -> Lookup:
    parts = {each: part(text) for each, text in PARTS.items()}
    parts |= {NAMED[key]: part(str(value)) for key, value in changes.items() if key in NAMED}
    fields = {key: value for key, value in changes.items() if key not in NAMED}
    made = Lookup(
        name=name,
        key="",
        outcome=outcome,
        reason=None,
        detail=None,
        folder="/cache",
        compile_s=None if outcome == "hit" else 2.0,
        read_s=0.01,
        place=("train.py", 18),
        computation="c0",
        parts=parts,
    )
    if fields.pop("keyless", False):
        return replace(made, parts={}, computation="", **fields)  # type: ignore[arg-type]
    made = replace(made, **fields)  # type: ignore[arg-type]
    digests = "".join(each.digest for each in made.parts.values())
    return made if made.key else replace(made, key=f"{name}-{made.computation}-{digests}")


NAMED = {
    "jaxlib": "jax_lib version",
    "flags": "XLA flags",
    "options": "compile_options",
    "devices": "accelerator_config",
}


def start(label: str, *lookups: Lookup) -> Start:
    return Start(label, "jax", lookups, lambda file: file)


def compared(was: Lookup | None, now: Lookup) -> CacheComparison:
    before = start("A", *[was] if was else [])
    return compare(before, start("B", now), vocabulary("jax").own_files)


def changes(was: Lookup, now: Lookup) -> list[tuple[str, str | None, str | None, str | None]]:
    (miss,) = compared(was, now).misses
    assert miss.why == "key"
    return [(each.part, each.field, each.was, each.now) for each in miss.changes]


def test_each_flag_that_differs_is_named_with_both_values() -> None:
    found = changes(lookup(), lookup(flags="--xla_a=2\n--xla_c=x"))
    assert found == [
        ("XLA flags", "--xla_a", "1", "2"),
        ("XLA flags", "--xla_b", "", None),
        ("XLA flags", "--xla_c", None, "x"),
    ]


def test_an_option_that_a_flag_sets_is_not_named_twice() -> None:
    options = OPTIONS.format("/a").replace("num_replicas: 1", "num_replicas: 1\nxla_a: 2")
    found = changes(lookup(), lookup(flags="--xla_a=2\n--xla_b", options=options))
    assert [name for _, name, _, _ in found] == ["--xla_a"]


def test_versions_and_devices_are_whole_texts() -> None:
    found = changes(lookup(), lookup(jaxlib="0.12.0", devices="8 x TPU v5e"))
    assert found == [
        ("jax_lib version", None, "0.10.2", "0.12.0"),
        ("accelerator_config", None, "1 x cpu", "8 x TPU v5e"),
    ]


def test_a_graph_whose_text_was_not_kept_differs_somewhere() -> None:
    (miss,) = compared(lookup(), lookup(computation="c1")).misses
    assert [(each.part, each.difference) for each in miss.changes] == [("computation", None)]


def test_a_graph_is_compared_with_the_nearest_of_its_name() -> None:
    other = lookup(computation="c1", jaxlib="0.1")
    near = lookup(computation="c2")
    (miss,) = compare(start("A", other, near), start("B", lookup(computation="c3")), "(?!)").misses
    assert miss.earlier is near


def test_the_same_key_was_not_kept_is_elsewhere_or_gone() -> None:
    short = lookup(outcome="not kept", reason="short", detail="1.0")
    assert [each.why for each in compared(short, lookup()).misses] == ["not kept"]
    assert [each.why for each in compared(lookup(folder="/b"), lookup()).misses] == ["folder"]
    assert [each.why for each in compared(lookup(), lookup()).misses] == ["gone"]
    (new,) = compared(None, lookup()).misses
    assert new.why == "new"
    assert compared(lookup(), lookup(outcome="hit")).misses == ()


def test_what_is_new_could_not_be_spared() -> None:
    assert not compared(None, lookup()).avoidable
    assert compared(lookup(), lookup()).avoidable


def everything() -> CacheComparison:
    before = [
        lookup(),
        lookup("jit_init", jaxlib="0.10.1"),
        lookup("jit_eval", outcome="not kept", reason="short", detail="1.0"),
        lookup("jit_loss", folder="/other"),
        lookup("jit_norm"),
        lookup("jit_grad"),
    ]
    after = [
        lookup(options=OPTIONS.format("/b"), compile_s=31.0),
        lookup("jit_init", place=None),
        lookup("jit_eval", outcome="not kept", reason="short", detail="1.0", compile_s=0.6),
        lookup("jit_loss"),
        lookup("jit_norm", outcome="not kept", reason="damaged", detail="OSError: read"),
        lookup("jit_grad"),
        lookup("bypassed", outcome="not kept", reason="bypass", keyless=True),
        lookup("jit_new", outcome="not kept", reason="callbacks"),
        lookup("jit_found", outcome="hit"),
    ]
    return compare(start("A", *before), start("B", *after), "(?!)")


def test_report_is_as_it_was() -> None:
    comparison, output = everything(), io.StringIO()
    report.render([comparison.before, comparison.after], [comparison], 0, output, Style(80))
    assert_as_before(SNAPSHOTS / "report.txt", output.getvalue())


def test_json_is_as_it_was() -> None:
    comparison = everything()
    content = report.record([comparison.before, comparison.after], [comparison])
    for each in content["starts"]:
        for found in each["lookups"]:
            found["key"] = ""
    for each in content["misses"]:
        each["lookup"]["key"] = ""
    assert_as_before(SNAPSHOTS / "report.json", json.dumps(content, indent=1) + "\n")
