"""Uploads what is new in a run directory: the main function of a process of its own.

It reads one :class:`Order` as JSON from standard input, because its URL may hold a secret, which
the list of processes would show. It writes one :class:`Answer` to standard output.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from xladoctor.recording.job import Launcher
from xladoctor.regular_files import LISTING, read_bytes
from xladoctor.storage.address import StorageError, parse_address
from xladoctor.storage.shared import claim, free_places, is_shared
from xladoctor.storage.store import AT_A_TIME, Store

_NICE = 10
#: A reader believes these: the later ones only of what stands before them.
_LAST = ("process.json", "run.json")
_UNFINISHED = ".new"
Stamp = tuple[int, int]


class Order(msgspec.Struct):
    """What to do.

    Attributes:
        task: ``check`` whether something can be uploaded there, ``claim`` a place there, ``send``
            what is new, or see whether it is ``shared``.
        launcher: whose run it is, if others of its job may use the same URL.
        sent: the size and date of each file as it was uploaded before, by name.
        ended: whether the run is over: objects without a file are removed.
    """

    task: Literal["check", "claim", "send", "shared"]
    url: str
    directory: str = ""
    sent: dict[str, Stamp] = {}
    ended: bool = False
    launcher: Launcher | None = None


class Answer(msgspec.Struct):
    """What came of it.

    Attributes:
        sent: as in the order, brought up to date.
        place: the claimed folder below the URL; empty for the URL itself.
        shared: whether runs of several hosts are there.
        what, hint: what went wrong, and what to do; empty if nothing did.
        refused: whether nothing can be uploaded there, whatever is tried again.
    """

    sent: dict[str, Stamp] = {}
    place: str = ""
    shared: bool = False
    what: str = ""
    hint: str = ""
    refused: bool = False


def carry_out(order: Order) -> Answer:
    """Do it; errors are in the answer."""
    answer = Answer(dict(order.sent))
    try:
        with closing(Store(parse_address(order.url))) as store:
            if order.task == "claim" and order.launcher:
                manifest = read_bytes(Path(order.directory) / "run.json")
                answer.place = claim(store, order.launcher, manifest)
            elif order.task == "shared":
                answer.shared = is_shared(store)
            elif order.launcher:
                next(free_places(store, order.launcher))
            elif order.task == "check":
                if store.contents():
                    raise store.not_empty()
            else:
                _send(store, Path(order.directory), answer.sent, ended=order.ended)
    except StorageError as error:
        answer.what, answer.hint = error.what, error.hint
        answer.refused = error.certain
    except OSError as error:
        answer.what = f"cannot read {error.filename}: {error.strerror}"
    return answer


def _send(store: Store, directory: Path, sent: dict[str, Stamp], *, ended: bool) -> None:
    """Upload what is new, so that a reader at any moment finds a run that was like that once.

    A record that lists other files is read before them and uploaded after them: these only grow.

    Raises:
        StorageError, OSError: what was uploaded until then is in ``sent``.
    """
    stamps = dict(_stamps(directory))
    fresh = {name: stamp for name, stamp in stamps.items() if sent.get(name) != stamp}
    records = {name: read_bytes(directory / name) for name in fresh if Path(name).name in _LAST}

    def upload(name: str) -> None:
        file = directory / name
        if name in records:
            store.put(name, records[name])
        elif fresh[name][0] <= LISTING:  # at once, as it may grow meanwhile
            store.put(name, read_bytes(file, LISTING))
        else:
            store.put(name, file)
        sent[name] = fresh[name]

    for last in (None, *_LAST):
        names = [name for name in fresh if _rank(name) == last]
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            list(pool.map(upload, names))
    for name in [name for name in sent if ended and name not in stamps]:
        store.remove(name)
        del sent[name]


def _rank(name: str) -> str | None:
    own = Path(name).name
    return own if own in _LAST else None


def _stamps(directory: Path) -> Iterable[tuple[str, Stamp]]:
    """The files of a run directory, with their sizes and dates."""
    for file in sorted(directory.rglob("*")):
        if file.is_file() and not file.is_symlink() and not file.name.endswith(_UNFINISHED):
            about = file.stat()
            yield file.relative_to(directory).as_posix(), (about.st_size, about.st_mtime_ns)


def main() -> None:
    """Carry out the order on standard input."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # of the launcher, which blocks them
    os.nice(_NICE)
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    sys.stdout.buffer.write(msgspec.json.encode(carry_out(order)))
    sys.stdout.flush()
    os._exit(0)  # clients leave threads behind
