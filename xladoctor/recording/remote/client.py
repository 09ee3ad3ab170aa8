"""One profile from one server, by gRPC."""

from __future__ import annotations

import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from xladoctor.frontends.vocabulary import captured
from xladoctor.recording.interface import CaptureError
from xladoctor.recording.remote.interface import Address, Profile
from xladoctor.recording.remote.messages import METHOD, message
from xladoctor.whole_files import replacing

if TYPE_CHECKING:
    import grpc

_CONNECT_S = 5.0  # a server on the other side of the world answers within one second
#: To collect the events: 13 s of 1.3 ms steps, 1.8 million events, took 5 s.
_COLLECT_S, _COLLECT_SHARE = 30.0, 2.0
#: Bytes of a response: a gigabyte holds some 30 million events.
_LARGEST = 1 << 30
_BUSY = "Another profiling session active"  # tsl/profiler/lib/profiler_lock.h
_NO_GRPC = "failed to connect to all addresses"  # gRPC's message if the server does not speak it
_OPTIONS = [
    ("grpc.enable_http_proxy", 0),  # use the server that was connected to
    ("grpc.max_receive_message_length", _LARGEST),
    ("grpc.min_reconnect_backoff_ms", round(_CONNECT_S * 1e3)),  # also ends the first attempt
]
_WHICH_PORT = "Is it the port that the program gave to start_server?"


class NotYetError(CaptureError):
    """There is no profile yet, but retrying may help."""


@dataclass(frozen=True, slots=True)
class Order:
    """The profile that each server is requested to take.

    Attributes:
        duration_ms: how long to record.
        folder: the session's folder here.
        root: the folder of its session's folder, on the server's machine.
    """

    duration_ms: int
    folder: Path
    root: str

    def path(self, address: Address) -> str:
        """The path of the timeline that a server writes on its machine."""
        return f"{self.root.rstrip('/')}/{self.folder.name}/{address.file}"


def take_profile(address: Address, order: Order) -> Profile:
    """Let the server record, and put its timeline into the session's folder.

    Raises:
        NotYetError: nothing listens there, or it is taking another profile.
        CaptureError: it cannot be reached, is not a profiler server, or recorded nothing.
    """
    response = _ask(address, order)
    here, there = order.folder / address.file, Path(order.path(address))
    if response.empty_trace:
        here.unlink(missing_ok=True)
        raise CaptureError(
            f"{address}: the program did nothing visible in {order.duration_ms / 1e3:g} s",
            "it is idle or hangs, or a single operation (a compilation) took longer than that:"
            " try a longer --duration",
        )
    try:
        if response.xspace:
            with replacing(here) as file:
                file.write(response.xspace)
        elif there != here and there.is_file():
            with there.open("rb") as source, replacing(here) as file:
                shutil.copyfileobj(source, file)
    except OSError as error:
        raise CaptureError(f"{address}: cannot copy its timeline to {here}: {error}") from error
    return Profile(address, left_at=None if here.is_file() else order.path(address))


def _ask(address: Address, order: Order) -> Any:
    import grpc

    request = message("ProfileRequest")(
        duration_ms=order.duration_ms,
        repository_root=order.root,
        emit_xspace=True,
        session_id=order.folder.name,
        host_name=address.file.removesuffix(".xplane.pb"),
        opts={  # TSL's defaults; servers only read options that have a version
            "version": 1,
            "host_tracer_level": 2,
            "device_tracer_level": 1,
            "enable_hlo_proto": True,
            "duration_ms": order.duration_ms,
        },
    )
    seconds = order.duration_ms / 1e3 * (1 + _COLLECT_SHARE) + _COLLECT_S
    with grpc.insecure_channel(_connect(address), options=_OPTIONS) as channel:
        profile = channel.unary_unary(
            METHOD, lambda sent: sent.SerializeToString(), message("ProfileResponse").FromString
        )
        try:
            return profile(request, timeout=seconds)
        except grpc.RpcError as error:
            raise _explained(error, address, order, seconds) from error


def _connect(address: Address) -> str:
    """The numeric address that answered, as gRPC writes it.

    A plain connection shows why it failed, whereas gRPC has one status for everything.
    """
    try:
        with socket.create_connection((address.host, address.port), timeout=_CONNECT_S) as probe:
            host, port = probe.getpeername()[:2]
    except ConnectionRefusedError as error:
        raise NotYetError(
            f"{address}: connection refused: no profiler server listens there",
            _start_server(),
        ) from error
    except (socket.gaierror, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise CaptureError(f"{address}: unknown host name: {why}") from error
    except OSError as error:
        raise CaptureError(
            f"{address}: cannot be reached: {error.strerror or error}",
            "a firewall may be in the way; to forward a port: ssh -L 9012:localhost:9012 HOST",
        ) from error
    return f"ipv6:[{host}]:{port}" if ":" in host else f"ipv4:{host}:{port}"


def _explained(
    error: grpc.RpcError, address: Address, order: Order, seconds: float
) -> CaptureError:
    """An error that explains the status of a call."""
    details = (error.details() or "").strip()
    if _BUSY in details:
        what = f"{address}: another profile of this program is being taken"
        return NotYetError(what, "--wait 1m waits for its end")
    what, hint = _cause(error.code().name, details, order, seconds)
    return CaptureError(f"{address}: {what}", hint)


def _cause(status: str, details: str, order: Order, seconds: float) -> tuple[str, str]:
    if _NO_GRPC in details:
        return (
            "something listens there, but does not answer as a profiler server",
            f"{_WHICH_PORT} And is the program running? A stopped one does not answer.",
        )
    if order.root in details:
        return (
            f"the server cannot write its profile: {details}",
            "name a folder on its machine that the program can write to:"
            " --server-directory /tmp/profiles",
        )
    known = {
        "UNIMPLEMENTED": (f"speaks gRPC, but is not a profiler server ({details})", _WHICH_PORT),
        "UNAVAILABLE": (f"the program ended while it was being captured ({details})", ""),
        "RESOURCE_EXHAUSTED": (
            f"its timeline is larger than {_LARGEST >> 30} GiB, or it has no memory for it"
            f" ({details})",
            "a shorter --duration records less",
        ),
        "DEADLINE_EXCEEDED": (
            f"no answer within {seconds:.0f} s",
            "a shorter --duration has less to collect",
        ),
    }
    return known.get(status, (f"the server took no profile: {status}: {details}", ""))


def _start_server() -> str:
    code = "\n".join(
        f"  {each.title}:\n{indent(each.words['server'], '    ')}"
        for each in captured()
        if "server" in each.words
    )
    return (
        f"start it in the program, and keep what it returns:\n{code}\n"
        "it may still be starting: --wait 1m gives it time"
    )
