"""Runs the steps of a probe, as a program of its own, so that a crash or a hang ends only it.

Run with the probe's file, which defines ``STEPS`` (functions that return facts, by name), and the
number of an open descriptor, to which it writes lines of JSON: ``{"step": name}`` when a step
begins, then the same with ``facts``, or with ``error`` (type and message), after which it ends,
since each step needs those before it. Standard library only, until a step imports more.
"""

from __future__ import annotations

import json
import os
import runpy
import sys


def main(probe: str, descriptor: int) -> None:
    """Run the steps in order, up to the first that fails."""
    with os.fdopen(descriptor, "w", buffering=1) as pipe:
        for name, step in runpy.run_path(probe)["STEPS"].items():
            pipe.write(json.dumps({"step": name}) + "\n")
            try:
                facts = step()
            except BaseException as error:  # any failure is the result
                fault = [type(error).__name__, str(error)]
                pipe.write(json.dumps({"step": name, "error": fault}) + "\n")
                break
            pipe.write(json.dumps({"step": name, "facts": facts}) + "\n")
    os._exit(0)  # skip what libraries do at exit


if __name__ == "__main__":
    # A program's folder is on the path; our modules would hide others with the same names.
    if not sys.flags.safe_path:
        del sys.path[0]
    main(sys.argv[1], int(sys.argv[2]))
