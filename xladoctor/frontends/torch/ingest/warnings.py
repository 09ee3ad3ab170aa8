"""Reads the warnings of torch.compile that are printed without any setting.

Wording: ``torch/_inductor/compile_fx.py``, ``cudagraph_utils.py``, ``cudagraph_trees.py``,
``utils.py`` and ``lowering.py`` of torch 2.1 to 2.13. Why a part is left out of CUDA graphs is
followed by the traced frames, outermost first; with a log's head, each line has it::

    skipping cudagraphs due to cpu device (arg3_1). Found from :
       File "/app/model.py", line 7, in forward
        return x * self.scale
"""

from __future__ import annotations

import re

from xladoctor.frontends.torch.ingest.text_records import FOLDERS, FRONTEND
from xladoctor.ingest.frames import TRACED, Frame
from xladoctor.ingest.warning_log import WarningLog

_KINDS = {
    "skipping cudagraphs due to ": "CUDA graphs skipped",
    "disabling cudagraphs due to ": "CUDA graphs skipped",
    "cudagraph partition due to ": "CUDA graph split",
    "CUDAGraph supports dynamic shapes by recording": "CUDA graph for each size",
    "Unable to hit fast path of CUDAGraphs": "CUDA graphs wait for backward",
    "TensorFloat32 tensor cores": "TF32 not enabled",
    "Not enough SMs to use max_autotune": "max-autotune not used",
}
#: A reason may repeat the words that begin a warning.
_REASON = re.compile(
    r"(?:(?:skipping|disabling) cudagraphs due to |cudagraph partition due to )+(.{1,500}?)"
    r"(?:\.? Found from ?:?\s*)?$"
)
_HEAD = re.compile(r"[VIWE]\d{4} [\d:.]+ .{0,200}?\] (?:\[\S{1,40}\] )*")
_MOST_LINES = 200  # of a stack


class TorchWarnings(WarningLog):
    """Collects the warnings of one process."""

    NAME = "PyTorch's warnings"
    LACKING = "no warning of PyTorch about performance in it"
    MARKS = tuple(_KINDS)
    frontend = FRONTEND

    def __init__(self) -> None:
        super().__init__()
        self._open: tuple[str, str] | None = None  # a warning whose frames may follow
        self._frames: list[Frame] = []
        self._lines = 0

    @property
    def has_records(self) -> bool:
        """Whether there is any warning."""
        self._close()
        return super().has_records

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of a warning."""
        text = _HEAD.sub("", line.rstrip(), count=1)
        mark = self.mark(text)
        if mark is None:
            return self._further(text)
        self._close()
        text = text[text.index(mark) :]
        reason = _REASON.search(text)
        self._open = _KINDS[mark], reason[1].rstrip(". ") if reason else text
        return True

    def _further(self, text: str) -> bool:
        frame = TRACED.match(text, max(0, text.find('File "')))
        if frame:
            self._frames.append(Frame(frame[1], int(frame[2]), frame[3]))
        elif self._open is None or (text.strip() and not text[:1].isspace()):
            self._close()
            return False
        self._lines += 1
        if self._lines > _MOST_LINES:
            self._close()
        return True

    def _close(self) -> None:
        if self._open:
            self.warn(*self._open, FOLDERS.locate(reversed(self._frames)))
        self._open, self._frames, self._lines = None, [], 0
