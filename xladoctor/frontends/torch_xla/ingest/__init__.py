"""Readers of what torch_xla itself writes: metrics reports and analysis logs."""

from xladoctor.frontends.torch_xla.ingest.console_text import TorchXlaText
from xladoctor.frontends.torch_xla.ingest.neuron_log import NeuronLog
from xladoctor.frontends.torch_xla.ingest.run_files import read_log, read_metrics
from xladoctor.ingest.formats import Formats, other_format

#: Files that are recognised but not read, as they do not show costs.
_NOT_READ = (
    other_format(
        r"NEURON_CC_WRAPPER|\bneuronx?-cc\b|^\.+\nCompiler status PASS",
        "the log of AWS Neuron's compiler, which names files, but not why a graph is new",
        "give torch_xla's metrics report: print(torch_xla.debug.metrics.metrics_report())\n"
        "or its analysis log, which names lines: PT_XLA_DEBUG_LEVEL=2 PT_XLA_DEBUG_FILE=debug.log",
    ),
)

FORMATS = Formats(
    expected=(
        "a metrics report (torch_xla.debug.metrics.metrics_report(), XLA_METRICS_FILE)",
        "an analysis log (PT_XLA_DEBUG_FILE), or a console log with either",
    ),
    logs=(NeuronLog,),
    text=TorchXlaText,
    graph_log=read_log,
    report=read_metrics,
    not_read=_NOT_READ,
)
