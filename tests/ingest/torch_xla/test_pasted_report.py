"""Reports as people paste them: notes behind values, line ends lost, the beginning cut off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.frontends.torch_xla.ingest.metrics_report import MetricsReport, read_metrics_report

#: As torch_xla 2.9 prints it.
REPORT = """Metric: CompileTime
  TotalSamples: 26
  Accumulator: 941ms063.150us
  ValueRate: 902ms903.170us / second
  Rate: 24.9181 / second
  Percentiles: 1%=028ms712.119us; 50%=035ms308.566us; 99%=056ms489.357us
Metric: ExecuteTime
  TotalSamples: 47
  Accumulator: 085ms145.166us
  ValueRate: 093ms720.528us / second
  Rate: 51.1816 / second
  Percentiles: 1%=015.428us; 50%=070.487us; 99%=082ms088.753us
Counter: MarkStep
  Value: 36
Counter: aten::_local_scalar_dense
  Value: 12
"""


def read(text: str) -> MetricsReport:
    return read_metrics_report(text.splitlines(keepends=True))


def says_the_same(text: str) -> bool:
    """Whether a text has the figures of the report, wherever its lines are."""

    def figures(report: MetricsReport) -> list[object]:
        (section,) = report.sections
        metrics = [
            (m.name, m.total_samples, m.accumulator, m.rate, m.value_rate, m.percentiles)
            for m in section.metrics
        ]
        return [metrics, [(c.name, c.value) for c in section.counters]]

    return figures(read(text)) == figures(read(REPORT))


@pytest.mark.parametrize(
    "note",
    ["   <<<< one graph each step", " <-- !!!", "  # why?", " (too many)", "\t← here", " // 5"],
)
def test_notes_behind_values_and_names_are_no_part_of_them(note: str) -> None:
    assert says_the_same("".join(f"{line}{note}\n" for line in REPORT.splitlines()))


@given(st.data())
def test_note_behind_any_line(data: st.DataObject) -> None:
    lines = REPORT.splitlines()
    line = data.draw(st.integers(0, len(lines) - 1))
    words = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters=";%="))
    lines[line] += f"  <- {data.draw(words)}"
    assert says_the_same("\n".join(lines) + "\n")


@pytest.mark.parametrize("marked", ["**{}**", "`{}`", "  *{}*"])
def test_emphasis_of_a_chat_is_no_part_of_a_line(marked: str) -> None:
    lines = REPORT.splitlines()
    lines[1] = marked.format(lines[1].strip())
    assert says_the_same("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    "text",
    [
        repr(REPORT),
        f"Out[3]: {REPORT!r}\n",
        " ".join(REPORT.split()),
        REPORT.replace("\n", " ") + "\nepoch 2\n",
    ],
    ids=["repr", "cell", "one line", "joined"],
)
def test_lost_line_ends_are_found_again(text: str) -> None:
    assert says_the_same(text)


@pytest.mark.parametrize("cut", range(1, len("Metric: Comp")))
def test_first_letters_that_are_cut_off_are_known_by_the_rest(cut: int) -> None:
    assert says_the_same(REPORT[cut:])


@pytest.mark.parametrize("cut", range(1, len("Counter: Mark")))
def test_counter_that_is_cut_off(cut: int) -> None:
    begin = REPORT.index("Counter: MarkStep")
    (section,) = read(REPORT[begin + cut :]).sections
    assert [(c.name, c.value) for c in section.counters] == [
        ("MarkStep", 36),
        ("aten::_local_scalar_dense", 12),
    ]


def test_metric_without_a_name_is_left_out_and_said_to_be() -> None:
    report = read(REPORT.split("\n", maxsplit=1)[1])
    assert [metric.name for metric in report.sections[0].metrics] == ["ExecuteTime"]
    assert report.notes[0] == "line 1: a metric whose name is cut off; left out"


def test_a_logs_own_values_are_no_metric() -> None:
    report = read("Learning rate\nValue: 7\n" + REPORT)
    assert says_the_same("Learning rate\nValue: 7\n" + REPORT)
    assert report.notes == ("lines skipped that are not part of a report: 2",)
