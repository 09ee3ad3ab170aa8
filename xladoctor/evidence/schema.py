"""Every table and column of the evidence, with its unit and where it comes from.

Instants are nanoseconds of the wall clock, durations nanoseconds. A *call site* is the innermost
line that is not Python's, torch's or torch_xla's own; where that line lies in an installed package,
``user_*`` is the nearest line of the user's.
"""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column: DuckDB type and meaning."""

    type: str
    text: str


class Table(NamedTuple):
    """A table: what it holds, where it is read from, its columns."""

    text: str
    source: str
    columns: dict[str, Column]


def _columns(text: str) -> dict[str, Column]:
    """Parse ``name TYPE meaning`` lines."""
    rows = (line.split(None, 2) for line in text.splitlines() if line.strip())
    return {name: Column(kind, meaning) for name, kind, meaning in rows}


_PROCESS = "process INTEGER number of the process in this evidence, from 0\n"
_THREAD = "thread BIGINT operating-system id of the thread\n"
_SITE = """
file VARCHAR path of the named line
line INTEGER the named line, from 1
function VARCHAR function that the named line is in
user_file VARCHAR path of the user's line that led there, where the named one is a library's
user_line INTEGER that line
user_function VARCHAR function that it is in
via VARCHAR function of torch or torch_xla that the named line called, if any
"""

TABLES: dict[str, Table] = {
    "process": Table("a captured process", "process.json", _columns(_PROCESS + """
        pid BIGINT process id
        rank INTEGER rank in a distributed job, if it has one
        host VARCHAR name of the machine
        torch VARCHAR version of torch
        torch_xla VARCHAR version of torch_xla
        python VARCHAR version of Python
        device_kind VARCHAR kind of the devices: CPU, TPU, NEURON, CUDA
        devices INTEGER devices that the process sees
        ended BOOLEAN whether the capture was closed in order
        main VARCHAR path of the main script
        cwd VARCHAR working directory
        began_ns BIGINT when torch_xla was imported
        ended_ns BIGINT when the process was last heard of
    """)),
    "environment": Table("settings of the user's that change how XLA works", "process.json",
                         _columns(_PROCESS + """
        name VARCHAR environment variable
        value VARCHAR its value
        set_by VARCHAR environment (before the program started) or program
        file VARCHAR file of the line that set it, where the program did
        line INTEGER that line
        function VARCHAR function that the line is in
    """)),
    "metric": Table("a metric of the last report", "metrics.txt", _columns(_PROCESS + """
        name VARCHAR name of the metric
        unit VARCHAR ns, bytes or none
        samples BIGINT number of samples
        accumulator DOUBLE sum of the samples, in the unit
        p50 DOUBLE median of the retained samples, in the unit
    """)),
    "counter": Table("a counter of the last report", "metrics.txt", _columns(_PROCESS + """
        name VARCHAR name of the counter
        value BIGINT its value
    """)),
    "step": Table("what a thread did between two barriers that launched work", "steps.jsonl",
                  _columns(_PROCESS + _THREAD + """
        main BOOLEAN whether it is the main thread
        tail BOOLEAN the time after the last barrier: no step
        index INTEGER number of the barrier on its thread, from 0
        barriers INTEGER barriers that this row covers (1, or more in very long runs)
        ordinal INTEGER barriers seen before at the same call site on this thread
        begin_ns BIGINT end of the previous barrier
        end_ns BIGINT end of this one
        duration_ns BIGINT time between, without the capture's own work
        compile_ns BIGINT spent compiling
        read_ns BIGINT blocked in reads of device values, compilation not counted
        input_ns BIGINT waiting for the next batch
        barrier_ns BIGINT in the barrier (dispatch, waiting for the device), without compilation
        upload_ns BIGINT sending tensors to the device
        capture_ns BIGINT spent by the capture since the previous barrier
        executions INTEGER graphs that the barrier launched
        compilations INTEGER graphs compiled
        optimizer_steps INTEGER updates of the optimizer that stepped most
        log_offset BIGINT size of the analysis log at the end
        traced BOOLEAN inside the timeline's window
        probed BOOLEAN slowed by a look for fallbacks: left out of timings
    """ + _SITE)),
    "step_period": Table("how many barriers make a turn of the loop", "steps.jsonl",
                         _columns(_PROCESS + _THREAD + """
        barriers INTEGER smallest period of the sequence of barrier call sites
    """)),
    "optimizer": Table("an optimizer, and the line that has it update", "steps.jsonl",
                       _columns(_PROCESS + _THREAD + _SITE)),
    "compilation": Table("one compilation", "analysis log, step log, timeline",
                         _columns(_PROCESS + """
        thread BIGINT operating-system id of the thread, where known
        index INTEGER number of the compilation in its process, from 0
        step INTEGER barrier index that it happened before, where known
        ordinal INTEGER launches from the same call site before it
        launches INTEGER launches from the same call site in all, where known
        graph_hash VARCHAR hash of the graph, as in the timeline
        cause VARCHAR torch_xla's sentence
        inputs INTEGER inputs of the graph
        outputs INTEGER outputs of the graph
        end_ns BIGINT when it ended, where known
        duration_ns BIGINT how long it took, where known
    """ + _SITE)),
    "execution": Table("one launched graph", "analysis log of level 2", _columns(_PROCESS + """
        index INTEGER number of the execution in its process, from 0
        graph_hash VARCHAR hash of the graph
        cause VARCHAR torch_xla's sentence
        inputs INTEGER inputs of the graph
        outputs INTEGER outputs of the graph
    """ + _SITE)),
    "host_sync": Table("reads of device values by the host, by step and call site",
                       "steps.jsonl", _columns(_PROCESS + _THREAD + """
        step INTEGER barrier index that they happened before
        tail BOOLEAN after the last barrier
        kind VARCHAR item, bool, float, int, index, repr, format, tolist, numpy, cpu, to, wait, …
        closure BOOLEAN in a step closure, which torch_xla runs after the barrier
        count INTEGER how many
        duration_ns BIGINT time that the host was blocked, compilation not counted
        compile_ns BIGINT compilation that they caused
    """ + _SITE)),
    "data_wait": Table("waiting for the next batch", "steps.jsonl",
                       _columns(_PROCESS + _THREAD + """
        step INTEGER barrier index
        count INTEGER batches
        duration_ns BIGINT time waited
    """)),
    "transfer": Table("a shape that a call site sent to the device for the first time",
                      "steps.jsonl", _columns(_PROCESS + _THREAD + """
        step INTEGER barrier index
        direction VARCHAR to_device
        shape BIGINT[] dimensions
        dtype VARCHAR element type, as HLO text writes it
    """ + _SITE)),
    "fallback": Table("operators seen falling back to the CPU in probe steps", "call_sites.json",
                      _columns(_PROCESS + """
        op VARCHAR operator, as its counter is named
        count INTEGER times seen
        duration_ns BIGINT time in it, compilation not counted
        compile_ns BIGINT compilation that it caused
    """ + _SITE)),
    "fallback_count": Table("how often operators fell back, by when it was counted", "steps.jsonl",
                            _columns(_PROCESS + """
        step INTEGER barrier index
        tail BOOLEAN after the last barrier
        name VARCHAR counter: the operator, or aten::_local_scalar_dense for scalar reads
        value BIGINT increase since the last count
    """)),
    "event": Table("host events of the timeline", ".xplane.pb", _columns(_PROCESS + """
        line BIGINT thread in the timeline
        name VARCHAR name of the event
        start_ns BIGINT from the start of the profile
        duration_ns BIGINT how long
        graph_hash VARCHAR of a compilation
    """)),
    "hlo_module": Table("a module compiled inside the timeline's window", ".xplane.pb",
                        _columns(_PROCESS + """
        program_id BIGINT number of the program
        name VARCHAR name of the module
        graph_hash VARCHAR hash of its graph, where it could be joined
        instructions INTEGER instructions in all computations, after optimization
    """)),
    "hlo_parameter": Table("an entry parameter of such a module", ".xplane.pb",
                           _columns(_PROCESS + """
        program_id BIGINT number of the program
        graph_hash VARCHAR hash of its graph
        number INTEGER position of the parameter
        shape BIGINT[] dimensions
        type VARCHAR element type, as HLO text writes it
        op VARCHAR operation that made it: xla__device_data for all tensors on the device
        sent BOOLEAN the line sent it to the device; else it is the first use in this graph
    """ + _SITE)),
    "source_line": Table("text of the named lines as they ran", "call_sites.json", _columns("""
        file VARCHAR path
        line INTEGER line, from 1
        text VARCHAR its text
    """)),
    "recompilation": Table("why a call site compiled again", "derived",
                           _columns(_PROCESS + """
        index INTEGER number of the compilation
        kind VARCHAR input_shape, input_type, input_count, graph, or unknown
        basis VARCHAR hlo (modules compared) or upload (a new shape was sent in that step)
        parameter INTEGER entry parameter that changed
        from_shape VARCHAR its type and dimensions in the earlier graph
        to_shape VARCHAR and in this one
        dimension INTEGER first dimension that differs
        value BIGINT its size in this graph
        made_role VARCHAR made, or used: a tensor that was there before shows where it is first used
        made_file VARCHAR that line's file
        made_line INTEGER that line
        made_function VARCHAR function that it is in
    """)),
}  # fmt: skip
