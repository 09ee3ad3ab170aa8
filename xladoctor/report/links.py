"""Links to lines of files that are on this machine, for terminals that follow them (OSC 8)."""

from __future__ import annotations

import os
from pathlib import Path

from xladoctor.repository import whole

#: Variables of terminals that follow links: VTE (GNOME and its relatives), iTerm2, VS Code and
#: WezTerm, Windows Terminal, Konsole, kitty.
_SET_BY_THOSE = ("VTE_VERSION", "TERM_PROGRAM", "WT_SESSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID")


def followed() -> bool:
    """Whether the terminal is known to follow them; others may show rubbish."""
    return any(os.environ.get(name) for name in _SET_BY_THOSE)


def link(file: str, line: int, cwd: str | None) -> str | None:
    """``file:///…/train.py#38``; None if the file is not here.

    Args:
        file: as in a location: absolute, or relative to ``cwd``.
    """
    path = Path(whole(file, cwd or "."))
    try:
        if not path.is_absolute() or not path.is_file():
            return None
        return f"{path.as_uri()}#{line}"
    except (OSError, ValueError):  # a name that no file can have
        return None
