"""Runs programs bare, one fork each, from a process that has imported torch_xla already.

Reads a line of JSON for each program from standard input (``program``, ``env``, ``output``: where
its standard output goes, ``log``: the analysis log), and answers with ``status`` and ``compiled``.
Importing takes five seconds, more than most programs run; torch_xla starts its runtime only when
a device is used, so that a fork is as good as a new process.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import torch_xla


def main() -> None:
    """Serve until standard input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _run(asked, writer)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            compiled = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answer = {"status": status, "compiled": int(compiled or -1)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _run(asked: dict[str, Any], result: int) -> None:
    flags = os.environ.get("XLA_FLAGS", "")  # to which importing torch_xla adds its own
    os.environ.update(asked["env"], PT_XLA_DEBUG_LEVEL="1", PT_XLA_DEBUG_FILE=asked["log"])
    if "XLA_FLAGS" in asked["env"]:
        os.environ["XLA_FLAGS"] += f" {flags}"
    output = os.open(asked["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = [asked["program"]]
    sys.path[0] = str(Path(asked["program"]).parent)
    status = 0
    try:
        runpy.run_path(asked["program"], run_name="__main__")
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    os.write(result, str(torch_xla._XLAC._xla_counter_value("UncachedCompile") or 0).encode())
    os._exit(status)


if __name__ == "__main__":
    main()
