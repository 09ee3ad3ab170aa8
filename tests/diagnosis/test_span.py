"""The expression of a line that a finding is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.diagnosis.span import span


@pytest.mark.parametrize(
    ("source", "names", "text"),
    [
        ("        total += loss.item()", ["item"], "loss.item()"),
        ("total = total + float(loss)", ["float"], "float(loss)"),
        (
            "hits += (guess == labels).sum().item()",
            ["item"],
            "(guess == labels).sum().item()",
        ),
        ('print(f"step {step} {loss.item():.3f}")', ["item"], "loss.item()"),
        ('print("loss", loss)', ["repr"], 'print("loss", loss)'),
        ("if loss < best:", ["bool"], "loss < best"),
        ("elif loss.item() < best:", ["item"], "loss.item()"),
        ("images.to(device),", ["to"], "images.to(device)"),
        ("loss = huber_loss(model(x), y)", ["huber_loss"], "huber_loss(model(x), y)"),
        ("float(loss), step)", ["float"], "float(loss)"),
        ("running += loss.detach()", [], "loss.detach()"),
        ("    ids[i] = new[0]  # größe", ["update_slice"], "ids[i]"),
        ("ids[i] = new[j]", ["generic_slice"], "new[j]"),
    ],
)
def test_the_columns_of_an_expression(source: str, names: list[str], text: str) -> None:
    found = span(source, names)
    assert found is not None
    assert source[slice(*found)] == text


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("bar.set_postfix(loss=loss.item(), hits=hits.item())", ["item"]),  # two
        ("ids[0] = new[j]", ["update_slice"]),  # the number that changes is none of these
        ("ids[i] = new[a:b]", ["generic_slice"]),
        ("y = x**2 + ids[-1]", ["pow", "select"]),
        ("total += loss", ["item"]),  # none: the read is inside of something
        ("größe += loss.item()", ["item"]),  # columns of a tree are bytes
        ("def (", ["item"]),
        ("", ["item"]),
        (f"x{'.a' * 1500}.item()", ["item"]),  # deeper than a recursive function bears
        ("**".join(["x"] * 800), ["pow"]),
        ("lambda: " * 500 + "x", []),
    ],
)
def test_what_is_not_certain_has_no_expression(source: str, names: list[str]) -> None:
    assert span(source, names) is None


@given(st.text(max_size=40), st.sampled_from([["item"], ["bool"], ["to", "cpu"], []]))
def test_any_text_is_parsed_or_not(source: str, names: list[str]) -> None:
    found = span(source, names)
    assert found is None or source[slice(*found)]
