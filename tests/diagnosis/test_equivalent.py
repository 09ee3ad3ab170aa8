"""A call is written with other operators, with the program's own arguments."""

from __future__ import annotations

import pytest

from xladoctor.diagnosis.expression import expression
from xladoctor.frontends.vocabulary import vocabulary

REPLACEMENTS = vocabulary("torch_xla").replacements


@pytest.mark.parametrize(
    ("source", "called", "operator", "written"),
    [
        (
            "loss = huber_loss(predicted, y)",
            "huber_loss",
            "aten::huber_loss",
            "loss = smooth_l1_loss(predicted, y, beta=1.0)",
        ),
        (
            "loss = F.huber_loss(net(x), y, delta=d)",
            "huber_loss",
            "aten::huber_loss",
            "loss = d * F.smooth_l1_loss(net(x), y, beta=d)",
        ),
        (
            "return (risks.logcumsumexp(dim=0) - risks).mean()",
            "logcumsumexp",
            "aten::_logcumsumexp",
            "top = risks.logsumexp(0, keepdim=True);"
            " return ((risks - top).exp().cumsum(0).log() + top - risks).mean()",
        ),
        (
            "gated = torch.nn.functional.glu(h) * 2",
            "glu",
            "aten::glu",
            "a, b = h.chunk(2, -1); gated = a * b.sigmoid() * 2",
        ),
        (
            "y = net(torch.logaddexp(a, b)) - 2 * glu(h)",
            "glu",
            "aten::glu",
            "a, b = h.chunk(2, -1); y = net(torch.logaddexp(a, b)) - 2 * (a * b.sigmoid())",
        ),
        ("d = torch.cdist(a, b, p=1)", "cdist", "aten::_cdist", ""),
        ("loss = huber_loss(*pair)", "huber_loss", "aten::huber_loss", ""),
        ("middle = x.median(1).values", "median", "aten::median", ""),
    ],
)
def test_a_call_is_written_with_lowered_operators(
    source: str, called: str, operator: str, written: str
) -> None:
    call = expression(source, [called])
    assert call is not None
    known = REPLACEMENTS[operator]
    assert call.rewritten(known.call, known.instead, known.where) == written
