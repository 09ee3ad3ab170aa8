"""Trains with a trainer of its own, whose callbacks follow the accuracy.

One callback keeps the accuracy of each step on the device, and reads them all when the training is
done. The device and the barrier have the names that older programs use.
"""

import functools

import torch
import torch_xla.core.xla_model as xm
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 64
FEATURES = 16
CLASSES = 10
STEPS = 60


class Callback:
    """What a trainer calls at the end of each step, and when it is done."""

    def on_step_end(self, step, metrics):
        pass

    def on_train_end(self):
        pass


class History(Callback):
    """Keeps the accuracy of each step, and prints its mean."""

    def __init__(self):
        self.accuracies = []

    def on_step_end(self, step, metrics):
        self.accuracies.append(metrics["accuracy"])

    def on_train_end(self):
        print(f"mean accuracy {torch.stack(self.accuracies).mean().item():.4f}")


def calls_back(step):
    """Have a trainer's step tell the callbacks its metrics."""

    @functools.wraps(step)
    def wrapper(trainer, *batch):
        metrics = step(trainer, *batch)
        for callback in trainer.callbacks:
            callback.on_step_end(trainer.steps, metrics)
        trainer.steps += 1
        return metrics

    return wrapper


class Trainer:
    def __init__(self, model, callbacks):
        self.device = xm.xla_device()
        self.model = model.to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.5)
        self.callbacks = callbacks
        self.steps = 0

    @calls_back
    def training_step(self, inputs, labels):
        self.optimizer.zero_grad()
        logits = self.model(inputs)
        loss = cross_entropy(logits, labels)
        loss.backward()
        self.optimizer.step()
        accuracy = (logits.detach().argmax(dim=1) == labels).float().mean()
        return {"loss": loss.detach(), "accuracy": accuracy}

    def fit(self, batches):
        for inputs, labels in batches:
            self.training_step(inputs.to(self.device), labels.to(self.device))
            xm.mark_step()
        for callback in self.callbacks:
            callback.on_train_end()


def batches(steps):
    """Yield fresh samples with the class that a fixed linear rule gives them."""
    rule = torch.randn(FEATURES, CLASSES)
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, (inputs @ rule).argmax(dim=1)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    Trainer(model, [History()]).fit(batches(STEPS))


if __name__ == "__main__":
    main()
