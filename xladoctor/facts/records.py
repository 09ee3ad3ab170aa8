"""Files of a captured process that hold facts of several kinds."""

from xladoctor.facts.activity import HostSample, StartUp
from xladoctor.facts.compilations import Fallback, Launch, ReadOrigin
from xladoctor.facts.graphs import IgnoreComment, SourceFile
from xladoctor.facts.steps import EnclosingLoop
from xladoctor.facts.table import NamedLine
from xladoctor.facts.tpu import TpuBuffer, TpuGraph, TpuOperation, TpuPeakBuffer, TpuProduct
from xladoctor.recording.bootstrap._xladoctor.facts import Fact, Number, Size


class Site(NamedLine):
    """A call site, the text of its line, and the loops around it, from inside out."""

    source: str = ""
    loops: tuple[EnclosingLoop, ...] = ()


class CallSitesFile(Fact):
    """``call_sites.json``.

    Attributes:
        passing: file, line, and whether it only passes a call on.
        launches: of frameworks without barriers.
        beside: sites of single operations, with which steps ended until a loop was found that
            launches functions of the program.
        operations: sites that launched nothing but single operations of the framework; None if
            that is unknown.
        parts: compiled parts of functions that calls at a site ran; None where functions are
            compiled whole.
        functions: numbers of the compiled functions that a site calls, where they are known.
    """

    sites: tuple[Site, ...]
    fallbacks: tuple[Fallback, ...]
    passing: tuple[tuple[str, Number, bool], ...] = ()
    launches: tuple[Launch, ...] = ()
    beside: tuple[Number | None, ...] = ()
    operations: tuple[Number | None, ...] | None = None
    origins: tuple[ReadOrigin, ...] = ()
    ignores: tuple[IgnoreComment, ...] = ()
    files: tuple[SourceFile, ...] = ()
    parts: tuple[tuple[Number | None, Size], ...] | None = None
    functions: tuple[tuple[Number | None, tuple[Size, ...]], ...] = ()


class HostSamplesFile(Fact):
    """``host_samples.json``."""

    samples: tuple[HostSample, ...]
    period_ms: Number = 10
    start_up: tuple[StartUp, ...] = ()


class TpuCheckFile(Fact):
    """``tpu-check.json``.

    Attributes:
        tpu_check: version of the form, which comes first.
        frontend: the framework that the graphs were made with.
    """

    tpu_check: Number = 1
    graphs: tuple[TpuGraph, ...]
    frontend: str = ""
    operations: tuple[TpuOperation, ...] = ()
    products: tuple[TpuProduct, ...] = ()
    buffers: tuple[TpuBuffer, ...] = ()
    peak: tuple[TpuPeakBuffer, ...] = ()
