"""Element types in two languages."""

from __future__ import annotations

import pytest

from xladoctor.ingest.hlo.element_types import NAMES
from xladoctor.ingest.hlo.layout import bits
from xladoctor.tpu_check.element_types import to_hlo, to_mlir


@pytest.mark.parametrize(
    ("mlir", "hlo"),
    [("i1", "pred"), ("i32", "s32"), ("ui8", "u8"), ("bf16", "bf16"), ("complex<f64>", "c128")],
)
def test_types_of_mlir(mlir: str, hlo: str) -> None:
    assert (to_hlo(mlir), to_mlir(hlo)) == (hlo, mlir)


# In StableHLO `i1` is a boolean, and there is no other type of one signed bit.
@pytest.mark.parametrize("hlo", [each for each in NAMES.values() if bits(each) and each != "s1"])
def test_types_of_hlo_come_back(hlo: str) -> None:
    assert to_hlo(to_mlir(hlo)) == hlo
