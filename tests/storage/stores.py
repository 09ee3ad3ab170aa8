"""Stores that run here: an S3 server, an emulator of Google Cloud Storage, and web servers."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KEY, SECRET = "AKIDEXAMPLEKEY", "wJalrXUtnFEMI+K7MDENG"
SECRET_IN_URL = "wJalrXUtnFEMI%2BK7MDENG"
BUCKET = "evidence"

_S3 = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def s3() -> Iterator[str]:
    """An S3 server in a process of its own, with an empty bucket; gives its address."""
    with subprocess.Popen(
        [sys.executable, "-c", _S3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.communicate("")


def s3_environment(endpoint: str) -> dict[str, str]:
    """The variables by which clients find the server."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextlib.contextmanager
def gcs() -> Iterator[str]:
    """An emulator of Google Cloud Storage, with an empty bucket; gives its address."""
    from gcp_storage_emulator.server import create_server

    logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
    port = free_port()
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket=BUCKET)
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()


def free_port() -> int:
    """A port that nobody listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def web(answer: Callable[[Any], None] | None = None, folder: Path | None = None) -> Iterator[str]:
    """A web server.

    Args:
        answer: answers a request, given its handler, for GET and HEAD.
        folder: what it serves otherwise.
    """

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert answer
            answer(self)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    class Serving(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Nothing."""

    handler = partial(Serving, directory=str(folder)) if folder else Answering
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
