"""Reports captured from torch_xla 2.9 on CPU, and texts in the forms of older releases and logs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from xladoctor.frontends.torch_xla.ingest.metrics_block import Counter, Metric
from xladoctor.frontends.torch_xla.ingest.metrics_report import (
    MetricsReport,
    NotAMetricsReport,
    ReportSection,
    read_metrics_report,
)

if TYPE_CHECKING:
    pass

REPORTS = Path(__file__).parent / "metrics_reports"


def read(name: str) -> MetricsReport:
    with (REPORTS / name).open(encoding="utf-8", newline="") as file:
        return read_metrics_report(file)


def read_text(text: str) -> MetricsReport:
    return read_metrics_report(text.splitlines(keepends=True))


def only(report: MetricsReport) -> ReportSection:
    (section,) = report.sections
    return section


def metric(section: ReportSection, name: str) -> Metric:
    return next(metric for metric in section.metrics if metric.name == name)


def counters(section: ReportSection) -> dict[str, int]:
    return {counter.name: counter.value for counter in section.counters}


# Reports of torch_xla 2.9


def test_fallbacks() -> None:
    report = read("torch_xla_2.9_fallbacks.txt")
    section = only(report)
    assert (report.complete, report.notes) == (True, ())
    assert (section.step, section.line, section.source) == (None, 1, "")
    # From _xla_metric_data() at the same moment.
    times = [m for m in section.metrics if m.unit == "ns"]
    assert {m.name: (m.total_samples, m.accumulator) for m in times} == {
        "DeviceLockWait": (30, 61_091_192),
        "IrValueTensorToXlaData": (14, 334_374),
        "LazyTracing": (252, 131_690_797),
        "TensorToData": (22, 481_314),
        "UnwrapXlaData": (27, 13_350),
        "WrapXlaData": (12, 470),
        "CompileTime": (9, 437_023_872),
        "ExecuteTime": (12, 37_439_539),
        "TransferFromDeviceTime": (15, 735_316),
        "TransferToDeviceTime": (22, 165_404),
    }
    assert len(section.counters) == 36
    assert section.counters[-1] == Counter("aten::nonzero", 3, 155)
    fallbacks = {k: v for k, v in counters(section).items() if k.startswith("aten::")}
    assert fallbacks == {"aten::_local_scalar_dense": 3, "aten::_unique2": 3, "aten::nonzero": 3}


def test_figures_of_a_metric_in_time_and_in_bytes() -> None:
    section = only(read("torch_xla_2.9_fallbacks.txt"))
    samples = (
        7877080,
        7887936,
        8437012,
        15872316,
        16664923,
        16843918,
        114629646,
        117290082,
        131520959,
    )
    percents = (1, 5, 10, 20, 50, 80, 90, 95, 99)
    assert metric(section, "CompileTime") == Metric(
        "CompileTime",
        9,
        437_023_872,
        "ns",
        24.2713,
        1_178_570_376,
        tuple((p, samples[p * len(samples) // 100]) for p in percents),
        109,
    )
    inbound = metric(section, "InboundData")
    assert (inbound.unit, inbound.total_samples) == ("bytes", 15)
    assert inbound.accumulator == pytest.approx(58_580, abs=0.005 * 1024)
    assert dict(inbound.percentiles)[50] == 2560
    graph = metric(section, "TensorsGraphSize")
    assert (graph.unit, graph.accumulator) == ("none", 219)


def test_several_reports_in_one_file() -> None:
    report = read("torch_xla_2.9_steps.txt")
    assert (report.complete, report.notes) == (True, ())
    assert [(s.step, s.line) for s in report.sections] == [(0, 1), (1, 159), (2, 317)]
    assert [len(s.metrics) for s in report.sections] == [14, 14, 14]
    compile_times = [metric(s, "CompileTime") for s in report.sections]
    assert [m.total_samples for m in compile_times] == [3, 6, 9]
    assert [m.accumulator for m in compile_times] == [142_571_012, 281_742_661, 437_023_872]
    assert [counters(s)["aten::nonzero"] for s in report.sections] == [1, 2, 3]


def test_several_reports_without_headers() -> None:
    text = (REPORTS / "torch_xla_2.9_fallbacks.txt").read_text()
    report = read_text(text + "step 7\n" + text)
    assert [s.line for s in report.sections] == [1, 158]
    assert report.sections[0].counters == only(read_text(text)).counters
    assert len(report.sections[1].metrics) == 14
    assert report.notes == ("lines skipped that are not part of a report: 1",)


def test_nothing_after_clear_all() -> None:
    with pytest.raises(NotAMetricsReport, match=r"in 0 lines; expected 'Metric: <name>'") as caught:
        read("torch_xla_2.9_cleared.txt")
    assert caught.value.line == 0
    assert isinstance(caught.value, ValueError)


def test_short_report_prints_a_requested_fallback_twice() -> None:
    report = read("torch_xla_2.9_short.txt")
    section = only(report)
    assert report.complete
    assert [m.name for m in section.metrics] == ["CompileTime", "ExecuteTime"]
    assert counters(section) == {
        "MarkStep": 6,
        "aten::nonzero": 3,
        "aten::_local_scalar_dense": 3,
        "aten::_unique2": 3,
    }


def test_eager_mode() -> None:
    section = only(read("torch_xla_2.9_eager.txt"))
    assert metric(section, "EagerOpCompileTime").accumulator == 141_078_075
    assert metric(section, "EagerOpExecuteTime").value_rate == 940_836_945
    sample = metric(section, "TensorToData")  # a single sample has no rate
    assert (sample.total_samples, sample.rate, sample.value_rate) == (1, None, None)


# Other releases, and logs


def test_xrt_server() -> None:
    report = read("xrt_server.txt")
    section = only(report)
    assert (report.complete, report.notes) == (True, ())
    compile_time = metric(section, "CompileTime")
    assert (compile_time.accumulator, compile_time.value_rate) == (375_654_651_655, 18_450_018_269)
    assert metric(section, "XrtExecute") == Metric(
        "XrtExecute",
        16452,
        2_879_700_163_004,
        "ns",
        31.0565,
        None,
        (
            (25, 19_764_127),
            (50, 36_661_613),
            (80, 37_583_539),
            (90, 37_825_437),
            (95, 38_045_499),
            (99, 38_283_086),
        ),
        19,
    )
    nothing = metric(section, "XrtExecutorEvict")
    assert nothing == Metric("XrtExecutorEvict", 0, None, "bytes", None, None, (), 26)
    assert counters(section) == {
        "CachedCompile": 16438,
        "XRTAllocateFromTensor_Empty": 269,
        "xla::addcmul": 2_880_000_000,
        "XrtMemoryCompactions": 3,
    }


@pytest.mark.parametrize("name", [path.name for path in sorted(REPORTS.glob("*.txt"))])
def test_corrected_percentiles_ascend(name: str) -> None:
    if name == "torch_xla_2.9_cleared.txt":
        return
    for section in read(name).sections:
        for reported in section.metrics:
            values = [value for _, value in reported.percentiles]
            assert values == sorted(values)


def test_accumulators_called_counters_and_unpadded_microseconds() -> None:
    report = read("release_2019.txt")
    section = only(report)
    assert report.notes == ("lines skipped that are not part of a report: 1",)
    assert {m.name: (m.accumulator, m.unit) for m in section.metrics} == {
        "CompileTime": (6_501_263_438, "ns"),
        "ExecuteTime": (18_449_018_269, "ns"),
        "InboundData": (3_522.56, "bytes"),
        "InputOutputAliasCount": (148, "none"),
    }
    assert metric(section, "ExecuteTime").percentiles == ((1, 68_224_061), (99, 190_081_607))
    assert metric(section, "InboundData").percentiles[-1] == (99, 490_733_568)
    assert counters(section) == {"CreateCompileHandles": 24, "xla::_copy_from": 1976}


def test_hours_and_days_without_rates_and_percentiles() -> None:
    report = read("long_run.txt")
    section = only(report)
    assert (report.complete, section.step) == (True, 9)
    assert [(m.name, m.accumulator, m.percentiles) for m in section.metrics] == [
        ("ExecuteTime", ((3600 + 41 * 60 + 53) * 10**9 + 718_044_000), ()),
        ("CompileTime", 136_799_999_999_999, ()),
        ("TransferToDeviceTime", 2 * 86_400 * 10**9, ()),
        ("OutboundData", 1_649_267_441_664, ()),
    ]
    assert section.metrics[0].rate == 653.9


def test_lines_of_two_workers_are_told_apart() -> None:
    report = read("two_workers.txt")
    first, second = report.sections
    assert (first.source, second.source) == ("10.164.0.5 [0]", "10.164.0.6 [1]")
    assert [m.accumulator for m in first.metrics] == [3_068_889_197, 9_206_667_591]
    assert [m.accumulator for m in second.metrics] == [2_710_504_000, 8_131_512_000]
    assert counters(first) == {"CachedCompile": 40, "aten::nonzero": 20}
    assert counters(second) == {"CachedCompile": 20, "aten::nonzero": 10}
    assert report.complete
    assert report.notes == ("lines skipped that are not part of a report: 2",)


def test_windows_line_ends_log_prefixes_and_no_indentation() -> None:
    report = read("windows_log.txt")
    section = only(report)
    assert report.complete
    assert report.notes == ("lines skipped that are not part of a report: 3",)
    assert [(m.name, m.accumulator, m.line) for m in section.metrics] == [
        ("CompileTime", 5_710_504, 2),
        ("ExecuteTime", 17_131_512, 8),
    ]
    assert counters(section) == {"CachedCompile": 1, "aten::nonzero": 0}


PREFIXES = [
    "I0101 12:00:00.000 123 file.cc:12] ",
    "2024-01-01 00:00:00,123 INFO ",
    "2024-01-01 00:00:00,123 INFO train: ",
    "[worker 0] ",
    "[rank3]:",
    "10.0.0.2 [0] ",
    "[pod/trainer-0/main] ",
    "(train pid=123, ip=10.0.0.1) ",
    "> ",
    "\t",
    "loss 0.25 ***",
]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("name", ["torch_xla_2.9_steps.txt", "xrt_server.txt", "release_2019.txt"])
def test_every_line_behind_a_prefix(name: str, prefix: str) -> None:
    lines = (REPORTS / name).read_text().splitlines()
    plain = read_metrics_report(lines)
    logged = read_metrics_report(prefix + line for line in lines)
    assert [(s.step, s.line, s.metrics, s.counters) for s in logged.sections] == [
        (s.step, s.line, s.metrics, s.counters) for s in plain.sections
    ]
    assert logged.complete


@pytest.mark.parametrize("prefix", PREFIXES)
def test_only_the_first_line_behind_a_prefix(prefix: str) -> None:
    text = (REPORTS / "torch_xla_2.9_fallbacks.txt").read_text()
    report = read_text(prefix + text)
    assert only(report).metrics == only(read_text(text)).metrics


def test_a_log_between_the_lines_changes_nothing() -> None:
    lines = (REPORTS / "torch_xla_2.9_fallbacks.txt").read_text().splitlines()
    log = ["epoch 1 Learning Rate: 0.001", "loss Mean: 3.00", "[12:00:01] TotalSamples: 5", "50%"]
    mixed = read_metrics_report(part for line in lines for part in (line, *log))
    plain = read_metrics_report(lines)
    assert [m.accumulator for m in only(mixed).metrics] == [
        m.accumulator for m in only(plain).metrics
    ]
    assert counters(only(mixed)) == counters(only(plain))
    assert mixed.complete
    assert mixed.notes == (f"lines skipped that are not part of a report: {4 * len(lines)}",)


# Telling a report from other texts


@pytest.mark.parametrize(
    "head",
    [
        "",
        "Best Metric: accuracy\nRate: 0.5\n",
        "Learning Rate: 0.1\nMean: 3\nValue: 5\n",
        '{"Metric": 1, "Counter": 2}',
        "Metric,Counter,Value\n1,2,3\n",
    ],
)
def test_other_texts_are_not_recognized(head: str) -> None:
    with pytest.raises(NotAMetricsReport):
        read_text(head)


PROGRAM = """
import json, torch, torch_xla
import torch_xla.core.xla_model as xm
device = torch_xla.device()
for size in (8, 8, 200, 300):
    a = torch.randn(size, size, device=device)
    b = (a @ a).sum()
    torch_xla.sync()
    torch.nonzero(a > 0).cpu()
    b.item()
torch_xla.sync()
xm.wait_device_ops()
report = torch_xla._XLAC._xla_metrics_report()
names = torch_xla._XLAC._xla_metric_names()
exact = {name: torch_xla._XLAC._xla_metric_data(name)[:2] for name in names}
print(json.dumps([report, exact]))
"""


@pytest.mark.thorough
@pytest.mark.live
@pytest.mark.skipif(not importlib.util.find_spec("torch_xla"), reason="torch_xla is not installed")
def test_the_installed_torch_xla_prints_what_is_read() -> None:
    environment = os.environ | {"PJRT_DEVICE": "CPU"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    text, exact = json.loads(done.stdout.splitlines()[-1])
    report = read_text(text)
    assert report.complete
    section = only(report)
    assert {m.name for m in section.metrics} >= {"CompileTime", "ExecuteTime", "InboundData"}
    for reported in section.metrics:
        samples, accumulator = exact[reported.name]
        assert reported.total_samples == samples
        printed = {"ns": 1e-3, "bytes": 0.005 * 1024**2, "none": 0.005}[reported.unit]
        assert reported.accumulator == pytest.approx(accumulator, abs=printed)
    assert counters(section)["aten::nonzero"] == 4
