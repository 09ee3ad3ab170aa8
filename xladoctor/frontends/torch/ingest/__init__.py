"""Readers of what PyTorch itself writes about its compilations."""

from xladoctor.frontends.torch.ingest.break_report import BreakReport
from xladoctor.frontends.torch.ingest.structured_log import FRONTEND, read_structured_log
from xladoctor.frontends.torch.ingest.structured_records import is_structured_log, process_id
from xladoctor.frontends.torch.ingest.text_log import TextLog
from xladoctor.frontends.torch.ingest.warnings import TorchWarnings
from xladoctor.ingest.formats import CompilerFile, Formats, other_format
from xladoctor.ingest.other_formats import RECORD

#: Files that are recognised but not read, as they do not show costs.
_NOT_READ = (
    other_format(
        r"\btlparse\b|<title>\s*(?:Dynamo|tlparse)|dynamo_output_graph",
        "a page of tlparse, made of a log that has more",
        "give that log itself, the file in the folder of TORCH_TRACE: xladoctor analyze"
        f" dedicated_log_torch_trace_….log\nor record the program: {RECORD}",
    ),
    other_format(
        r"Self C(?:PU|UDA) %|Self CPU time total:|CPU total %.{0,1000}# of Calls",
        "a table of PyTorch's profiler (key_averages), which has sums and no order of events",
        'give its trace: profiler.export_chrome_trace("trace.json"); xladoctor analyze trace.json\n'
        f"or record the program: {RECORD}",
    ),
    other_format(
        r"^Collecting environment information|^PyTorch version: ",
        "a description of an environment",
        "to check the installation: xladoctor env\n"
        f"or record the program, which names lines: {RECORD}",
    ),
)

FORMATS = Formats(
    expected=('a compiler\'s log (TORCH_TRACE, or TORCH_LOGS="recompiles,graph_breaks")',),
    logs=(TextLog, BreakReport, TorchWarnings),
    compiler_files=(CompilerFile(FRONTEND, is_structured_log, process_id, read_structured_log),),
    not_read=_NOT_READ,
)
