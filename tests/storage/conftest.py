"""Stores for the tests of this folder: one of each kind for all of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.asyn import sync

from tests.storage import stores
from xladoctor.cache_folder import cache_folder

SAMPLES = Path(__file__).parents[2] / "sample_traces"
#: A run of a program on torch_xla, with one finding.
RUN = SAMPLES / "recompiling"


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    with stores.s3() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def gcs_endpoint() -> Iterator[str]:
    with stores.gcs() as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of copies in a cache of the test's own, which shares what is compiled."""
    compiled, own = cache_folder("numba"), tmp_path / "cache" / "xladoctor"
    own.mkdir(parents=True)
    if compiled:
        (own / "numba").symlink_to(compiled)
    monkeypatch.setenv("XDG_CACHE_HOME", str(own.parent))
    return own / "storage"


@pytest.fixture
def s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The S3 server as a file system, with a bucket ``evidence``."""
    import s3fs

    for name, value in stores.s3_environment(s3_endpoint).items():
        monkeypatch.setenv(name, value)
    files = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
    if not files.exists(stores.BUCKET):
        files.mkdir(stores.BUCKET)
    yield files
    sync(files.loop, files._s3.close)


@pytest.fixture
def gcs(gcs_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The emulator of Google Cloud Storage as a file system, with a bucket ``evidence``."""
    from gcsfs.core import GCSFileSystem

    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_endpoint)
    monkeypatch.setenv("NO_GCE_CHECK", "true")  # no look for a machine of Google's around us
    files = GCSFileSystem(token="anon", skip_instance_cache=True, use_listings_cache=False)
    yield files
    if files._session is not None:
        sync(files.loop, files._session.close)


@pytest.fixture
def memory() -> Any:
    """The file system in this process's memory, for what is the same in all stores."""
    import fsspec

    return fsspec.filesystem("memory")


@pytest.fixture
def place() -> str:
    """A place in the bucket that no other test uses."""
    return f"{stores.BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture
def said() -> list[str]:
    """The lines that are shown to the user."""
    return []
