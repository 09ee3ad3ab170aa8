"""Takes profiles of all servers at the same time, into one run directory."""

from __future__ import annotations

import importlib.util
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

from xladoctor import __version__
from xladoctor.foreign import encodable, quoted
from xladoctor.recording import manifest
from xladoctor.recording.directory import make_directory
from xladoctor.recording.interface import CaptureError, RunDirectory
from xladoctor.recording.remote.client import NotYetError, Order, take_profile
from xladoctor.recording.remote.interface import Address, Fetched, Observer, Profile, RemoteRequest

_AGAIN_S = 0.5


def fetch(request: RemoteRequest, observer: Observer) -> Fetched:
    """Profile every server, and write what came as a run directory.

    Raises:
        CaptureError: no profile reached the run directory. It is removed again, unless a server
            left its profile on its own machine: the directory then waits for it.
    """
    _require_grpc()
    _require_absolute(request.server_directory)
    directory = make_directory(request.output, "capture")
    began_ns = time.time_ns()
    session = f"{datetime.now():%Y_%m_%d_%H_%M_%S}"  # as XProf names its own
    folder = directory.path / "plugins" / "profile" / session
    _make(folder)
    try:
        profiles = _from_all(request, folder, observer)
        if any(profile.missing is None for profile in profiles):
            manifest.write(
                directory,
                {
                    **_record(request, session, began_ns, profiles),
                    **manifest.inventory(directory.path),
                },
            )
    finally:
        if not directory.manifest.exists():
            directory.unwritten_manifest.unlink(missing_ok=True)
            _remove_empty(folder, directory.path)
    if not any(profile.here for profile in profiles):
        raise _nothing_here(profiles, folder, directory)
    return Fetched(directory, tuple(profiles))


def _require_grpc() -> None:
    if importlib.util.find_spec("grpc") is None:
        raise CaptureError(
            "profiler servers speak gRPC, which is not installed",
            "pip install 'xladoctor[remote]'    (that is grpcio)",
        )


def _require_absolute(server_directory: str | None) -> None:
    if server_directory and not server_directory.startswith("/") and "://" not in server_directory:
        raise CaptureError(
            f"--server-directory {server_directory}: not an absolute path",
            "servers have working directories of their own; name /a/folder or gs://bucket/folder",
        )


def _from_all(request: RemoteRequest, folder: Path, observer: Observer) -> list[Profile]:
    """Profile each server in a thread of its own; an interrupt does not wait for the threads."""
    root = request.server_directory or str(folder.parent)
    if encodable(root) != root:
        raise CaptureError(
            f"{root}: not UTF-8, so no server can write there",
            "name another directory with --output",
        )
    order = Order(request.duration_ms, folder, root)
    observer.asking(request)
    threads = ThreadPoolExecutor(len(request.addresses))
    try:
        return list(
            threads.map(
                lambda address: _from_one(address, order, request.wait_ms / 1e3, observer),
                request.addresses,
            )
        )
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _from_one(address: Address, order: Order, patience_s: float, observer: Observer) -> Profile:
    until = time.monotonic() + patience_s
    reported = ""
    while True:
        try:
            return take_profile(address, order)
        except NotYetError as error:
            if time.monotonic() >= until:
                return Profile(address, missing=error)
            if error.what != reported:
                observer.waiting(error)
                reported = error.what
        except CaptureError as error:
            return Profile(address, missing=error)
        time.sleep(_AGAIN_S)


def _record(
    request: RemoteRequest, session: str, began_ns: int, profiles: list[Profile]
) -> dict[str, Any]:
    """The contents of ``run.json``: no command, but each server's request and outcome."""
    return {
        "schema_version": manifest.SCHEMA_VERSION,
        "tool": {"name": "xladoctor", "version": __version__},
        "kind": "remote",
        "session": session,
        "began_ns": began_ns,
        "duration_ms": request.duration_ms,
        "profiles": [
            {
                "address": str(profile.address),
                "file": profile.address.file,
                "left_at": profile.left_at,
                "missing": profile.missing.what if profile.missing else None,
            }
            for profile in profiles
        ],
    }


def _nothing_here(profiles: list[Profile], folder: Path, directory: RunDirectory) -> CaptureError:
    """The error if there is nothing to analyze, or not yet."""
    left = [profile for profile in profiles if profile.left_at]
    texts = [f"{p.address}: wrote its timeline on its own machine: {p.left_at}" for p in left]
    hints = [_copying(profile, folder) for profile in left]
    if left:
        hints.insert(0, "copy it here, for instance:")
        hints.append(f"then: xladoctor analyze {quoted(str(directory.path))}")
        hints.append("a folder that both machines see avoids this: --output, --server-directory")
    errors = [profile.missing for profile in profiles if profile.missing]
    texts += [error.what for error in errors]
    hints += dict.fromkeys(error.hint for error in errors if error.hint)
    if len(texts) > 1:
        texts = [f"no timeline from any of {len(texts)} servers:", *(f"  {text}" for text in texts)]
    return CaptureError(texts, "\n".join(hints))


def _copying(profile: Profile, folder: Path) -> str:
    """A command that copies a timeline from where its server left it."""
    left, here = str(profile.left_at), quoted(str(folder))
    if "://" in left:
        return f"  gcloud storage cp {quoted(left)} {here}/"
    host = profile.address.host
    through_a_tunnel = host in {"localhost", "127.0.0.1", "::1"}
    machine = "HOST" if through_a_tunnel else f"[{host}]" if ":" in host else host
    return f"  scp {quoted(f'{machine}:{left}')} {here}/"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise CaptureError(
            f"cannot create {folder}: {error.strerror}",
            "name a directory that you can write to with --output",
        ) from error


def _remove_empty(folder: Path, last: Path) -> None:
    """Remove the folder and those above it that hold nothing else, ``last`` included."""
    while folder.is_relative_to(last):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
