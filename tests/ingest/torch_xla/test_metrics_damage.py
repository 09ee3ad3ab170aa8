"""Metrics reports that are cut off or damaged, and other texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.torch_xla.test_metrics_report import (
    REPORTS,
    counters,
    only,
    read,
    read_text,
)
from xladoctor.frontends.torch_xla.ingest.metrics_block import Counter, Metric
from xladoctor.frontends.torch_xla.ingest.metrics_report import (
    NotAMetricsReport,
    ReportSection,
    read_metrics_report,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_pasted_and_cut() -> None:
    report = read("pasted_cut.txt")
    section = only(report)
    assert not report.complete
    assert report.notes == (
        "line 6: unreadable percentile in metric CompileTime",
        "line 14: the text ends in this line; its end may be missing",
        "line 14: cut off inside metric ExecuteTime",
        "lines skipped that are not part of a report: 3",
    )
    first, last = section.metrics
    assert (first.accumulator, first.line) == (158_028_309_014, 3)
    assert first.percentiles == ((1, 31_571_968), (5, 32_000_000))
    assert (last.total_samples, last.accumulator) == (20, None)
    assert counters(section) == {"xla::addmm": 2, "aten::_local_scalar_dense": 12}


def test_a_report_cut_off_before_the_next_one() -> None:
    text = (
        "[MetricsData; step=1]\nMetric: CompileTime\n  TotalSamples: 4\n  Accumu\n"
        "[MetricsData; step=2]\nMetric: CompileTime\n  TotalSamples: 5\n  Accumulator: 1.00\n"
        "  Percentiles: 50%=1.00; 99%=1.00\n[MetricsData; step=3]\n"
    )
    report = read_text(text)
    assert not report.complete
    assert [(s.step, s.metrics[0].total_samples) for s in report.sections] == [(1, 4), (2, 5)]
    assert report.notes == (
        "line 3: cut off inside metric CompileTime",
        "line 10: nothing below the header of step 3; left out",
        "lines skipped that are not part of a report: 1",
    )


def test_a_header_alone_is_an_empty_report() -> None:
    report = read_text("[MetricsData; step=9]\n\n\n")
    assert report.sections == (ReportSection(9, 1, "", (), ()),)


def last_line(item: Metric | Counter) -> int:
    """Line of the last figure, as torch_xla 2.9 prints them: rates only of two samples or more."""
    if isinstance(item, Counter):
        return item.line + 1
    return item.line + (3 if item.total_samples == 1 else 5)


@settings(deadline=None)
@given(st.data())
def test_a_text_cut_anywhere_gives_what_it_has_in_full(data: st.DataObject) -> None:
    names = ["torch_xla_2.9_steps.txt", "torch_xla_2.9_eager.txt", "torch_xla_2.9_fallbacks.txt"]
    full = (REPORTS / data.draw(st.sampled_from(names))).read_text()
    cut = full[: data.draw(st.integers(0, len(full)))]
    try:
        figures = [
            (s.line, item) for s in read_text(cut).sections for item in s.metrics + s.counters
        ]
    except NotAMetricsReport:
        figures = []
    ended = cut.count("\n")
    expected = [
        (s.line, item)
        for s in read_text(full).sections
        for item in s.metrics + s.counters
        if last_line(item) <= ended
    ]
    assert [entry for entry in figures if last_line(entry[1]) <= ended] == expected
    assert len(figures) <= len(expected) + 1


def test_every_cut_of_a_report_is_noticed_inside_a_metric() -> None:
    full = (REPORTS / "torch_xla_2.9_fallbacks.txt").read_text()
    begin = full.index("Metric: CompileTime\n")
    end = full.index("Metric: ExecuteTime\n")
    for position in range(begin + len("Metric: C"), end):
        report = read_text(full[:position])
        assert not report.complete, full[position - 20 : position]
        compile_times = [m for m in only(report).metrics if m.name == "CompileTime"]
        assert all(m.accumulator in (None, 437_023_872) for m in compile_times)
    assert read_text(full[:end]).complete


WORDS = st.sampled_from(
    [
        "Metric: ",
        "Counter: ",
        "CompileTime",
        "aten::nonzero",
        "\n",
        "\r\n",
        "  ",
        "TotalSamples: ",
        "Accumulator: ",
        "Value: ",
        "Rate: ",
        "ValueRate: ",
        " / second",
        "Percentiles: ",
        "1%=",
        "; ",
        "Mean: ",
        "[MetricsData; step=9]",
        "006ms710.504us",
        "468.00MB",
        "3.00",
        "nanB",
        "12",
        "-",
        "9" * 400,
        "[0] ",
        "10.0.0.1 ",
        "I0101 file.cc:12] ",
        "٣",
        "e+06",
        "inf",
        "0000nanus",
    ]
)


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(WORDS, max_size=60).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        report = read_text(text)
    except NotAMetricsReport:
        return
    assert report.sections


def test_a_long_line_is_passed_over() -> None:
    report = read_text("Metric: " + "x" * 70_000 + "\nCounter: MarkStep\n  Value: 1\n")
    assert counters(only(report)) == {"MarkStep": 1}


def test_many_reports_are_read_in_bounded_memory() -> None:
    percentiles = "; ".join(f"{p}%=4.00B" for p in range(100))

    def lines() -> Iterator[str]:
        for step in range(6_000):
            yield f"[MetricsData; step={step}]"
            yield from ("Metric: InboundData", "TotalSamples: 1", "Accumulator: 4.00B")
            yield f"Percentiles: {percentiles}"

    report = read_metrics_report(lines())
    assert [s.step for s in report.sections[-2:]] == [5998, 5999]
    kept = len(report.sections)
    assert 4_000 < kept < 5_000
    assert report.notes == (f"older sections left out: {6_000 - kept}; kept: {kept}",)
    assert not report.complete


def test_notes_are_bounded() -> None:
    report = read_text("Metric: A\n  TotalSamples: 1\n" * 1000)
    assert len(report.notes) == 21
    assert report.notes[-1] == "and 980 more places like these"
