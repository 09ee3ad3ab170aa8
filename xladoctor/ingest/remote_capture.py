"""The run directory of ``xladoctor capture``: timelines that profiler servers recorded.

Its ``run.json`` has ``"kind": "remote"``, no command, and what came of each server:
``profiles: [{address, file, left_at, missing}]`` (at most one of the last two is a text).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xladoctor.ingest.interface import Ingested, IngestError, Progress
from xladoctor.ingest.recorded_elsewhere import read_elsewhere
from xladoctor.regular_files import read_json

_FIELDS = {"address", "file", "left_at", "missing"}
_UNSEEN = (
    "recorded by the program's profiler server: there is a timeline, but no metrics, settings or"
    " samples of Python. Lines of reads and uploads, sizes of uploads, waits for input and"
    " operators without a lowering need `xladoctor run`"
)


def remote_manifest(path: Path) -> dict[str, Any] | None:
    """The manifest of a directory of this kind; None for any other.

    Raises:
        IngestError: it is of this kind, but damaged.
    """
    try:
        manifest = read_json(path / "run.json")
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict) or manifest.get("kind") != "remote":
        return None
    profiles = manifest.get("profiles")
    if isinstance(profiles, list) and all(
        isinstance(profile, dict) and profile.keys() >= _FIELDS for profile in profiles
    ):
        return manifest
    raise IngestError(f"{path / 'run.json'}: not a manifest of `xladoctor capture`")


def read_remote_capture(
    path: Path, manifest: dict[str, Any], session: str | None, progress: Progress | None
) -> Ingested:
    """The timelines that came, with notes on what is missing and what no timeline can tell.

    Raises:
        IngestError: none came, or none can be read; or there is no such session.
    """
    folder = path / "plugins" / "profile" / str(manifest.get("session"))
    missing = [note for profile in manifest["profiles"] if (note := _missing(profile, folder))]
    if not any(folder.parent.glob("*/*.xplane.pb")):
        raise IngestError("\n".join([f"{path}: no timeline in it", *missing]))
    ingested = read_elsewhere([path], session, progress)
    ingested.notes += [*missing, _UNSEEN]
    return ingested


def _missing(profile: dict[str, Any], folder: Path) -> str | None:
    if (folder / profile["file"]).is_file():
        return None
    if profile["left_at"]:
        return (
            f"{profile['address']}: its server wrote the timeline on its own machine,"
            f" {profile['left_at']}; copy it into {folder} and analyze again"
        )
    return f"not captured: {profile['missing']}"
