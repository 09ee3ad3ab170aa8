"""Readers of what TorchTPU itself writes."""

from xladoctor.frontends.torch_tpu.ingest.console import ConsoleLog
from xladoctor.frontends.torch_tpu.ingest.launch_records import LaunchRecords
from xladoctor.ingest.formats import Formats

FORMATS = Formats(
    expected=("what TorchTPU prints to the console (TF_CPP_MIN_LOG_LEVEL=0)",),
    logs=(ConsoleLog,),
    records=LaunchRecords,
)
