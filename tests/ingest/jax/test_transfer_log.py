"""What JAX's transfer guard logs or refuses; what it prints is in ``test_compile_log.py``."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.frontends.jax.ingest.transfer_log import TransferLog
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.recorded_elsewhere import texts_alone

LOGGED = (
    "W0506 07:08:09.012345   77 guard_lib.cc:125] host-to-device transfer:"
    " aval=ShapedArray(int8[3,40]), dst_sharding=SingleDeviceSharding(device=CudaDevice(id=0),"
    " memory_kind=device)\n"
)
REFUSED = """Traceback (most recent call last):
  File "/app/serve.py", line 52, in <module>
    scores = model(batch)
  File "/usr/lib/python3.11/site-packages/jax/_src/traceback_util.py", line 195, in wrapper
    return fun(*args, **kwargs)
jaxlib.xla_extension.XlaRuntimeError: INVALID_ARGUMENT: Disallowed host-to-device transfer: aval=ShapedArray(int8[3,40]), dst_sharding=x
"""  # noqa: E501


def transfers(text: str) -> list[tuple[object, ...]]:
    ingested = texts_alone([read_text(io.BytesIO(text.encode()), "out.log")])
    return [
        (row["direction"], row["dtype"], row["shape"], row["file"], row["line"])
        for row in rows(ingested.tables["transfer"])
    ]


def test_a_log_names_no_line() -> None:
    assert transfers(LOGGED) == [("to_device", "int8", [3, 40], None, None)]


def test_a_transfer_that_is_refused_has_its_line_and_so_has_the_same_array_where_it_is_logged() -> (
    None
):
    assert transfers(f"epoch 1\n{LOGGED}{REFUSED}") == 2 * [
        ("to_device", "int8", [3, 40], "/app/serve.py", 52)
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "device-to-host transfer: shape=(8, 64), dtype=F32, device=TPU_0(process=0)",
            ("to_host", "F32", [8, 64]),
        ),
        (
            "device-to-device transfer: aval=ShapedArray(float32[4]), dst_sharding=x",
            ("between_devices", "float32", [4]),
        ),
        (
            "host-to-device transfer: aval=ShapedArray(float32[], weak_type=True), dst_sharding=x",
            ("to_device", "float32", []),
        ),
        ("host-to-device transfer: ", ("to_device", None, None)),
    ],
)
def test_directions_and_arrays(line: str, found: tuple[object, ...]) -> None:
    assert [each[:3] for each in transfers(line)] == [found]


def test_a_traceback_alone_is_none_of_its_log() -> None:
    with pytest.raises(IngestError, match="an error of a program"):
        transfers(REFUSED.replace("Disallowed host-to-device transfer", "shapes differ"))


@given(st.text(alphabet='(),=[]0123 aval=ShapedArray(host-to-device transfer: File"line\n'))
def test_any_text_is_taken_or_left(text: str) -> None:
    log = TransferLog()
    for line in ("host-to-device transfer: " + text).splitlines():
        log.take(line)
    log.add(Gathered(), Ingested().of(0))


@pytest.mark.parametrize(
    ("way", "fix"),
    [("device-to-host", "Keep the array"), ("host-to-device", "Call jax.device_put")],
)
def test_reads_and_uploads_have_cures_of_their_own(tmp_path: Path, way: str, fix: str) -> None:
    file = tmp_path / "out.log"
    file.write_text(
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 9, in <module>\n'
        f"    total += float(loss)\njaxlib._jax.XlaRuntimeError: INVALID_ARGUMENT: Disallowed {way}"
        " transfer: shape=(), dtype=F32, device=TPU_0\n"
    )
    (finding,) = diagnose(load_evidence(str(file)), load_rules()).findings
    assert finding.rule == "XD204"
    assert finding.fix.startswith(fix)
