"""Binary files that a program for texts has converted."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.chrome.builder import training
from tests.xspace import devices
from xladoctor.doctor import load_evidence
from xladoctor.ingest.compressed import is_spoilt
from xladoctor.ingest.interface import IngestError


def as_text(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("vm.xplane.pb", devices.tpu().bytes()),
        ("rank0.pt.trace.json.gz", gzip.compress(training().text().encode(), mtime=0)),
    ],
    ids=["timeline", "packed"],
)
def test_a_file_that_was_converted_to_text_is_named_so(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(as_text(data))

    with pytest.raises(
        IngestError, match=r"was converted to text, .* Copy the original as a binary"
    ):
        load_evidence(str(tmp_path / name))
    assert not is_spoilt(data)


def test_the_others_of_a_folder_are_used(tmp_path: Path) -> None:
    data = devices.tpu().bytes()
    (tmp_path / "a.xplane.pb").write_bytes(as_text(data))
    (tmp_path / "b.xplane.pb").write_bytes(data)

    evidence = load_evidence(str(tmp_path))

    assert evidence.database.scalar("SELECT count(*) FROM process") == 1
    assert [note for note in evidence.notes if "was converted to text" in note]


@pytest.mark.parametrize(
    "text", ["", "train.py\n", "Größe: 3\n" * 100, "one \N{REPLACEMENT CHARACTER}" + "x" * 200]
)
def test_what_is_as_it_was_is_not_spoilt(text: str) -> None:
    assert not is_spoilt(text.encode())
