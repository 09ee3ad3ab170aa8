"""Compiles graphs with the TPU compiler of an interpreter that has it: one at a time, with limits.

libtpu is the user's to install, under Google Cloud's terms: it is not part of xladoctor, and no
dependency. It aborts on some graphs, and takes minutes for others; each is compiled in a child.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from xladoctor.errors import XladoctorError
from xladoctor.whole_files import alone_in

Form = Literal["stablehlo", "hlo", "export"]
#: Receives the seconds so far.
Progress = Callable[[float], None]

_CHILD = Path(__file__).with_name("child.py")
_GRACE_S = 1.0  # from SIGTERM to SIGKILL: libtpu handles the first by printing a trace
_TURN_S = 0.2
_ASK = """
import importlib.metadata as m, importlib.util as u, json, sys, platform
found = {}
for name in ("jax", "jaxlib", "libtpu"):
    try: found[name] = m.version(name)
    except m.PackageNotFoundError: pass
print(json.dumps({"python": platform.python_version(), "machine": sys.platform + " " + platform.machine(), **found}))
"""
_INSTALL = (
    'install it beside JAX: pip install "jax[tpu]" (libtpu is Google\'s, under the terms of Google'
    " Cloud; Linux on x86-64), and name that interpreter with --python"
)
_OUT_OF_MEMORY = re.compile(r"RESOURCE_EXHAUSTED.*?(HbmOom|out of memory)", re.I | re.S)
_NEEDED = re.compile(r"\(([\d.]+[KMGT]?)\) exceeds available HBM \(([\d.]+[KMGT]?)\)")
_FOREIGN_CALL = re.compile(r"Custom emitter for (\S+) not found")
_TOPOLOGY = re.compile(r"(?i)[a-z][a-z0-9]{0,15}(?::\d{1,4}(?:x\d{1,4}){0,2})?")
#: What one device is called, by the generation's name; libtpu knows no shape otherwise.
_ONE = {"v2": "1x1", "v3": "1x1", "v5e": "1x1", "v6e": "1x1"}
_CUBE = "2x2x1"  # the smallest of the others


class CompilerError(XladoctorError):
    """No graph can be compiled: there is no compiler, or the topology is none."""


@dataclass(frozen=True)
class Compiler:
    """An interpreter with libtpu.

    Attributes:
        versions: of python, jax, jaxlib and libtpu.
    """

    interpreter: str
    versions: dict[str, str]


@dataclass(frozen=True)
class Compiled:
    """A graph that fits.

    Attributes:
        module: the optimized module, a serialized HloModuleProto.
        memory: bytes of a device by name (argument, output, alias, temp, generated_code, peak); what
            the compiler does not say is left out.
        device: what the compiler calls the device.
    """

    module: bytes
    memory: dict[str, int]
    device: str
    seconds: float
    processor_seconds: float


@dataclass(frozen=True)
class DoesNotFit:
    """A graph that needs more memory than a device has.

    Attributes:
        said: the compiler's sentence. Its sizes are not proportional to the program's.
        available: memory of the device as the compiler writes it; empty if it does not.
    """

    said: str
    available: str
    device: str
    seconds: float


@dataclass(frozen=True)
class Refused:
    """A graph that could not be compiled, and why, with what to do about it."""

    reason: str
    seconds: float


def find_compiler(interpreter: str) -> Compiler:
    """The compiler of an interpreter.

    Raises:
        CompilerError: it cannot be run, or has no JAX or no libtpu.
    """
    try:
        ran = subprocess.run(
            [interpreter, "-c", _ASK], capture_output=True, text=True, timeout=60, check=False
        )
        found: dict[str, str] = json.loads(ran.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise CompilerError(f"{interpreter}: not a Python that can be run: {error}") from None
    missing = [name for name in ("jax", "libtpu") if name not in found]
    if missing:
        raise CompilerError(
            f"{interpreter} (Python {found['python']}): no {' and no '.join(missing)}, which has the"
            f" compiler of TPUs; {_INSTALL}"
        )
    return Compiler(interpreter, found)


def topology(name: str) -> str:
    """A topology in libtpu's form: ``v5e`` is one device, ``v5e:2x2`` a slice of four.

    Raises:
        CompilerError: it has another form.
    """
    if not _TOPOLOGY.fullmatch(name):
        raise CompilerError(
            f"{name}: not a TPU topology; write v5e for one device, or v5e:2x2, v6e:4x4, v5p:2x2x1,"
            " tpu7x:2x2x1"
        )
    kind, colon, _ = name.partition(":")
    return name if colon else f"{kind}:{_ONE.get(kind.lower(), _CUBE)}"


def compile_graph(
    graph: bytes,
    form: Form,
    devices: int,
    on: str,
    compiler: Compiler,
    timeout_s: float,
    progress: Progress = lambda seconds: None,
) -> Compiled | DoesNotFit | Refused:
    """Compile a graph for a topology; waits while another process compiles.

    Args:
        graph: StableHLO as text or bytecode, an HloModuleProto, or what ``jax.export`` serializes.
        devices: that the graph is divided over.
        on: the topology, as :func:`topology` returns it.

    Raises:
        CompilerError: the compiler does not know the topology.
    """
    if form == "stablehlo" and _is_unbounded(graph):
        return Refused(
            "it has a dimension of unknown size (?), which TPUs cannot compile: trace it with sizes",
            0.0,
        )
    with tempfile.TemporaryDirectory(prefix="xladoctor-tpu-") as name, alone_in(_turns()):
        folder = Path(name)
        (folder / "graph").write_bytes(graph)
        request = {"form": form, "devices": devices, "topology": on}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        began = time.monotonic()
        status = _run(compiler, folder, timeout_s, progress)
        return _outcome(folder, status, timeout_s, time.monotonic() - began, on)


def _is_unbounded(graph: bytes) -> bool:
    return re.search(rb"tensor<(?:[\dx]*x)?\?x", graph) is not None


def _turns() -> Path:
    """The folder whose lock lets one process after the other load libtpu."""
    return Path(tempfile.gettempdir()) / f"xladoctor-tpu-{os.getuid()}"


def _run(compiler: Compiler, folder: Path, timeout_s: float, progress: Progress) -> int | None:
    """The child's status; None if it took too long."""
    environment = {**os.environ, "TPU_LOG_DIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    with (folder / "output").open("wb") as output:
        child = subprocess.Popen(
            [compiler.interpreter, str(_CHILD), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        began = time.monotonic()
        try:
            while (spent := time.monotonic() - began) < timeout_s:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return child.wait(_TURN_S)
                progress(spent)
            return None
        finally:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE_S)


def _outcome(
    folder: Path, status: int | None, timeout_s: float, seconds: float, on: str
) -> Compiled | DoesNotFit | Refused:
    if status is None:
        return Refused(
            f"compiling took longer than {timeout_s:.0f} s, and was ended: a longer limit is set with"
            " --timeout",
            seconds,
        )
    if status < 0:
        return Refused(
            f"the compiler ended with {signal.Signals(-status).name}"
            f"{_last_words(folder / 'output')}: a fault of libtpu, or no memory is left",
            seconds,
        )
    try:
        result: dict[str, Any] = json.loads((folder / "result.json").read_bytes())
        if result["outcome"] == "compiled":
            module = gzip.decompress((folder / "module.pb.gz").read_bytes())
            memory = {
                name: size
                for name, size in result["memory"].items()
                if isinstance(size, int) and size >= 0
            }
            spent = float(result["processor_seconds"])
            return Compiled(module, memory, str(result["device"]), seconds, spent)
        error, step = str(result["error"]), str(result.get("step"))
        device = str(result.get("device", ""))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as fault:
        return Refused(f"the compiler left no result that can be read ({fault!r})", seconds)
    return _failure(error, step, device, on, seconds)


def _failure(
    error: str, step: str, device: str, on: str, seconds: float
) -> DoesNotFit | Refused:
    sentence = " ".join(error.partition("\n")[0].split())
    if step == "topology":
        raise CompilerError(f"{on}: libtpu does not know this topology: {sentence}")
    if _OUT_OF_MEMORY.search(error):
        sizes = _NEEDED.search(error)
        return DoesNotFit(sentence, sizes[2] if sizes else "", device, seconds)
    if call := _FOREIGN_CALL.search(error):
        kind = "calls back to Python" if "callback" in call[1] else "calls a library of the CPU"
        return Refused(
            f"it {kind} ({call[1]}), which a TPU cannot: lower the program for the TPU"
            " (jax.export with platforms=['tpu']), or leave that call out",
            seconds,
        )
    if "mhlo.fusion" in error or "failed to legalize" in error:
        return Refused(
            f"it is optimized for another device already ({sentence}): give the graph from before"
            " optimization",
            seconds,
        )
    return Refused(f"at the step {step}: {sentence}", seconds)


def _last_words(output: Path) -> str:
    with contextlib.suppress(OSError):
        for line in output.read_text(errors="replace").splitlines():
            if "Check failed" in line:
                return f" ({line[line.index('Check failed') :].strip()})"
    return ""
