"""Readers of what TorchTPU itself writes."""

from xladoctor.frontends.torch_tpu.ingest.eager_launches import EagerLaunches
from xladoctor.ingest.formats import Formats

FORMATS = Formats(log_reader=EagerLaunches)
