"""The expression of a line that a finding is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.diagnosis.expression import expression


@pytest.mark.parametrize(
    ("source", "names", "text", "value"),
    [
        ("        total += loss.item()", ["item"], "loss.item()", "loss"),
        ("total = total + float(loss)", ["float"], "float(loss)", "loss"),
        (
            "hits += (guess == labels).sum().item()",
            ["item"],
            "(guess == labels).sum().item()",
            "(guess == labels).sum()",
        ),
        ('print(f"step {step} {loss.item():.3f}")', ["item"], "loss.item()", "loss"),
        ('print("loss", loss)', ["repr"], 'print("loss", loss)', ""),
        ("if loss < best:", ["bool"], "loss < best", "loss < best"),
        ("elif loss.item() < best:", ["item"], "loss.item()", "loss"),
        ("images.to(device),", ["to"], "images.to(device)", "images"),
        ("loss = huber_loss(model(x), y)", ["huber_loss"], "huber_loss(model(x), y)", ""),
        ("float(loss), step)", ["float"], "float(loss)", "loss"),
        ("running += loss.detach()", [], "loss.detach()", "loss"),
        ("    ids[i] = new[0]  # größe", ["update_slice"], "ids[i]", "ids"),
        ("ids[i] = new[j]", ["generic_slice"], "new[j]", "new"),
    ],
)
def test_expression_and_its_columns(source: str, names: list[str], text: str, value: str) -> None:
    found = expression(source, names)

    assert found is not None
    assert (found.text, found.value) == (text, value)
    assert source[slice(*found.span)] == text


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
    assert expression(source, names) is None


@pytest.mark.parametrize(
    ("source", "target", "adds", "collects", "instead"),
    [
        ("total += loss.item() * n", "total", True, "", "total += loss.detach() * n"),
        ("total = total + loss.item()", "total", True, "", "total = total + loss.detach()"),
        ("total -= loss.item()", "total", True, "", "total -= loss.detach()"),
        ("last = loss.item()", "last", False, "", "last = loss.detach()"),
        ("losses.append(loss.item())", "", False, "losses", "losses.append(loss.detach())"),
        ("loss=loss.item(),", "", False, "", "loss=loss.detach(),"),  # an argument
    ],
)
def test_statement(source: str, target: str, adds: bool, collects: str, instead: str) -> None:
    found = expression(source, ["item"])

    assert found is not None
    assert (found.target, found.adds, found.collects) == (target, adds, collects)
    assert found.instead(f"{found.value}.detach()") == instead


def test_the_expression_is_replaced_where_it_stands() -> None:
    read = expression("ids[i] = ids[i] + 1  # ids[i]", ["select"])
    assert read is not None
    assert read.instead("new") == "ids[i] = new + 1"


@given(st.text(max_size=40), st.sampled_from([["item"], ["bool"], ["to", "cpu"], []]))
def test_any_text_is_parsed_or_not(source: str, names: list[str]) -> None:
    found = expression(source, names)
    assert found is None or source[slice(*found.span)] == found.text
