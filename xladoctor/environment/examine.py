"""Runs all checks, one after another; nothing that is broken breaks the examination."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from xladoctor.environment import capture, host, stacks, storage, variables
from xladoctor.environment.framework import Framework
from xladoctor.environment.interface import TIMEOUT_S, Check, Examination, Tell, failure
from xladoctor.frontends import parts
from xladoctor.frontends.vocabulary import captured
from xladoctor.recording.framework import install_lines


def frameworks() -> list[Framework]:
    """The checks of each frontend."""
    return [each.FRAMEWORK for each in parts("environment")]


def examine(timeout_s: float = TIMEOUT_S, tell: Tell = lambda _: None) -> Examination:
    """Check this installation.

    Args:
        timeout_s: how long each step that touches the framework may take.
        tell: called with what is being checked.
    """
    around: list[Check] = []
    checks = [*_guarded("framework", _none_installed)]
    for framework in frameworks():
        if not framework.installed:
            continue
        try:
            with framework.probing() as probe:  # it imports the framework during other checks
                tell("the installation")
                around = around or _around()
                outcomes = probe.outcomes(timeout_s, tell)
        except OSError as error:
            outcomes = framework.never_started(error)
        for name in framework.checks:
            checks += _guarded(name, partial(framework.check, name, outcomes))
    return Examination((*_before(), *checks, *(around or _around())))


def _none_installed() -> list[Check]:
    if any(framework.installed for framework in frameworks()):
        return []
    titles = " nor ".join(each.title for each in captured())
    return [
        failure(
            "framework",
            f"neither {titles} is installed for {sys.executable}",
            f"{install_lines()}\nor check the Python that has one:"
            " /path/to/python -m xladoctor env",
        )
    ]


def _before() -> list[Check]:
    checks = {"Python": host.python, "system": host.system, "xladoctor": host.xladoctor}
    return [each for name, check in checks.items() for each in _guarded(name, check)]


def _around() -> list[Check]:
    hindering = [setting for framework in frameworks() for setting in framework.settings]
    checks: dict[str, Callable[[], Check | list[Check]]] = {
        "settings": partial(variables.settings, hindering),
        "capture": capture.capture,
        "run directory": storage.run_directory,
        "decoder cache": storage.decoder_cache,
        "stacks": stacks.stacks,
    }
    return [each for name, check in checks.items() for each in _guarded(name, check)]


def _guarded(name: str, check: Callable[[], Check | list[Check]]) -> list[Check]:
    """Run a check; if it raises anything, it has failed."""
    try:
        result = check()
    except Exception as fault:
        words = " ".join(str(fault).split())
        advice = (
            "if nothing else here explains it, reinstall xladoctor and its dependencies:"
            " pip install --force-reinstall xladoctor"
        )
        return [failure(name, f"could not be checked: {type(fault).__name__}: {words}", advice)]
    return result if isinstance(result, list) else [result]
