"""Places for the runs of several launchers that run one job and were all given the same URL."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from xladoctor.recording.interface import HOST
from xladoctor.recording.job import Launcher
from xladoctor.storage.store import Object, Store

_MANIFEST = "run.json"
_TRIES = 100


def free_places(store: Store, launcher: Launcher) -> Iterator[str]:
    """The folders below the URL that a launcher's run may have, the best first; empty for the URL
    itself.

    Raises:
        StorageError: something else is there, or nothing can be written there.
    """
    objects = store.contents()
    folders = {each.name.partition("/")[0] for each in objects if "/" in each.name}
    hosts = {name for name in folders if name.startswith(HOST)}
    if objects:
        _refuse_others(store, launcher, objects, hosts)
    elif not launcher.is_one_of_several:
        yield ""
    for number in itertools.count(1):
        name = f"{launcher.folder}-{number}" if number > 1 else launcher.folder
        if name not in hosts:
            yield name


def claim(store: Store, launcher: Launcher, manifest: bytes) -> str:
    """Write a manifest where no other launcher does; returns the folder, as above.

    Raises:
        StorageError: as above, or it could not be written.
    """
    for _ in range(_TRIES):
        place = next(free_places(store, launcher))
        if store.create(f"{place}/{_MANIFEST}" if place else _MANIFEST, manifest):
            return place
    raise store.not_empty()


def is_shared(store: Store) -> bool:
    """Whether runs of several hosts are there. Raises StorageError."""
    return any(each.name.startswith(HOST) for each in store.contents())


def _refuse_others(
    store: Store, launcher: Launcher, objects: Sequence[Object], hosts: set[str]
) -> None:
    runs: dict[str, list[Object]] = {}
    for each in objects:
        top = each.name.partition("/")[0]
        runs.setdefault(top if top in hosts else "", []).append(each)
    if not all(_shares_job(store, launcher, place, run) for place, run in runs.items()):
        raise store.not_empty()


def _shares_job(store: Store, launcher: Launcher, place: str, run: Sequence[Object]) -> bool:
    named = f"{place}/{_MANIFEST}" if place else _MANIFEST
    found = next((each for each in run if each.name == named), None)
    other = None if found is None else Launcher.of(_manifest(store, found))
    heard_s = max(each.modified_s for each in run)
    return other is not None and launcher.shares_job_of(other, heard_s)


def _manifest(store: Store, found: Object) -> dict[str, Any]:
    try:
        read = json.loads(store.head(found, found.size or 1 << 20))
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
