"""Reading a Chrome trace, next to Holistic Trace Analysis where that is installed.

``chrome.py [FILE] [--hta PYTHON]``. Without a file, one of some 87 MB is generated, of the
structure that ``torch.profiler`` writes on a GPU. Each round has one process of each; what counts
is the median of the rounds' ratios, so that a busy machine slows both. Prints seconds, processor
seconds, and the peak of memory as a multiple of the (unpacked) file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 5
BYTES = 87_000_000
OURS = """
import json, resource, sys, time
from pathlib import Path
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.timeline.read import TimelineFile, read_timeline
before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
began, used, ingested = time.perf_counter(), time.process_time(), Ingested()
read_timeline(
    TimelineFile(Path(sys.argv[1]), alone=True, for_viewers=True), Folders(), ingested.of(0)
)
took, used = time.perf_counter() - began, time.process_time() - used
table = ingested.tables["timeline"]
peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([took, used, peak / table["bytes"][0]]))
"""
THEIRS = """
import json, logging, resource, sys, time
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
began, used = time.perf_counter(), time.process_time()
trace = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="", include_last_profiler_step=True)
trace.get_temporal_breakdown(visualize=False)
trace.get_idle_time_breakdown(visualize=False, ranks=[0])
trace.get_gpu_kernel_breakdown(visualize=False)
trace.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)
print(json.dumps([time.perf_counter() - began, time.process_time() - used, None]))
"""


def generated(path: Path) -> Path:
    """A trace of some 87 MB, of steps of a thousand kernels."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.chrome.builder import training  # noqa: PLC0415  # of this checkout

    size = len(training(1, 1000, 100_000).text())
    return training(BYTES // size, 1000, 100_000).write(path)


def run(python: str, code: str, file: Path) -> tuple[float, float, float | None]:
    """What one process measures: seconds, processor seconds, memory."""
    done = subprocess.run(
        [python, "-c", code, str(file)], check=True, capture_output=True, text=True
    )
    seconds, used, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, used, memory


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--hta", metavar="PYTHON", help="an interpreter that has it")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = asked.file or generated(Path(folder) / "trace.json")
        run(sys.executable, OURS, file)  # compiles its loops, once for each installation
        rounds = [
            (run(sys.executable, OURS, file), run(asked.hta, THEIRS, file) if asked.hta else None)
            for _ in range(ROUNDS)
        ]
    ours = [one for one, _ in rounds]
    print(
        f"xladoctor: {statistics.median(each[0] for each in ours):.2f} s,"
        f" {statistics.median(each[1] for each in ours):.2f} s of processors,"
        f" peak {max(each[2] or 0 for each in ours):.2f} times the file"
    )
    pairs = [(one, other) for one, other in rounds if other]
    _compare("seconds", [(one[0], other[0]) for one, other in pairs])
    _compare("processor seconds", [(one[1], other[1]) for one, other in pairs])


def _compare(what: str, pairs: list[tuple[float, float]]) -> None:
    if pairs:
        times = statistics.median(theirs / ours for ours, theirs in pairs)
        theirs = statistics.median(theirs for _, theirs in pairs)
        print(f"HTA: {theirs:.2f} {what}, {times:.1f} times ours")


if __name__ == "__main__":
    main()
