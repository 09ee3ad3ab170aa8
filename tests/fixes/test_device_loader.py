from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fixes.harness import case, expected, fixed, refusal
from xladoctor.fixes import registry
from xladoctor.fixes.interface import Refused

KIND = "device_loader"
TEXT = """
import torch_xla
import torch_xla.core.xla_model as xm

def train(loader, device):
    for {target} in {loader}:
        {send}  #!
        loss = step({target})
        {last}
    return loss
"""


def _text(
    target: str = "x, y",
    loader: str = "loader",
    send: str = "x, y = x.to(device), y.to(device)",
    last: str = "torch_xla.sync()",
) -> str:
    return TEXT.format(target=target, loader=loader, send=send, last=last)


def test_the_loader_sends_and_ends_the_step() -> None:
    assert fixed(KIND, _text()) == expected(
        """
        import torch_xla
        import torch_xla.core.xla_model as xm
        from torch_xla.distributed.parallel_loader import MpDeviceLoader

        def train(loader, device):
            for x, y in MpDeviceLoader(loader, device):
                loss = step(x, y)
            return loss
        """
    )


@pytest.mark.parametrize(
    ("target", "send"),
    [
        ("x", "x = x.to(device)"),
        ("x", "x = x.to(device, non_blocking=True)"),
        ("x, y, z", "x, y, z = x.to(device), y.to(device), z.to(device)"),
    ],
)
def test_batches_of_any_number_of_tensors(target: str, send: str) -> None:
    after = fixed(KIND, _text(target, send=send, last="xm.mark_step()"))
    assert f"for {target} in MpDeviceLoader(loader, device):\n        loss" in after


def test_its_name_in_the_file_is_kept() -> None:
    text = "from torch_xla.distributed.parallel_loader import MpDeviceLoader as Ahead\n" + _text()
    assert "in Ahead(loader, device):" in fixed(KIND, text)


@pytest.mark.parametrize(
    "changed",
    [
        {"send": "x = x.to(device)"},
        {"send": "x, y = x.to(device), y"},
        {"send": "y, x = y.to(device), x.to(device)"},
        {"send": "x, y = x.to(device), y.to(other)"},
        {"send": "x, y = x.to(device, torch.bfloat16), y.to(device)"},
        {"send": "x, y = x.float().to(device), y.to(device)"},
        {"send": "x, y = x.to(device), x.to(device)"},
        {"send": "x, y = x.to(self.device), y.to(self.device)"},
        {"send": "x, y = (each.to(device) for each in (x, y))"},
        {"send": "x, y = move(x, y)"},
        {"send": "x, y = x.to(device), y.to(device); z = 1"},
        {"send": "count += 1\n        x, y = x.to(device), y.to(device)"},
        {"loader": "enumerate(loader)"},
        {"loader": "make_loader()"},
        {"loader": "self.loader"},
        {"loader": "zip(loader, other)"},
        {"last": "xm.optimizer_step(optimizer, barrier=True)"},
        {"last": "torch_xla.sync(wait=True)"},
        {"last": "print(loss.item())"},
        {"last": "torch_xla.sync()\n        print(loss)"},
        {"last": "torch_xla.sync(); print(loss)"},
        {"last": "if x: torch_xla.sync()"},
        {"last": "torch_xla.sync()\n        torch_xla.sync()"},
        {"last": "if loss: break\n        torch_xla.sync()"},
        {"last": "if loss: return\n        torch_xla.sync()"},
        {"last": "yield loss\n        torch_xla.sync()"},
        {"last": "torch_xla.sync()\n    else:\n        pass"},
        {"last": "torch_xla.sync()\n    MpDeviceLoader = 1"},
    ],
)
def test_refused(changed: dict[str, str]) -> None:
    assert refusal(KIND, _text(**changed))


@pytest.mark.parametrize("change", ["data[-1].mul_(2)", "loader.seed += 1", "data.append(x)"])
def test_a_loop_that_changes_what_the_loader_reads_ahead_is_refused(change: str) -> None:
    text = _text().replace("loss = step(x, y)", f"loss = step(x, y)\n        {change}")
    text = text.replace(
        "train(loader, device):", "train(data, device):\n    loader, total = data, 0"
    )
    assert "which the loader reads ahead" in refusal(KIND, text)


def test_a_cpu_is_refused_whose_cores_the_thread_would_take() -> None:
    given = replace(case(_text()), device="CPU")
    with pytest.raises(Refused, match="on the CPU") as refused:
        registry.kind(KIND)(given)
    assert "on a TPU" in refused.value.instead
