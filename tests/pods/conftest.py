"""Pods that several tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pods.generated import write_pod
from tests.pods.simulation import Pod
from xladoctor.cache_folder import cache_folder


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of these tests' own, which shares what is compiled."""
    compiled, folder = cache_folder("numba"), tmp_path_factory.mktemp("cache")
    (folder / "xladoctor").mkdir()
    if compiled:
        (folder / "xladoctor" / "numba").symlink_to(compiled)
    return folder


@pytest.fixture(autouse=True)
def cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept hosts, in which those of other tests may be."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))
    return shared_cache / "xladoctor" / "pods"


@pytest.fixture(scope="session")
def slow_input(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three hosts, the second of which waits for its input; not to be changed."""
    folder = tmp_path_factory.mktemp("pod")
    write_pod(folder, Pod(hosts=3, devices=2, steps=12, sickness="input"))
    return folder
