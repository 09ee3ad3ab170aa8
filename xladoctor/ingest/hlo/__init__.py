"""Compiled modules (``HloProto``): their instructions, entry parameters and Python frames."""

from xladoctor.ingest.hlo.module import read_module

__all__ = ["read_module"]
