from __future__ import annotations

from xladoctor.fixes.proof.output import leaves_out

BEFORE = "step 0 loss 1.0\nstep 1 loss 0.5\nstep 2 loss 0.25\nmean 0.6\n"


def test_lines_may_be_missing_but_none_may_differ_or_move() -> None:
    assert leaves_out([BEFORE], "step 0 loss 1.0\nstep 2 loss 0.2501\nmean 0.6\n", 1e-3)
    assert leaves_out([BEFORE], "", 1e-3)
    assert not leaves_out([BEFORE], "step 0 loss 1.1\nmean 0.6\n", 1e-3)
    assert not leaves_out([BEFORE], "mean 0.6\nstep 0 loss 1.0\n", 1e-3)
    assert not leaves_out([BEFORE], "step 0 loss 1.0\nsomething new\n", 1e-3)
