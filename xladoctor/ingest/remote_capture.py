"""Reads the run directory of ``xladoctor capture``: timelines that profiler servers recorded.

Its ``run.json`` has ``"kind": "remote"``, no command, and each server's result:
``profiles: [{address, file, left_at, missing}]`` (at most one of the last two is a text).
"""

from __future__ import annotations

from pathlib import Path

from xladoctor.ingest.interface import Ingested, IngestError, Progress
from xladoctor.ingest.inventory import check
from xladoctor.ingest.recorded_elsewhere import read_elsewhere
from xladoctor.ingest.regular import lies_in
from xladoctor.ingest.run_records import Profile, RemoteManifest

_UNSEEN = (
    "recorded by the program's profiler server: there is a timeline, but no metrics, settings or"
    " samples of Python. Lines of reads and uploads, sizes of uploads, waits for input and"
    " operators without a lowering need `xladoctor run`"
)


def read_remote_capture(
    path: Path, manifest: RemoteManifest, session: str | None, progress: Progress | None
) -> Ingested:
    """Read the timelines, with notes on what is missing and what timelines cannot show.

    Raises:
        IngestError: there is no timeline, none can be read, or there is no such session.
    """
    folder = path / "plugins" / "profile" / str(manifest.session)
    missing = [note for profile in manifest.profiles if (note := _missing(profile, folder))]
    if not any(folder.parent.glob("*/*.xplane.pb")):
        raise IngestError([f"{path}: no timeline in it", *missing])
    if links := [str(each) for each in path.rglob("*") if not lies_in(each, path)]:
        raise IngestError(
            f"{', '.join(links)}: a link or not a plain file, which a run directory never contains",
            "remove it and analyze again",
        )
    ingested = read_elsewhere([path], session, progress)
    ingested.notes += [*missing, _UNSEEN]
    check(path, manifest.files, manifest.crc32, ingested)
    return ingested


def _missing(profile: Profile, folder: Path) -> str | None:
    if (folder / profile.file).is_file():
        return None
    if profile.left_at:
        return (
            f"{profile.address}: its server wrote the timeline on its own machine,"
            f" {profile.left_at}; copy it into {folder} and analyze again"
        )
    return f"not captured: {profile.missing}"
