"""Reads what AWS Neuron logs by itself of what slows a program down.

``torch-neuronx`` names the folder of its cache at the start; ``torch.neuron``, for the first
generation of devices, and without torch_xla, names the parts that run on the CPU::

    2024-03-02 09:00:00.000123:  17  INFO ||NEURON_CACHE||: Compile cache path: /tmp/tmpab12cd34
    WARNING:Neuron:torch.neuron.trace failed on _NeuronGraph$8; falling back to native python …
    INFO:Neuron:There are 3 ops of 1 different types in the TorchScript that are not compiled by
    neuron-cc: aten::embedding, (For more information see …)
"""

from __future__ import annotations

import re

from xladoctor.ingest.warning_log import WarningLog

#: Folders that Python's ``tempfile`` makes anew at each start.
_TEMPORARY = re.compile(r"(?:/tmp|/var/tmp|/usr/tmp)/tmp[a-z0-9_]{8}\b")
_LEFT = re.compile(r"There are \d{1,9} ops .{0,200}not compiled by neuron-cc: ([\w:, ]{1,500})")


class NeuronLog(WarningLog):
    """Collects the messages of one process."""

    NAME = "Neuron's messages"
    LACKING = "messages of AWS Neuron, none of which shows what slows the program down"
    MARKS = ("NEURON_CACHE||: Compile cache path: ", "torch.neuron.trace failed on ", "ops of ")
    frontend = "torch_xla"

    def _cache(self, match: re.Match[str]) -> None:
        if _TEMPORARY.match(match[1]):
            self.warn("Neuron's cache is temporary", match[1])

    def _on_host(self, match: re.Match[str]) -> None:
        self.frontend = "torch"  # this package is without torch_xla
        self.warn("Neuron runs on the CPU", match[1].strip(" ,"))

    FORMS = (
        (re.compile(r"NEURON_CACHE\|\|: Compile cache path: (\S{1,500})"), _cache),
        (re.compile(r"torch\.neuron\.trace failed on (\S{1,200}?);? "), _on_host),
        (_LEFT, _on_host),
    )
