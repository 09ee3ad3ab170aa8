"""Readers of what TorchTPU itself writes."""

from xladoctor.frontends.torch_tpu.ingest.console import Console
from xladoctor.frontends.torch_tpu.ingest.launch_records import LaunchRecords
from xladoctor.ingest.formats import Formats

FORMATS = Formats(
    expected=("what TorchTPU prints: its warnings, and its cache's counts at the end",),
    logs=(Console,),
    records=LaunchRecords,
)
