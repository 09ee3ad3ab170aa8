"""Finds sessions of timelines, in the layout of XProf and TensorBoard.

``LOGDIR/plugins/profile/<session>/<host>.xplane.pb``: each file of a session is one process's.
"""

from __future__ import annotations

from pathlib import Path

from xladoctor.foreign import quoted
from xladoctor.ingest.compressed import PACKED
from xladoctor.ingest.interface import IngestError, Notes
from xladoctor.ingest.recognition import CAPTURED, SUFFIX, is_timeline
from xladoctor.regular_files import modified_s

#: A log directory, a folder of sessions, or a session.
_PATTERNS = (
    f"plugins/profile/*/*{SUFFIX}*",
    f"profile/*/*{SUFFIX}*",
    f"*/*{SUFFIX}*",
    f"*{SUFFIX}*",
)


def session_files(
    path: Path,
    session: str | None,
    noted: Notes,
    main: str | None = None,
    captured: bool = False,
) -> list[Path]:
    """The timelines of one session, with a note if there are several.

    Args:
        path: a log directory, a folder of sessions, or a session.
        session: the session to read; an unambiguous beginning of its name is enough.
        main: the session to read if ``session`` is None; without it, the newest.
        captured: whether ``path`` is in a run directory.

    Raises:
        IngestError: there is no such session.
    """
    sessions = _captured_sessions(path) if captured else find_sessions(path)
    alike = [name for name in sessions if session and name.startswith(session)]
    session = alike[0] if len(alike) == 1 else session
    if session is not None and session not in sessions:
        raise IngestError(
            f"{path}: no session {session} with a timeline in it",
            f"there are: {', '.join(sessions) or 'none'}",
        )
    if not sessions:
        return []
    main = main if main in sessions else None
    chosen = session or main or list(sessions)[-1]
    if session is None and main is None and len(sessions) > 1:
        noted.notes.append(
            f"{path}: {len(sessions)} sessions; the newest is read, {chosen}"
            f" (--session for another: {_some([quoted(name) for name in list(sessions)[:-1]])})"
        )
    return sessions[chosen]


def of_one_session(
    path: Path, timelines: list[Path], session: str | None, noted: Notes
) -> list[Path]:
    """The timelines of a directory that belong to the session that is read, by default the newest.

    Args:
        timelines: all timelines below the directory.

    Raises:
        IngestError: there is no such session.
    """
    if find_sessions(path):
        return session_files(path, session, noted)
    folders = {file.parent for file in timelines}
    if not folders:
        return []
    newest = max(folders, key=lambda folder: (modified_s(folder), folder))
    if len(folders) > 1:
        noted.notes.append(
            f"{path}: {len(folders)} folders with timelines; the newest is read, {newest}"
        )
    return session_files(newest, session, noted)


def find_sessions(path: Path) -> dict[str, list[Path]]:
    """The sessions below a directory, the newest last, with their files by name."""
    for pattern in _PATTERNS:
        sessions: dict[str, list[Path]] = {}
        for file in sorted(path.glob(pattern)):
            if not is_timeline(file) or file.with_name(file.name.removesuffix(PACKED)) in (
                sessions.get(file.parent.name, ())
            ):
                continue  # a compressed copy beside the file itself
            sessions.setdefault(file.parent.name, []).append(file)
        if sessions:
            return _by_age(sessions)
    return {}


def _captured_sessions(path: Path) -> dict[str, list[Path]]:
    sessions: dict[str, list[Path]] = {}
    for file in sorted(path.glob("plugins/profile/*/*")):
        if file.name.endswith(CAPTURED):
            sessions.setdefault(file.parent.name, []).append(file)
    return _by_age(sessions)


def _by_age(sessions: dict[str, list[Path]]) -> dict[str, list[Path]]:
    return dict(sorted(sessions.items(), key=lambda session: (_age(session[1]), session[0])))


def _age(files: list[Path]) -> float:
    return max(map(modified_s, files))


def _some(names: list[str]) -> str:
    shown = ", ".join(names[-3:])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
