"""Says what went wrong between this machine and a store, and what to do about it.

Libraries say it in many ways, some with the complete URL: their texts are shown only where a fault
has no name here, and without the URL's secrets.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from enum import Enum
from typing import Any

from xladoctor.recording.bootstrap._xladoctor.redaction import redact_text
from xladoctor.storage.address import Address, StorageError

_LONGEST = 300  # characters of a library's message
_EXTRAS = {"gs": "gcs", "s3": "s3", "http": "http", "https": "http"}
_CREDENTIALS = {
    "gs": "gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS=FILE",
    "s3": "AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or aws sso login;"
    " FSSPEC_S3_ANON=true reads a public bucket without",
}
_ENDPOINT = {
    "gs": "STORAGE_EMULATOR_HOST, if it is set, and the network",
    "s3": "AWS_ENDPOINT_URL and AWS_REGION, if they are set, and the network",
}


class Fault(Enum):
    """What can be wrong; the value says it."""

    DENIED = "no permission"
    NO_CREDENTIALS = "no credentials"
    ABSENT = "no such object or folder"
    NO_BUCKET = "no such bucket"
    UNREACHED = "the store cannot be reached"
    LATE = "the store did not answer in time"
    ELSEWHERE = "the bucket is in another region, or at another endpoint"
    BUSY = "the store failed or is overloaded"
    OTHER = "cannot be read or written"

    @property
    def may_pass(self) -> bool:
        """Whether trying again may help."""
        return self in (Fault.UNREACHED, Fault.LATE, Fault.BUSY)


_BY_NAME = {
    **dict.fromkeys(
        ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"), Fault.NO_CREDENTIALS
    ),
    **dict.fromkeys(
        ("EndpointConnectionError", "ConnectionClosedError", "ClientOSError", "ClientPayloadError",
         "ClientConnectorError", "ServerDisconnectedError"),
        Fault.UNREACHED,
    ),
    **dict.fromkeys(
        ("ConnectTimeoutError", "ReadTimeoutError", "FSTimeoutError", "ServerTimeoutError"),
        Fault.LATE,
    ),
}  # fmt: skip
_BY_STATUS = {
    **dict.fromkeys(("401", "403"), Fault.DENIED),
    **dict.fromkeys(("404", "410"), Fault.ABSENT),
    **dict.fromkeys(("408", "429"), Fault.BUSY),
    **dict.fromkeys(
        ("301", "307", "PermanentRedirect", "IllegalLocationConstraintException"), Fault.ELSEWHERE
    ),
    "NoSuchBucket": Fault.NO_BUCKET,
}
_BY_KIND = {
    TimeoutError: Fault.LATE,
    PermissionError: Fault.DENIED,
    FileNotFoundError: Fault.ABSENT,
    ConnectionError: Fault.UNREACHED,
}
_BY_NUMBER = {
    errno.EREMCHG: Fault.ELSEWHERE,
    errno.EBUSY: Fault.BUSY,
    errno.EREMOTEIO: Fault.BUSY,
}


def fault_of(error: BaseException) -> Fault:
    """What is wrong: by what caused the error, as some libraries raise the same for everything."""
    known = [fault for each in _causes(error) if (fault := _fault(each)) is not Fault.OTHER]
    return known[-1] if known else Fault.OTHER


def explained(error: BaseException, address: Address) -> StorageError:
    """The error for people."""
    if isinstance(error, StorageError):
        return error
    fault, shown = fault_of(error), address.shown
    hints = {
        Fault.DENIED: f"credentials come from: {_CREDENTIALS[address.scheme]}"
        if address.scheme in _CREDENTIALS
        else "the server refuses it: has the URL's signature expired?",
        Fault.NO_CREDENTIALS: f"set: {_CREDENTIALS.get(address.scheme, 'those of the store')}",
        Fault.UNREACHED: f"check {_ENDPOINT.get(address.scheme, 'its name and the network')}",
        Fault.LATE: f"check {_ENDPOINT.get(address.scheme, 'the network')}, and try again",
        Fault.ELSEWHERE: "set AWS_REGION to the region of the bucket",
        Fault.BUSY: "try again later",
    }
    where = f"{address.scheme}://{address.host}" if fault is Fault.NO_BUCKET else shown
    what = f"{where}: {fault.value}"
    if fault in (Fault.OTHER, Fault.BUSY):
        said = address.without_secrets(" ".join(str(error).split()))[:_LONGEST]
        what += f" ({type(error).__name__}{f': {redact_text(said)}' if said else ''})"
    certain = not fault.may_pass and fault is not Fault.DENIED  # of the listing alone, perhaps
    return StorageError(what, hints.get(fault, ""), certain=certain, absent=fault is Fault.ABSENT)


def not_installed(scheme: str, why: BaseException | None = None) -> StorageError:
    """The error for a scheme whose client is not installed, or that nothing here knows."""
    if extra := _EXTRAS.get(scheme):
        return StorageError(
            f"{scheme}://…: reading and writing it needs a package that is not installed",
            f"pip install 'xladoctor[{extra}]'",
        )
    if isinstance(why, ImportError):
        return StorageError(f"{scheme}://…: {why}")
    return StorageError(
        f"{scheme}://…: an unknown kind of URL",
        "expected gs://, s3://, http://, https://, or another one that fsspec knows",
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _fault(error: BaseException) -> Fault:
    """What one error says, by the name of its class, by the store's answer, or by its base."""
    name, status = type(error).__name__, _status(error)
    if known := _BY_NAME.get(name) or _BY_STATUS.get(status):
        return known
    if str(error).startswith("Forbidden"):  # of gcsfs
        return Fault.DENIED
    if status.isdecimal() and int(status) >= 500:
        return Fault.BUSY
    if kind := next((kind for kind in _BY_KIND if isinstance(error, kind)), None):
        return _BY_KIND[kind]
    return (
        _BY_NUMBER.get(error.errno or 0, Fault.OTHER) if isinstance(error, OSError) else Fault.OTHER
    )


def _status(error: Any) -> str:
    """The status of an answer: of aiohttp, gcsfs or botocore; empty for other errors."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code", ""))
    code = getattr(error, "status", None) or getattr(error, "code", None)
    return str(code) if isinstance(code, (int, str)) else ""
