"""Files of torch_xla programs that are recognised but not read, as they do not show costs."""

from __future__ import annotations

from xladoctor.ingest.formats import other_format

NOT_READ = (
    other_format(
        r"NEURON_CC_WRAPPER|\bneuronx?-cc\b|^\.+\nCompiler status PASS",
        "the log of AWS Neuron's compiler, which names files, but not why a graph is new",
        "give torch_xla's metrics report: print(torch_xla.debug.metrics.metrics_report())\n"
        "or its analysis log, which names lines: PT_XLA_DEBUG_LEVEL=2 PT_XLA_DEBUG_FILE=debug.log",
    ),
)
