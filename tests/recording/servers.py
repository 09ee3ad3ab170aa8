"""Servers on this machine: profiler servers that answer as they are told, and others."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import grpc

from tests.xspace import builder
from xladoctor.recording.remote.messages import METHOD, message

Answer = Callable[[Any, Any], Any]


@contextmanager
def profiler(answer: Answer, method: str = METHOD) -> Iterator[str]:
    """A gRPC server; ``answer(request, context)`` is what its one method returns."""
    _, service, name = method.split("/")
    handler = grpc.unary_unary_rpc_method_handler(
        answer, message("ProfileRequest").FromString, lambda sent: sent.SerializeToString()
    )
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {name: handler}),)
    )
    port = server.add_insecure_port("[::]:0")
    server.start()
    try:
        yield f"localhost:{port}"
    finally:
        server.stop(None)


def timeline(steps: int = 5) -> bytes:
    """A timeline with so many steps."""
    space = builder.Space()
    space.started_at(1_700_000_000_000_000_000)
    line = space.plane("/host:CPU").line("python")
    for step in range(steps):
        line.event("train", 100.0 * step, 90, _r=1, step_num=step)
    return space.bytes()


def sends(request: Any, _: Any) -> Any:
    """As servers do that know ``emit_xspace``."""
    assert request.emit_xspace
    return message("ProfileResponse")(xspace=timeline())


def writes(request: Any, _: Any) -> Any:
    """As the server of torch_xla 2.9.0 does."""
    folder = Path(request.repository_root, request.session_id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{request.host_name}.xplane.pb").write_bytes(timeline())
    return message("ProfileResponse")()


def leaves(_: Any, __: Any) -> Any:
    """As the same server does on another machine."""
    return message("ProfileResponse")()


def refuses(status: grpc.StatusCode, details: str) -> Answer:
    """A server that answers with an error."""

    def answer(_: Any, context: Any) -> Any:
        context.abort(status, details)

    return answer


def busy_for(seconds: float) -> Answer:
    """A server that takes another profile for so long."""
    free = time.monotonic() + seconds

    def answer(request: Any, context: Any) -> Any:
        if time.monotonic() < free:
            context.abort(grpc.StatusCode.INTERNAL, "Another profiling session active.")
        return sends(request, context)

    return answer


def closed_port() -> int:
    """A port at which nothing listens."""
    with socket.create_server(("localhost", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def web_server() -> Iterator[str]:
    """Something else that listens: HTTP."""
    with HTTPServer(("localhost", 0), BaseHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"localhost:{server.server_port}"
        server.shutdown()


@contextmanager
def silent() -> Iterator[str]:
    """A listener whose program does not answer, as one that is stopped."""
    with socket.create_server(("localhost", 0)) as server:
        yield f"localhost:{server.getsockname()[1]}"


@contextmanager
def black_hole() -> Iterator[str]:
    """A port that drops what is sent to it: its queue of connections is full."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"
