"""All checks, one after the other; nothing that is broken breaks the examination."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xladoctor.environment import capture, host, stacks, storage
from xladoctor.environment.interface import TIMEOUT_S, Check, Examination, Tell, failure
from xladoctor.environment.torch_xla import packages, settings
from xladoctor.environment.torch_xla.checks import CHECKS
from xladoctor.environment.torch_xla.child import Outcome, Outcomes, probing
from xladoctor.environment.torch_xla.probe import STEPS


def examine(timeout_s: float = TIMEOUT_S, tell: Tell = lambda _: None) -> Examination:
    """Check this installation.

    Args:
        timeout_s: how long each step that touches the framework may take.
        tell: hears what is being checked.
    """
    around: list[Check] = []
    try:
        with probing() as probe:  # it imports the framework while the rest is looked at
            tell("the installation")
            around = _around()
            outcomes = probe.outcomes(timeout_s, tell)
    except OSError as error:
        around = around or _around()
        outcomes = _never_started(error)
    return Examination((*_before(), *_of_framework(outcomes), *around))


def _before() -> list[Check]:
    return [
        *_guarded("Python", host.python),
        *_guarded("system", packages.system),
        *_guarded("xladoctor", host.xladoctor),
    ]


def _of_framework(outcomes: Outcomes) -> list[Check]:
    return [
        result
        for name, check in CHECKS.items()
        for result in _guarded(name, partial(check, outcomes))
    ]


def _around() -> list[Check]:
    return [
        *_guarded("settings", settings.settings),
        *_guarded("capture", capture.capture),
        *_guarded("run directory", storage.run_directory),
        *_guarded("decoder cache", storage.decoder_cache),
        *_guarded("stacks", stacks.stacks),
    ]


def _guarded(name: str, check: Callable[[], Check | list[Check]]) -> list[Check]:
    """The check; one that breaks, for whatever reason, has failed."""
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


def _never_started(error: OSError) -> Outcomes:
    """As if the first step had failed: the process for it could not be made."""
    first, *rest = STEPS
    unreached = dict.fromkeys(rest, Outcome("unreached"))
    return {first: Outcome("died", f"cannot start a process: {error}"), **unreached}
