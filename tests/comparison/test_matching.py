"""Which finding of one run is which of the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support import finding, location
from xladoctor.comparison.matching import matched
from xladoctor.diagnosis.interface import Finding


def at(
    fingerprint: str, source: str | None = "x = y.item()", file: str = "train.py",
    function: str = "train", rule: str = "XD201", op: str | None = None,
) -> Finding:  # fmt: skip
    place = location(file, 41, function=function, source=source)
    return finding(rule, fingerprint=fingerprint, locations=[place],
                   cause={"op": op} if op else {})  # fmt: skip


def nowhere(rule: str = "XD201") -> Finding:
    return finding(rule, fingerprint=f"{rule}-whole", locations=[])


findings = st.lists(
    st.builds(at, st.sampled_from("abcdef"), st.sampled_from(["x.item()", "y.item()", None]),
              st.sampled_from(["a.py", "b.py"]), st.sampled_from(["f", "g"]),
              st.sampled_from(["XD101", "XD201"])),
    max_size=5, unique_by=lambda one: one.fingerprint,
)  # fmt: skip


@given(findings, findings)
def test_each_finding_comes_once_and_pairs_are_of_one_rule(
    a: list[Finding], b: list[Finding]
) -> None:
    pairs = matched(a, b)
    assert sorted(one.fingerprint for one, _ in pairs if one) == sorted(f.fingerprint for f in a)
    assert sorted(one.fingerprint for _, one in pairs if one) == sorted(f.fingerprint for f in b)
    assert all(one.rule == other.rule for one, other in pairs if one and other)


@given(findings, findings)
def test_exchanging_the_runs_exchanges_the_pairs(a: list[Finding], b: list[Finding]) -> None:
    def names(pairs: list[tuple[Finding | None, Finding | None]]) -> set[tuple[str, str]]:
        return {(x.fingerprint if x else "", y.fingerprint if y else "") for x, y in pairs}

    assert names(matched(a, b)) == {(y, x) for x, y in names(matched(b, a))}


@given(findings)
def test_run_has_its_own_findings(a: list[Finding]) -> None:
    assert all(one is other for one, other in matched(a, a))


def test_renamed_file() -> None:
    a, b = at("1", file="old.py"), at("2", file="new.py")
    assert matched([a], [b]) == [(a, b)]


def test_edited_line() -> None:
    a, b = at("1"), at("2", source="x += float(y)")
    assert matched([a], [b]) == [(a, b)]


def test_line_whose_code_one_run_does_not_know() -> None:
    a, b = at("1"), at("2", source=None)
    assert matched([a], [b]) == [(a, b)]


def test_second_finding_in_the_same_function_is_new() -> None:
    a, b, c = at("1"), at("1"), at("2", source="log(z.item())")
    assert matched([a], [b, c]) == [(a, b), (None, c)]


def test_other_function_rule_or_operator_is_another_finding() -> None:
    a = at("1", source="a()", op="aten::x")
    for b in (at("2", source="b()", function="test", op="aten::x"),
              at("2", source="a()", rule="XD203", op="aten::x"),
              at("2", source="a()", op="aten::y")):  # fmt: skip
        assert matched([a], [b]) == [(a, None), (None, b)]


def test_finding_without_a_line_is_that_of_the_rule() -> None:
    assert matched([nowhere()], [at("1")]) == [(nowhere(), at("1"))]
    assert matched([nowhere()], [at("1", rule="XD203")])[0] == (nowhere(), None)


def test_which_of_two_lines_cannot_be_told() -> None:
    a = [at("1", function="f"), at("2", function="g", source="z")]
    assert matched(a, [nowhere()]) == [(a[0], None), (a[1], None), (None, nowhere())]
