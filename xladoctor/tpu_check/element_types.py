"""Element types, as MLIR and as HLO write them."""

from __future__ import annotations

import re

_TO_HLO = {"i1": "pred", "complex<f32>": "c64", "complex<f64>": "c128"}
_TO_MLIR = {hlo: mlir for mlir, hlo in _TO_HLO.items()}
_MLIR_INTEGER = re.compile(r"(u?)s?i(\d+)", re.ASCII)
_HLO_INTEGER = re.compile(r"([su])(\d+)", re.ASCII)


def to_hlo(mlir: str) -> str:
    """``s32`` of ``i32``, ``u8`` of ``ui8``; floating-point types are called alike."""
    if integer := _MLIR_INTEGER.fullmatch(mlir):
        return _TO_HLO.get(mlir, f"{integer[1] or 's'}{integer[2]}")
    return _TO_HLO.get(mlir, mlir)


def to_mlir(hlo: str) -> str:
    """``i32`` of ``s32``, ``ui8`` of ``u8``; floating-point types are called alike."""
    if integer := _HLO_INTEGER.fullmatch(hlo):
        return f"{'u' * (integer[1] == 'u')}i{integer[2]}"
    return _TO_MLIR.get(hlo, hlo)
