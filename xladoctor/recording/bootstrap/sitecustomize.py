"""Runs first in every Python process that `xladoctor run` starts, and in their children.

This folder is first on ``PYTHONPATH``, so the interpreter imports this module before the user's
program. It installs the capture, removes this folder from ``sys.path``, and hands over to the
``sitecustomize`` that would have run without us. Standard library only.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _install_capture() -> None:
    run_directory = os.environ.get("XLADOCTOR_RUN_DIRECTORY")
    try:
        if run_directory:
            import _xladoctor

            _xladoctor.install(run_directory)
        elif "XLADOCTOR_FIRST_STEPS" in os.environ:
            from _xladoctor import frontend

            frontend.watch_first_steps()
    except Exception as fault:  # the user's program matters more than its diagnosis
        sys.stderr.write(f"xladoctor: capture could not start: {fault!r}\n")


def _hand_over() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_install_capture()
_hand_over()
