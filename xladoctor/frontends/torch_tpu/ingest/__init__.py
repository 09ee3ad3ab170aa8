"""Readers of what TorchTPU itself writes."""

from xladoctor.frontends.torch_tpu.ingest.console import Console
from xladoctor.frontends.torch_tpu.ingest.eager_launches import EagerLaunches
from xladoctor.ingest.formats import Formats

FORMATS = Formats(
    expected=("what TorchTPU prints: its warnings, and its cache's counts at the end",),
    logs=(Console,),
    log_reader=EagerLaunches,
)
