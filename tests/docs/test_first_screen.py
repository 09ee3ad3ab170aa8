"""Each of the pages that people open first says at once what to type, whatever they came for."""

from __future__ import annotations

import pytest

from tests.docs.test_links import ROOT

#: A user's question, and the command that answers it.
ANSWERS = {
    "is slow": "xladoctor run train.py",
    "off torch_xla": "xladoctor move train.py --to torch_tpu",
    "out of memory": "xladoctor memory last",
    "compiles again": "xladoctor cache last~1 last",
    "get slower": "xladoctor gate -- python train.py --steps 50",
}


@pytest.mark.parametrize("question", ANSWERS)
@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_the_first_screen_answers(page: str, question: str) -> None:
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()[:25]
    (row,) = (line for line in lines if line.startswith("|") and question in line)
    assert f"`{ANSWERS[question]}`" in row
    for way in ("pip install xladoctor", "make demo-jax"):
        assert way in "\n".join(lines)
