"""Compiles a graph for a topology, and reads the executable."""

from __future__ import annotations

import gzip
from contextlib import suppress

from google.protobuf.message import DecodeError

from xladoctor.ingest.frames import Folders
from xladoctor.tpu_check.compiler.interpreter import Compiler
from xladoctor.tpu_check.compiler.outcome import Compiled
from xladoctor.tpu_check.compiler.run import Limits, Tell, compile_graph
from xladoctor.tpu_check.compiler.topology import Topology
from xladoctor.tpu_check.graphs import Graph
from xladoctor.tpu_check.summary import summarize
from xladoctor.tpu_check.text import Checked
from xladoctor.tpu_check.written import read_written


def check(
    graph: Graph, topology: Topology, compiler: Compiler, limits: Limits, progress: Tell
) -> Checked:
    """Compile and read. Raises OSError if the cache's folder cannot be written."""
    outcome = compile_graph(graph, topology, compiler, limits=limits, progress=progress)
    summary = None
    if isinstance(outcome, Compiled):
        content = gzip.decompress(outcome.module.read_bytes())
        with suppress(DecodeError):  # of a libtpu that writes modules otherwise: memory is known
            summary = summarize(read_written(content, Folders()))
    return Checked(graph, topology.name, outcome, summary)
