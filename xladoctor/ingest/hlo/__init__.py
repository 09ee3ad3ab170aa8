"""Compiled modules (``HloProto``): their instructions, entry parameters and Python frames."""

from xladoctor.ingest.hlo.lines import lend_lines
from xladoctor.ingest.hlo.module import Module, decode, read_module

__all__ = ["Module", "decode", "lend_lines", "read_module"]
