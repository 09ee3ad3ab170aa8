"""Interpreters that do something else than compile: executable scripts in place of the user's."""

from __future__ import annotations

import sys
from pathlib import Path

from xladoctor.tpu_check.compiler.interpreter import Compiler
from xladoctor.tpu_check.graphs import Graph

RECORDED = Path(__file__).with_name("recorded")
MODULE = "\n\x05jit_f"  # an HloModuleProto with a name
#: What each fake begins with: ``answer`` is what the real child does at its end.
_HEAD = f"""#!{sys.executable}
import gzip, json, os, signal, sys, time
from pathlib import Path
request = json.loads(Path(sys.argv[2]).read_bytes())
folder = Path(request["folder"])
MEMORY = {{"peak_memory_in_bytes": 300, "argument_size_in_bytes": 100, "temp_size_in_bytes": 0,
          "output_size_in_bytes": -1, "generated_code_size_in_bytes": 0}}
def answer(verdict="compiled", text={MODULE!r}, recorded="", plan="", **more):
    if plan:
        (folder / "plan.pb.gz").write_bytes((Path({str(RECORDED)!r}) / plan).read_bytes())
    if recorded:
        (folder / "module.pb.gz").write_bytes((Path({str(RECORDED)!r}) / recorded).read_bytes())
    elif text:
        (folder / "module.pb.gz").write_bytes(gzip.compress(text.encode()))
    found = {{"verdict": verdict, "memory": MEMORY, "topology": "v5e:1x1", "operations": 3,
             "seconds": 1.5,
             "versions": {{"jax": "1", "jaxlib": "2"}}, **more}}
    (folder / "result.json").write_text(json.dumps(found))
"""


def interpreter(folder: Path, body: str) -> Compiler:
    """A compiler whose interpreter does what the code says."""
    script = folder / "fake_python"
    script.write_text(_HEAD + body, encoding="utf-8")
    script.chmod(0o755)
    return Compiler(script, "2", "3", "1")


def graph(content: bytes = b"module @jit_f {}", partitions: int | None = None) -> Graph:
    return Graph("jit_f", content, "stablehlo", Path("f.mlir"), partitions=partitions)
