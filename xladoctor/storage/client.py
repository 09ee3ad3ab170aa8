"""The client of a store, which is fsspec's.

fsspec, and what it needs for a store, are imported when a URL is used, not before.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from base64 import b64encode
from functools import cache
from typing import Any

from xladoctor.storage.address import Address
from xladoctor.storage.faults import explained, not_installed

#: Seconds to connect, and between two parts of an answer.
CONNECT_S, ANSWER_S = 15.0, 60.0
_LIBRARIES = (
    *("aiobotocore", "aiohttp", "asyncio", "boto3", "botocore"),
    *("fsspec", "gcsfs", "google", "s3fs", "urllib3"),
)


def open_client(address: Address) -> Any:
    """A client for an address: a file system of fsspec.

    Raises:
        StorageError: it is not installed, or cannot be made.
    """
    _keep_quiet()
    try:
        import fsspec

        kind: Any = fsspec.get_filesystem_class(address.scheme)
        if address.scheme == "gs":  # without its experiments, which ask another service
            from gcsfs.core import GCSFileSystem

            kind = GCSFileSystem
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"google\.auth")  # on whose credentials
            return kind(**_options(kind, address))
    except (ImportError, ValueError) as error:
        raise not_installed(address.scheme, error) from None
    except Exception as error:
        raise explained(error, address) from None


def close_client(files: Any) -> None:
    """Close its connections, which it would leave to the garbage collector."""
    client = getattr(files, "_session", None) or getattr(files, "_s3", None)
    if client is not None:
        from fsspec.asyn import sync

        with contextlib.suppress(Exception):
            sync(files.loop, client.close, timeout=CONNECT_S)


@cache
def _keep_quiet() -> None:
    """Libraries log URLs, which Python prints unless somebody listens: whoever does still hears."""
    for library in _LIBRARIES:
        logging.getLogger(library).addHandler(logging.NullHandler())


def _options(kind: Any, address: Address) -> dict[str, Any]:
    """What the client of a store is made with; each is made anew, as credentials may differ."""
    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if address.scheme == "s3":
        options["config_kwargs"] = {"connect_timeout": CONNECT_S, "read_timeout": ANSWER_S}
        if address.user:
            options |= {"key": address.user, "secret": address.password}
    elif address.scheme in ("http", "https"):
        import aiohttp

        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=ANSWER_S)
        options["client_kwargs"] = {"timeout": limits}
        if address.user:
            known = b64encode(f"{address.user}:{address.password}".encode()).decode()
            options["client_kwargs"]["headers"] = {"Authorization": f"Basic {known}"}
    elif address.scheme == "memory":
        return {}  # all of it is one
    elif address.scheme != "gs":
        options |= kind._get_kwargs_from_urls(address.complete)
        if "password" in options:  # which some leave as it is written in a URL
            options |= {"username": address.user, "password": address.password}
    return options
