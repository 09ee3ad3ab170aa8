"""Files of PyTorch programs that are recognised but not read, as they do not show costs."""

from __future__ import annotations

from xladoctor.ingest.formats import other_format
from xladoctor.ingest.other_formats import RECORD

NOT_READ = (
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
