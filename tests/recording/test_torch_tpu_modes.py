"""Which eager mode the program has chosen, as far as the capture tells."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.calls import Calls
from xladoctor.recording.bootstrap._xladoctor.hooks import Hooks
from xladoctor.recording.bootstrap._xladoctor.torch_tpu.modes import Modes

Mode = Enum("Mode", ["DEFER_NEVER", "DEFER_AND_FUSE", "DEFER_NEVER_AND_LAUNCH_BLOCKING"])


class Installed:
    """The extension module with its functions wrapped, beside a count of launches."""

    def __init__(self) -> None:
        self.launched = 0
        self.place: tuple[str, int, str] | None = ("train.py", 7, "main")
        self.did: list[Any] = []
        self.module = SimpleNamespace(
            _set_eager_mode=self.did.append,
            _push_eager_mode=self.did.append,
            _pop_eager_mode=lambda: self.did.append(None),
        )
        recorder: Any = SimpleNamespace(off=False)
        sites: Any = SimpleNamespace(users_line=lambda: self.place)
        self.hooks = Hooks()
        calls = Calls(recorder, sites, None, None, self.hooks)  # type: ignore[arg-type]
        counters: Any = SimpleNamespace(requests=lambda: self.launched)
        self.modes = Modes(calls, counters)
        self.modes.install(self.module)

    def within(self, mode: Mode, launches: int) -> None:
        self.module._push_eager_mode(mode)
        self.launched += launches
        self.module._pop_eager_mode()

    @property
    def told(self) -> str | None:
        setting = self.modes.settings().get("torch.tpu.eager_mode")
        assert setting is None or setting[1] == ("train.py", 7, "main")
        return None if setting is None else setting[0]


@pytest.fixture
def installed() -> Installed:
    return Installed()


def test_program_that_chooses_none(installed: Installed) -> None:
    installed.launched = 100
    assert installed.told is None


def test_last_choice_counts(installed: Installed) -> None:
    installed.module._set_eager_mode(Mode.DEFER_NEVER_AND_LAUNCH_BLOCKING)
    installed.module._set_eager_mode(Mode.DEFER_AND_FUSE)
    assert installed.did == [Mode.DEFER_NEVER_AND_LAUNCH_BLOCKING, Mode.DEFER_AND_FUSE]
    assert installed.told == "DEFER_AND_FUSE"


@pytest.mark.parametrize(("launches", "told"), [(9, None), (10, "DEFER_NEVER_AND_LAUNCH_BLOCKING")])
def test_context_manager_counts_by_the_launches_within(
    installed: Installed, launches: int, told: str | None
) -> None:
    installed.within(Mode.DEFER_NEVER_AND_LAUNCH_BLOCKING, launches)
    installed.launched = 100
    assert installed.told == told
    assert installed.did == [Mode.DEFER_NEVER_AND_LAUNCH_BLOCKING, None]


def test_context_manager_that_is_still_open(installed: Installed) -> None:
    installed.module._push_eager_mode(Mode.DEFER_AND_FUSE)
    assert installed.told is None
    installed.launched = 50
    assert installed.told == "DEFER_AND_FUSE"


def test_changes_that_torch_tpu_makes_itself(installed: Installed) -> None:
    installed.place = None
    installed.within(Mode.DEFER_NEVER, 90)
    installed.module._set_eager_mode(Mode.DEFER_NEVER)
    assert installed.told is None


def test_wrappers_go(installed: Installed) -> None:
    installed.hooks.undo()
    installed.module._set_eager_mode(Mode.DEFER_AND_FUSE)
    assert installed.told is None
