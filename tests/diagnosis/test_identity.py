"""Which finding then is which now, for the gate's baseline and for comparisons alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.comparison.runs import compared, told
from tests.gate.made import terms
from tests.support import evidence, finding, location
from xladoctor.comparison.interface import Occurrence
from xladoctor.diagnosis.finding import Finding, Ignored
from xladoctor.diagnosis.identity import Sighting, digest, distinct, same, sightings
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.source_line import code
from xladoctor.diagnosis.suppression import Suppression
from xladoctor.gate import baseline
from xladoctor.gate.judge import judge

READ = "total += loss.item()"
Pairs = set[tuple[int | None, int | None]]


def at(
    line: int | None,
    source: str | None = READ,
    file: str = "train.py",
    function: str = "train",
    rule: str = "XD201",
    op: str | None = None,
    count: int = 40,
) -> Finding:
    """A finding with the fingerprint that the diagnosis gives it; without a line, of the run."""
    subject = op or ""
    if line is None:
        return finding(
            rule,
            locations=[],
            subject=subject,
            count=count,
            per_step=count / 40,
            fingerprint=digest(rule, subject),
        )
    known = code(source) if source else str(line)
    return finding(
        rule,
        locations=[location(file, line, function=function, source=source)],
        subject=subject,
        count=count,
        per_step=count / 40,
        fingerprint=digest(rule, subject, file, function, known),
    )


@dataclass(frozen=True)
class Case:
    """Findings before and after, and which line is which.

    Attributes:
        pairs: line before and line after; 0 for a finding without a line, None for no finding.
    """

    name: str
    then: Sequence[Finding]
    now: Sequence[Finding]
    pairs: Pairs = field(default_factory=set)


OTHER = "print(accuracy)"
CASES = [
    Case("nothing changed", [at(41)], [at(41)], {(41, 41)}),
    Case("line moved", [at(41)], [at(97)], {(41, 97)}),
    Case(
        "formatter run",
        [at(41, "log( 'a',x.item(), )")],
        [at(43, '    log("a", x.item())  # logged')],
        {(41, 43)},
    ),
    Case(
        "file renamed",
        [at(41), at(50, OTHER)],
        [at(41, file="loop.py"), at(50, OTHER, "loop.py")],
        {(41, 41), (50, 50)},
    ),
    Case(
        "file renamed, with a single finding", [at(41)], [at(41, file="src/train.py")], {(41, 41)}
    ),
    Case(
        "file renamed, one line of it fixed and one edited",
        [at(41), at(50, OTHER), at(60, "log(y.item())", function="log")],
        [at(41, file="loop.py"), at(60, "log(y.item(), step)", "loop.py", "log")],
        {(41, 41), (50, None), (60, 60)},
    ),
    Case(
        "file renamed, with a finding more",
        [at(41)],
        [at(41, file="loop.py"), at(42, OTHER, "loop.py")],
        {(41, 41), (None, 42)},
    ),
    Case(
        "folder renamed, with equal lines in two files",
        [at(1, file="a/x.py"), at(2, file="a/y.py")],
        [at(11, file="b/x.py"), at(12, file="b/y.py")],
        {(1, 11), (2, 12)},
    ),
    Case(
        "file renamed to either of two",
        [at(1)],
        [at(2, file="a.py"), at(3, file="b.py")],
        {(1, None), (None, 2), (None, 3)},
    ),
    Case(
        "other file that shares one line of many",
        [at(n, f"f{n}(x.item())") for n in range(1, 5)] + [at(9)],
        [at(n, f"other{n}(y)", "loop.py") for n in range(11, 15)] + [at(19, file="loop.py")],
        {*((n, None) for n in (1, 2, 3, 4, 9)), *((None, n) for n in (11, 12, 13, 14, 19))},
    ),
    Case("file copied", [at(41)], [at(41), at(51, file="copy.py")], {(41, 41), (None, 51)}),
    Case(
        "file copied, then the original edited",
        [at(41)],
        [at(42, "total += loss.mean().item()"), at(51, file="copy.py")],
        {(41, 42), (None, 51)},
    ),
    Case(
        "line moved to a file that had findings",
        [at(41), at(9, OTHER, "data.py")],
        [at(8, file="data.py"), at(9, OTHER, "data.py")],
        {(41, None), (None, 8), (9, 9)},
    ),
    Case(
        "function renamed",
        [at(41), at(42, OTHER)],
        [at(41, function="fit"), at(42, OTHER, function="fit")],
        {(41, 41), (42, 42)},
    ),
    Case(
        "function renamed, and its line occurs more often",
        [at(41)],
        [at(51, function="fit", count=80)],
        {(41, None), (None, 51)},
    ),
    Case("function copied", [at(41)], [at(41), at(51, function="fit")], {(41, 41), (None, 51)}),
    Case(
        "function and file renamed",
        [at(41), at(60, OTHER, function="log")],
        [at(41, file="loop.py", function="fit"), at(60, OTHER, "loop.py", "log")],
        {(41, 41), (60, 60)},
    ),
    Case(
        "line moved to another function, which has findings",
        [at(41), at(60, OTHER, function="log")],
        [at(61, function="log"), at(60, OTHER, function="log")],
        {(41, None), (None, 61), (60, 60)},
    ),
    Case(
        "line moved to another function, from one that keeps findings",
        [at(41), at(42, OTHER)],
        [at(61, function="log"), at(42, OTHER)],
        {(41, None), (None, 61), (42, 42)},
    ),
    Case("two equal lines", [at(41), at(45)], [at(51), at(55)], {(41, 51), (45, 55)}),
    Case(
        "two equal lines, the second removed",
        [at(41, count=40), at(45, count=4)],
        [at(51, count=40)],
        {(41, 51), (45, None)},
    ),
    Case(
        "two equal lines, the first removed",
        [at(41, count=4), at(45, count=40)],
        [at(51, count=40)],
        {(41, None), (45, 51)},
    ),
    Case("two equal lines, one of them added", [at(41)], [at(41), at(45)], {(41, 41), (None, 45)}),
    Case("line edited", [at(41)], [at(43, "total += loss.detach().item()")], {(41, 43)}),
    Case(
        "line edited beyond recognition",
        [at(41)],
        [at(43, "metrics.append(out.tolist())")],
        {(41, None), (None, 43)},
    ),
    Case(
        "line edited, another one added",
        [at(41)],
        [at(43, "total += a.item()"), at(44, "total += b.item()")],
        {(41, None), (None, 43), (None, 44)},
    ),
    Case(
        "line added beside the known one",
        [at(41)],
        [at(41), at(43, "total += a.item()")],
        {(41, 41), (None, 43)},
    ),
    Case(
        "line edited in another function",
        [at(41)],
        [at(43, "total += a.item()", function="log")],
        {(41, None), (None, 43)},
    ),
    Case("line that was not read this time", [at(41)], [at(43, None)], {(41, 43)}),
    Case("line that was never read moved", [at(41, None)], [at(43, None)], {(41, 43)}),
    Case(
        "same line, another operator",
        [at(41, op="aten::nonzero")],
        [at(41, op="aten::unique")],
        {(41, None), (None, 41)},
    ),
    Case(
        "edited line, another operator",
        [at(41, "y = x.nonzero()", op="aten::nonzero")],
        [at(41, "y = x.unique()", op="aten::unique")],
        {(41, None), (None, 41)},
    ),
    Case(
        "same operator in a renamed file",
        [at(41, op="aten::nonzero"), at(42, op="aten::unique")],
        [at(51, file="a.py", op="aten::unique")],
        {(41, None), (42, 51)},
    ),
    Case("same line, another rule", [at(41)], [at(41, rule="XD202")], {(41, None), (None, 41)}),
    Case("run that names no line", [at(41)], [at(None)], {(41, 0)}),
    Case(
        "operator that is named with its line now",
        [at(None, op="aten::nonzero")],
        [at(41, op="aten::nonzero")],
        {(0, 41)},
    ),
    Case("finding of the whole run", [at(None, rule="XD701")], [at(None, rule="XD701")], {(0, 0)}),
]


NOTHING = evidence({})


def run(findings: Sequence[Finding], ignored: Sequence[Ignored] = ()) -> Diagnosis:
    return told(distinct(list(findings)), ignored=ignored)


def line_of(finding: Finding | None) -> int | None:
    if finding is None:
        return None
    return finding.locations[0].line if finding.locations else 0


def script(then: Diagnosis) -> baseline.Script:
    """The baseline written from a run."""
    diagnosis = then
    return baseline.Script(
        steps=40,
        findings=[baseline.entry(each, "warning", diagnosis.run) for each in diagnosis.findings],
    )


def in_gate(then: Diagnosis, now: Diagnosis) -> Pairs:
    """How the gate pairs them, by judgement and entry."""
    kept, before = script(then), {each.fingerprint: each for each in then.findings}
    entries = baseline.known(kept, now)
    outcome = judge(now, terms(baseline=kept))
    after = {each.fingerprint: each for each in now.findings}
    pairs: Pairs = {(line_of(before[each.fingerprint]), None) for each in outcome.gone}
    for judgement in outcome.judgements:
        known = entries.get(judgement.fingerprint)
        assert (judgement.state == "new") == (known is None)
        pairs.add(
            (
                line_of(before[known.fingerprint]) if known else None,
                line_of(after[judgement.fingerprint]),
            )
        )
    return pairs


def where(occurrence: Occurrence | None) -> int | None:
    if occurrence is None:
        return None
    return occurrence.location.line if occurrence.location else 0


def in_comparison(then: Diagnosis, now: Diagnosis) -> Pairs:
    """How a comparison pairs them."""
    pairs: Pairs = set()
    for change in compared(then, now).findings:
        assert (change.state == "new") == (change.a is None)
        assert (change.state == "fixed") == (change.b is None)
        pairs.add((where(change.a), where(change.b)))
    return pairs


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gate_and_comparison_agree(case: Case) -> None:
    then, now = run(case.then), run(case.now)
    assert in_gate(then, now) == case.pairs
    assert in_comparison(then, now) == case.pairs
    assert in_comparison(now, then) == {(b, a) for a, b in case.pairs}


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ([at(41)], at(43, READ + "  # xladoctor: ignore[XD201] logged")),
        ([at(41)], at(43, READ + "  # xladoctor: ignore[XD201] logged", file="loop.py")),
        ([at(41)], at(43, "total += float(loss.item())  # xladoctor: ignore[XD201] logged")),
        ([at(41, op="aten::x")], at(43, "x()  # xladoctor: ignore[XD201]", op="aten::x")),
    ],
    ids=["moved", "in a renamed file", "edited", "another operator's line"],
)
def test_suppressed_finding_is_the_one_that_was_there(then: list[Finding], now: Finding) -> None:
    reported, ignored = Suppression(NOTHING, {}).split([now])
    was, hushed = run(then), run(reported, ignored)
    expected = now.subject == ""
    assert (judge(hushed, terms(baseline=script(was))).gone == []) == expected
    (change,) = compared(was, hushed).findings
    assert (change.state == "same") == expected


def test_line_beside_a_suppressed_equal_one_is_new() -> None:
    first, second = distinct([at(41, READ + "  # xladoctor: ignore[XD201]"), at(45)])
    reported, ignored = Suppression(NOTHING, {}).split([first, second])
    was, now = run([at(41)]), run(reported, ignored)
    assert in_gate(was, now) == {(None, 45)}
    assert [change.state for change in compared(was, now).findings] == ["new", "same"]


# What holds for any two lists


def seen(fingerprint: str, source: str, file: str, function: str, count: int) -> Sighting:
    return Sighting(fingerprint, "XD201", "", file, function, source, count, None)


lists = st.lists(
    st.builds(
        seen,
        st.sampled_from("abcdef"),
        st.sampled_from(["x.item()", "y.item()", "z", ""]),
        st.sampled_from(["a.py", "b.py", "c.py"]),
        st.sampled_from(["f", "g"]),
        st.integers(1, 2),
    ),
    max_size=6,
    unique_by=lambda each: each.fingerprint,
)


@given(lists, lists)
def test_exchanging_then_and_now_turns_the_pairs_round(
    then: list[Sighting], now: list[Sighting]
) -> None:
    assert same(then, now) == {b: a for a, b in same(now, then).items()}


@given(lists, lists)
def test_no_finding_is_that_of_two(then: list[Sighting], now: list[Sighting]) -> None:
    pairs = same(then, now)
    assert len(set(pairs.values())) == len(pairs)
    assert set(pairs) <= {each.fingerprint for each in now}
    assert set(pairs.values()) <= {each.fingerprint for each in then}


@given(lists)
def test_every_finding_is_itself(now: list[Sighting]) -> None:
    assert same(now, now) == {each.fingerprint: each.fingerprint for each in now}


def test_baseline_tells_operators_apart_by_their_fingerprints() -> None:
    then = run([at(41, op="aten::nonzero")])
    (entry,) = script(then).findings
    (full,) = sightings(then)
    assert entry.sighting == replace(full, subject=None)
