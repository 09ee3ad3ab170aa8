"""Runs a program as the documents of torch_xla tell people to record it.

    PT_XLA_DEBUG_LEVEL=2 PT_XLA_DEBUG_FILE=OUT/log/analysis.txt python recorder.py OUT PROGRAM

Leaves a trace in OUT/trace and a metrics report in OUT/report; the log is torch_xla's own.
"""

import runpy
import sys
from pathlib import Path

import torch_xla.debug.metrics as met
import torch_xla.debug.profiler as xp

out, program = map(Path, sys.argv[1:3])
sys.argv = [str(program)]
sys.path.insert(0, str(program.resolve().parent))
xp.start_trace(str(out / "trace"))
runpy.run_path(str(program), run_name="__main__")
xp.stop_trace()
(out / "report").mkdir(exist_ok=True)
(out / "report" / "metrics.txt").write_text(met.metrics_report())
