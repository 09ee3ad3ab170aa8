"""Readers of what torch_xla itself writes: metrics reports and analysis logs."""

from xladoctor.frontends.torch_xla.ingest.console_text import TorchXlaText
from xladoctor.frontends.torch_xla.ingest.neuron_log import NeuronLog
from xladoctor.frontends.torch_xla.ingest.not_read import NOT_READ
from xladoctor.frontends.torch_xla.ingest.run_files import read_log, read_metrics
from xladoctor.ingest.formats import Formats

FORMATS = Formats(
    expected=(
        "a metrics report (torch_xla.debug.metrics.metrics_report(), XLA_METRICS_FILE)",
        "an analysis log (PT_XLA_DEBUG_FILE), or a console log with either",
    ),
    logs=(NeuronLog,),
    text=TorchXlaText,
    graph_log=read_log,
    report=read_metrics,
    not_read=NOT_READ,
)
