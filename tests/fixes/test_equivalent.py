from __future__ import annotations

import pytest

from tests.fixes.harness import change, expected, fixed, refusal
from xladoctor.frontends.vocabulary import vocabulary

KIND = "equivalent"
REPLACEMENTS = vocabulary("torch_xla").replacements


def _cause(operator: str) -> dict[str, str]:
    return REPLACEMENTS[f"aten::{operator}"].model_dump()


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        (
            "huber_loss",
            "from torch.nn.functional import huber_loss\nloss = huber_loss(model(x), y)",
            "from torch.nn.functional import smooth_l1_loss\n"
            "loss = smooth_l1_loss(model(x), y, beta=1.0)",
        ),
        (
            "huber_loss",
            "import torch.nn.functional as F\nloss = F.huber_loss(a, b, delta=d) / 2",
            "import torch.nn.functional as F\nloss = d * F.smooth_l1_loss(a, b, beta=d) / 2",
        ),
        (
            "huber_loss",
            "from torch.nn.functional import huber_loss, smooth_l1_loss\nz = -huber_loss(a, b)",
            "from torch.nn.functional import huber_loss, smooth_l1_loss\n"
            "z = -smooth_l1_loss(a, b, beta=1.0)",
        ),
        (
            "huber_loss",
            "from torch.nn.functional import huber_loss\nf = huber_loss\nz = huber_loss(a, b)",
            "from torch.nn.functional import huber_loss\n"
            "from torch.nn.functional import smooth_l1_loss\n"
            "f = huber_loss\nz = smooth_l1_loss(a, b, beta=1.0)",
        ),
        (
            "logaddexp",
            "import torch\ny = x * torch.logaddexp(a, b)",
            "import torch\ny = x * torch.stack(torch.broadcast_tensors(a, b)).logsumexp(0)",
        ),
        (
            "isin",
            "import torch\ny = torch.isin(i, some)",
            "import torch\ny = (i.unsqueeze(-1) == some).any(-1)",
        ),
        (
            "bincount",
            "n = i.bincount(minlength=4)",
            "import torch\nn = (i.unsqueeze(-1) == torch.arange(4, device=i.device)).sum(0)",
        ),
        ("nansum", "y = x.nansum(0)", "import torch\ny = torch.where(x.isnan(), 0, x).sum(0)"),
        (
            "glu",
            "from torch.nn import functional as F\ny = 2 ** F.glu(h)",
            "from torch.nn import functional as F\n"
            "a, b = h.chunk(2, -1)\ny = 2 ** (a * b.sigmoid())",
        ),
    ],
)
def test_a_call_becomes_operators_that_are_lowered(operator: str, before: str, after: str) -> None:
    assert fixed(KIND, f"{before}  #!", **_cause(operator)) == f"{after}\n"


def test_what_it_needs_is_computed_before() -> None:
    assert fixed(
        KIND,
        """
        def loss(risks):
            if len(risks):
                return (risks.logcumsumexp(dim=0) - risks).mean()  #!
        """,
        **_cause("_logcumsumexp"),
    ) == expected(
        """
        def loss(risks):
            if len(risks):
                top = risks.logsumexp(0, keepdim=True)
                return ((risks - top).exp().cumsum(0).log() + top - risks).mean()
        """
    )


def test_a_call_over_several_lines() -> None:
    assert fixed(
        KIND,
        """
        import torch
        y = net(
            torch.hypot(  #!
                a,
                b,
            ),
            c,
        )
        """,
        **_cause("hypot"),
    ) == expected(
        """
        import torch
        y = net(
            (a * a + b * b).sqrt(),
            c,
        )
        """
    )


HEAD = "import torch\nimport torch.nn.functional as F\nimport numpy as np\n"


@pytest.mark.parametrize(
    ("operator", "line"),
    [
        ("huber_loss", "z = huber_loss(a, b)"),
        ("huber_loss", "z = self.huber_loss(a, b)"),
        ("huber_loss", "z = a.huber_loss(b)"),
        ("huber_loss", "z = np.huber_loss(a, b)"),
        ("huber_loss", "z = F.huber_loss(*pair)"),
        ("huber_loss", "z = F.huber_loss(a, b, **given)"),
        ("huber_loss", "z = F.huber_loss(a, b, reduction='sum')"),
        ("huber_loss", "z = F.huber_loss(a, b, 'none', 2.0)"),
        ("huber_loss", "z = F.huber_loss(a, b) + F.huber_loss(b, a)"),
        ("huber_loss", "z = F.huber_loss(a, b); y = 1"),
        ("huber_loss", "z = criterion(a, b)"),
        ("huber_loss", "z = partial(F.huber_loss, delta=2.0)"),
        ("huber_loss", "if F.huber_loss(a, b): pass"),
        ("im2col", "z = F.unfold(image, (2, 2))"),
        ("im2col", "size = 2, 2\nz = F.unfold(image, size)"),
        ("upsample_nearest1d", "z = F.interpolate(signal, scale_factor=1.5)"),
        ("_cdist", "z = torch.cdist(a, b, p=1)"),
        ("bincount", "z = np.bincount(i, minlength=4)"),
        ("bincount", "z = self.bincount(minlength=4)"),
        ("bincount", "z = i.bincount(weights=w, minlength=4)"),
        ("bincount", "z = i.bincount()"),
        ("median", "z = x.median(1).values"),
        ("glu", "a, b = 1, F.glu(h)"),
        ("glu", "z = f() + F.glu(h)"),
        ("glu", "z = F.glu(h) if h else 0"),
        ("glu", "z = h and F.glu(h)"),
        ("glu", "z = lambda h: F.glu(h)"),
        ("glu", "z = [F.glu(h) for h in hs]"),
        ("glu", "z = (h := f()) * F.glu(h)"),
        ("glu", "while F.glu(h): pass"),
        ("glu", "def z(h): return F.glu(h)"),
        ("glu", "z = other(h)"),
    ],
)
def test_refused(operator: str, line: str) -> None:
    assert refusal(KIND, f"{HEAD}{line}  #!", **_cause(operator))


def test_names_of_the_program_are_not_taken() -> None:
    text = "def f(x, top):\n    return x.logcumsumexp(0) + top  #!"
    assert "`top`" in refusal(KIND, text, **_cause("_logcumsumexp"))
    imported = "from torch.nn.functional import embedding_bag"
    text = f"{imported}\ndef embedding(x): pass\ny = embedding_bag(bags, table)  #!"
    assert "`embedding`" in refusal(KIND, text, **_cause("_embedding_bag"))


def test_where_the_result_is_another_is_said() -> None:
    text = "n = i.bincount(minlength=4)  #!"
    assert change(KIND, text, **_cause("bincount")).behaviour.startswith("an index of n or more")


def test_what_it_relies_on_is_said() -> None:
    text = f"{HEAD}z = torch.hypot(a, b)  #!"
    assert change(KIND, text, **_cause("hypot")).relies_on == ("the call means torch.hypot(x, y)",)
