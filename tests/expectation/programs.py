"""Tests of a program, as a user of the fixture writes them; ``test_pytest.py`` runs them."""

from __future__ import annotations

STEPS = """
import time

import pytest
import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch.nn.functional import huber_loss

import xladoctor

DEVICE = torch_xla.device()


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = torch.nn.Linear(16, 4).to(DEVICE)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self, batch=8, power=3.5):
        inputs = torch.randn(batch, 16).to(DEVICE)
        loss = (self.model(inputs).abs() ** power).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        torch_xla.sync()
        return loss

    def robust(self, batch=8):
        outputs = self.model(torch.randn(batch, 16).to(DEVICE))
        outputs.register_hook(lambda _: time.sleep(0.5))  # once the backward operator has compiled
        loss = huber_loss(outputs, torch.zeros_like(outputs))
        loss.backward()
        torch_xla.sync()


@pytest.fixture
def trainer(xladoctor_expect):
    made = Trainer()
    for _ in range(3):
        made.step()
    return made


def masked(tensor, count):
    mask = torch.arange(30, device=DEVICE) < count
    chosen = tensor[mask] * 2 + 1
    torch_xla.sync()
    return chosen


def test_pass(trainer, xladoctor_expect):
    block = xladoctor_expect(compilations=0, host_syncs=0, fallbacks=0)
    for _ in range(3):
        with block, xladoctor.expect(host_syncs=0), block:
            trainer.step()


def test_allowance(trainer, xladoctor_expect):
    with xladoctor_expect(compilations=0, host_syncs=2, fallbacks=0):
        trainer.step().item()
        trainer.step().item()


def test_step_closure(trainer, xladoctor_expect):
    with xladoctor_expect(host_syncs=0):
        xm.add_step_closure(lambda value: value.item(), args=(trainer.step(),))
        trainer.step()


def test_own_exception(trainer, xladoctor_expect):
    with pytest.raises(ValueError, match="own"), xladoctor_expect(host_syncs=0):
        trainer.step().item()
        raise ValueError("own")


def test_nested(trainer, xladoctor_expect):
    with xladoctor_expect(host_syncs=1):
        with pytest.raises(xladoctor.expectation.UnmetExpectation):
            with xladoctor_expect(host_syncs=0):
                trainer.step().item()
        with xladoctor_expect(host_syncs=0):
            trainer.step()


def test_shape(trainer, xladoctor_expect):
    with xladoctor_expect(compilations=0):
        trainer.step(batch=7)


def test_number(trainer, xladoctor_expect):
    with xladoctor_expect(compilations=1):
        for power in (4.5, 5.5, 6.5):
            trainer.step(power=power)


def test_first(xladoctor_expect):
    ones = torch.ones(3).to(DEVICE)
    with xladoctor_expect(compilations=0):
        ones = ones * 5 + 1
        torch_xla.sync()


def test_second_launch(xladoctor_expect):
    def launch(size):
        result = torch.ones(size, 11).to(DEVICE) * 7
        torch_xla.sync()
        return result

    launch(3)
    with xladoctor_expect(compilations=0):
        launch(4)


def test_pending(trainer, xladoctor_expect):
    with xladoctor_expect(compilations=0):
        tensor = trainer.model.weight * 0.77
    assert tensor.sum().item()


def test_read(trainer, xladoctor_expect):
    with xladoctor_expect(host_syncs=1):
        for _ in range(2):
            loss = trainer.step()
            print(float(loss.detach()))
        loss.cpu()


def test_fallback(trainer, xladoctor_expect):
    with xladoctor_expect(fallbacks=0):
        trainer.robust()


def test_data_dependent(xladoctor_expect):
    ones = torch.ones(30).to(DEVICE)
    for _ in range(3):
        masked(ones, 5)
    with xladoctor_expect(compilations=0, fallbacks=1):
        masked(ones, 6)


def test_graph_cut(trainer, xladoctor_expect):
    for _ in range(2):
        trainer.robust()
    with xladoctor_expect(compilations=0):
        trainer.robust(batch=9)
"""
