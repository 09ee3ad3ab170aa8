"""All checks, one after the other; nothing that is broken breaks the examination."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xladoctor.environment import capture, device, host, packages, settings, stacks, storage
from xladoctor.environment.child import Outcome, Outcomes, probing
from xladoctor.environment.interface import TIMEOUT_S, Check, Examination, Tell, failure
from xladoctor.environment.probe import STEPS


def examine(timeout_s: float = TIMEOUT_S, tell: Tell = lambda _: None) -> Examination:
    """Check this installation.

    Args:
        timeout_s: how long each step that touches torch may take.
        tell: hears what is being checked.
    """
    around: list[Check] = []
    try:
        with probing() as probe:  # it imports torch while the rest is looked at
            tell("the installation")
            around = _around()
            outcomes = probe.outcomes(timeout_s, tell)
    except OSError as error:
        around = around or _around()
        outcomes = _never_started(error)
    return Examination((*_before(), *_of_torch(outcomes), *around))


def _before() -> list[Check]:
    return [
        *_guarded("Python", host.python),
        *_guarded("system", host.system),
        *_guarded("xladoctor", host.xladoctor),
    ]


def _of_torch(outcomes: Outcomes) -> list[Check]:
    checks: dict[str, Callable[[Outcomes], Check]] = {
        "torch": packages.torch,
        "torch_xla": packages.torch_xla,
        "versions": packages.versions,
        "PJRT_DEVICE": device.pjrt_device,
        "device": device.device,
        "libtpu": device.libtpu,
        "Neuron plugin": lambda _: device.neuron(),
        "computation": device.computation,
        "profiler": device.profiler,
    }
    return [
        result
        for name, check in checks.items()
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
    first, *others = STEPS
    unreached = dict.fromkeys(others, Outcome("unreached"))
    return {first: Outcome("died", f"cannot start a process: {error}"), **unreached}
