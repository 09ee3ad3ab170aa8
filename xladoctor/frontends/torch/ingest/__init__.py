"""Readers of what PyTorch itself writes about its compilations."""

from xladoctor.frontends.torch.ingest.break_report import BreakReport
from xladoctor.frontends.torch.ingest.not_read import NOT_READ
from xladoctor.frontends.torch.ingest.structured_log import FRONTEND, read_structured_log
from xladoctor.frontends.torch.ingest.structured_records import is_structured_log, process_id
from xladoctor.frontends.torch.ingest.text_log import TextLog
from xladoctor.frontends.torch.ingest.warnings import TorchWarnings
from xladoctor.ingest.formats import CompilerFile, Formats

FORMATS = Formats(
    expected=('a compiler\'s log (TORCH_TRACE, or TORCH_LOGS="recompiles,graph_breaks")',),
    logs=(TextLog, BreakReport, TorchWarnings),
    compiler_files=(CompilerFile(FRONTEND, is_structured_log, process_id, read_structured_log),),
    not_read=NOT_READ,
)
