"""The checks of torch.compile, each after the ones that it depends on."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from xladoctor.environment import steps
from xladoctor.environment.child import Outcomes
from xladoctor.environment.framework import Framework, Step
from xladoctor.environment.interface import Check, failure, ok, skipped, warning
from xladoctor.environment.releases import tried_with
from xladoctor.environment.variables import Setting, switched_on
from xladoctor.frontends.torch.environment import probe

_COMPILED_AGAIN = "check what changes torch's settings when it starts, such as your sitecustomize"
_GPU = "/dev/nvidia0"
_FAULTS = (
    (
        "InvalidCxxCompiler",
        "install one: apt-get install g++ (or name one with CXX)\n"
        "without it, only backends that build no code work: torch.compile(…, backend='aot_eager')",
    ),
    ("Python.h", "install Python's headers: apt-get install python3-dev"),
)


def gpu(outcomes: Outcomes) -> Check:
    """Whether a GPU can be used, and Triton compiles for it; passes if there is none."""
    outcome = outcomes["GPU"]
    names = outcome.facts["gpus"]
    if not names:
        return _no_gpu(outcomes)
    found = f"{len(names)} GPU{'s' * (len(names) != 1)}: {names[0]}"
    if outcome.facts["triton"]:
        return ok("GPU", f"{found}, for which Triton builds kernels")
    if find_spec("triton") is None:
        return failure(
            "GPU",
            f"{found}; Triton, which builds kernels for it, is not installed",
            "pip install triton",
        )
    return failure(
        "GPU",
        f"{found}; Triton cannot build kernels for it",
        "torch.compile needs a GPU of compute capability 7.0 or later, or another"
        " backend: torch.compile(…, backend='cudagraphs')",
    )


def _no_gpu(outcomes: Outcomes) -> Check:
    if not Path(_GPU).exists():
        return skipped("GPU", "none: torch.compile builds code for the CPU")
    cure = "run nvidia-smi: the driver may be too old for this torch"
    if not outcomes["PyTorch"].facts["built_for"]:
        cure = (
            "this torch was built for the CPU alone: see pytorch.org for the command that"
            " installs another"
        )
    elif "CUDA_VISIBLE_DEVICES" in os.environ:
        cure = "unset CUDA_VISIBLE_DEVICES, or run nvidia-smi to see what the driver says"
    return warning("GPU", "none can be used, although this machine has one", cure)


def cache(outcomes: Outcomes) -> Check:
    """Whether compiled code can be cached for the next run."""
    name, outcome = "compile cache", outcomes["C++ compiler"]
    if not outcome.done:
        return skipped(name, "needs a C++ compiler")
    folder = Path(outcome.facts["cache"]).absolute()
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        return failure(
            name,
            f"{folder}: {there} cannot be written to",
            "set TORCHINDUCTOR_CACHE_DIR to a folder you can write to",
        )
    if not outcome.facts["keeps"]:
        return warning(
            name,
            f"{folder}: compiled graphs are not kept for the next run",
            "leave fx_graph_cache of torch._inductor.config switched on",
        )
    return ok(name, str(folder))


def computation(outcomes: Outcomes) -> Check:
    """Whether a small step gives the right result, and is compiled only once for two runs."""
    name, outcome = "torch.compile", outcomes["torch.compile"]
    check = steps.computed(name, outcomes, _COMPILED_AGAIN)
    if check.status != "ok":
        return check
    if not outcome.facts["compiled"][0]:
        return failure(
            name,
            "compiled nothing, so there is nothing to capture",
            "unset TORCHDYNAMO_DISABLE and TORCH_COMPILE_DISABLE, and check what your"
            " sitecustomize changes of torch",
        )
    limit = outcome.facts["limit"]
    return ok(name, f"{check.found}; at most {limit} times for each function") if limit else check


#: Settings that keep torch.compile from compiling what a program requests.
HINDERING = (
    Setting(
        ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"),
        lambda value: value == "1",
        "torch.compile compiles nothing, and there is nothing to capture",
    ),
    Setting(
        ("TORCHINDUCTOR_FORCE_DISABLE_CACHES",),
        lambda value: value == "1",
        "each process compiles everything again",
    ),
    Setting(
        ("TORCHINDUCTOR_FX_GRAPH_CACHE",),
        lambda value: value == "0",
        "compiled graphs are not kept for the next run",
    ),
    Setting(
        ("TORCH_COMPILE_DEBUG",),
        lambda value: value == "1",
        "each compilation writes its graphs and code to files",
    ),
    Setting(("CUDA_LAUNCH_BLOCKING",), switched_on, "the host waits for each kernel on the GPU"),
)
FRAMEWORK = Framework(
    "torch",
    probe.__file__,
    {
        "PyTorch": Step("import torch", "cannot be imported: ", needed="PyTorch"),
        "GPU": Step("import torch; print(torch.cuda.is_available())"),
        "C++ compiler": Step(
            "from torch._inductor import cpp_builder; print(cpp_builder.get_cpp_compiler())"
        ),
        "torch.compile": Step("import torch; print(torch.compile(torch.sin)(torch.ones(8)).sum())"),
    },
    ("TORCH_TRACE", "TORCH_LOGS", "TORCH_LOGS_OUT", "TORCH_COMPILE_DEBUG"),
    {
        "PyTorch": lambda outcomes: ok(
            "PyTorch",
            f"{outcomes['PyTorch'].facts['version']}: programs that call torch.compile can be"
            f" captured ({tried_with('torch')})",
        ),
        "GPU": gpu,
        "C++ compiler": lambda outcomes: ok(
            "C++ compiler", "{compiler}: {says}".format_map(outcomes["C++ compiler"].facts)
        ),
        "compile cache": cache,
        "torch.compile": computation,
    },
    _FAULTS,
    HINDERING,
    unless=("torch_xla", "torch_tpu"),
)
