"""Readers of what TorchTPU itself writes."""

from xladoctor.frontends.torch_tpu.ingest.launch_records import LaunchRecords
from xladoctor.ingest.formats import Formats

FORMATS = Formats(records=LaunchRecords)
