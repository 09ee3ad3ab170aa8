from __future__ import annotations

import pytest

from tests.fixes.harness import expected, fixed, refusal

KIND = "replay_below_loop"


def test_a_sum_that_the_host_computes() -> None:
    assert fixed(
        KIND,
        """
        import jax
        import numpy as np

        def train(params, data):
            right = 0
            for x, y in data:
                params, outputs = step(params, x, y)
                right += (np.sign(np.asarray(outputs)) == np.sign(y)).sum()  #!
            print(right)
        """,
        frontend="jax",
    ) == expected(
        """
        import jax
        import numpy as np

        def train(params, data):
            right = 0
            right_of_steps = []
            for x, y in data:
                params, outputs = step(params, x, y)
                right_of_steps.append((outputs, y))
            for outputs, y in jax.device_get(right_of_steps):
                right += (np.sign(np.asarray(outputs)) == np.sign(y)).sum()
            print(right)
        """
    )


def test_a_metric_of_the_host() -> None:
    after = fixed(
        KIND,
        """
        import jax
        import numpy as np
        metric = Accuracy()
        for x in data:
            outputs = predict(x)
            metric.update(np.asarray(outputs))  #!
        print(metric.value)
        """,
        frontend="jax",
    )
    assert "    metric_of_steps.append((outputs,))\nfor (outputs,) in jax.device_get(" in after
    assert "(metric_of_steps):\n    metric.update(np.asarray(outputs))\nprint" in after


def loop(statement: str, rest: str = "pass", start: str = "total = 0.0") -> str:
    return f"""
import jax, random
import numpy as np
def train(params, data, metric, best):
    {start}
    for x, y in data:
        params, loss = step(params, x)
        {statement}  #!
        {rest}
    return total
"""


def test_the_plain_form_is_not_refused() -> None:
    assert "round(float(loss), 2)" in fixed(
        KIND, loop("total += round(float(loss), 2)"), frontend="jax"
    )


@pytest.mark.parametrize(
    "text",
    [
        loop("total += float(loss)", "print(total)"),
        loop("total += float(loss)", "if total > 3: break"),
        loop("total += float(loss)", "yield loss"),
        loop("total += float(loss)", "return loss"),
        loop("total += float(loss)", "loss = loss + 1"),
        loop("total += float(loss)", "loss += 1"),
        loop("total += float(y[0])", "y[0] = 1"),
        loop("total += float(loss)", "total *= 2"),
        loop("total += float(loss)", start="global total"),
        loop("total += float(loss)", start="total = 0.0\n    show = lambda: total"),
        loop("total += float(loss) * weight"),
        loop("total += float(loss) * best"),
        loop("total += float(loss) * random.random()"),
        loop("total += float(loss) * np.random.rand()"),
        loop("total += f(loss)"),
        loop("total += model(loss).sum()"),
        loop("total += (z := float(loss))"),
        loop("total += float(loss); n = 1"),
        loop("total = total + float(loss)"),
        loop("self.total += float(loss)"),
        loop("totals[0] += float(loss)"),
        loop("self.update(np.asarray(loss))"),
        loop("metric.update(np.asarray(loss))", "print(metric.value)"),
        loop("metric.update(next(x))"),
        loop("metric.inner.update(np.asarray(loss))"),
        loop("np.save('x', loss)"),
        loop("random.seed(int(loss))"),
        loop("if x: total += float(loss)"),
        loop("total += 1"),
        loop("total += float(loss)", "total_of_steps = 1"),
        loop("total += float(loss)", start="jax = 1"),
        loop("total += float(loss)", start="step = jax.jit(f, donate_argnums=0)"),
    ],
)
def test_refused(text: str) -> None:
    assert refusal(KIND, text, frontend="jax")


def test_what_is_copied_is_computed_in_the_step() -> None:
    assert fixed(
        KIND,
        """
        import torch_xla
        metric = Accuracy()
        for x, labels in data:
            logits = model(x)
            loss.backward()
            torch_xla.sync()  #! barrier
            metric.update(logits.argmax(dim=1).cpu(), labels)  # each  #!
        print(metric.compute())
        """,
    ) == expected(
        """
        import torch_xla
        metric = Accuracy()
        metric_of_steps = []
        for x, labels in data:
            logits = model(x)
            loss.backward()
            metric_of_steps.append((logits.argmax(dim=1).detach(), labels))  # each
            torch_xla.sync()
        for copied, labels in metric_of_steps:
            metric.update(copied.cpu(), labels)
        print(metric.compute())
        """
    )


def tensors(statement: str, rest: str = "pass") -> str:
    return f"""
def train(data, metric, best):
    for x, labels in data:
        out = model(x)
        {statement}  #!
        {rest}
        torch_xla.sync()  #! barrier
    return metric
"""


def test_a_variable_keeps_its_name() -> None:
    after = fixed(KIND, tensors("metric.update(out.cpu(), labels)"))
    assert "metric_of_steps.append((out.detach().clone(), labels))\n" in after
    assert "for out, labels in metric_of_steps:\n        metric.update(out.cpu(), labels)" in after


@pytest.mark.parametrize(
    "text",
    [
        tensors("metric.update(out, labels)"),
        tensors("metric.update(out.cpu(), labels.cpu())"),
        tensors("metric.update((out + 1).cpu(), labels)"),
        tensors("metric.update(out.cpu(), best)"),
        tensors("metric.update(out.cpu(), next(labels))"),
        tensors("metric.update(out.cpu(), labels)", "print(metric.compute())"),
        tensors("metric.update(out.cpu(), labels)", "labels[0] = 1"),
        tensors("metric.update(out.cpu(), labels)", "out += 1"),
        tensors("metric.update(out.cpu(), labels)", "yield out"),
        tensors("self.metric.update(out.cpu(), labels)"),
        tensors("torch.save(out.cpu(), labels)"),
        tensors("total = total + out.cpu()"),
    ],
)
def test_refused_for_tensors(text: str) -> None:
    assert refusal(KIND, text)


def test_refused_for_other_frameworks() -> None:
    assert refusal(KIND, tensors("metric.update(out.cpu(), labels)"), frontend="torch")
