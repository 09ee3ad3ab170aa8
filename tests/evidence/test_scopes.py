"""Named scopes, by the names of operations as JAX writes them."""

from __future__ import annotations

import pytest

from tests.support import evidence

NAMES = {
    "jit(step)/jvp(encoder)/attention/dot_general": "encoder > attention",
    "jit(step)/transpose(jvp(encoder))/mlp/transpose": "encoder > mlp",
    "jit(step)/jit(main)/vmap(jvp(head))/while/body/closed_call/dot_general": "head",
    "jit(step)/jvp(Encoder/Dense_0)/dot_general": "Encoder > Dense_0",
    "jit(step)/jit(relu)/max": "",
    "jit(step)/jvp(attention)/BTNH,BSNH->BNTS/dot_general": "attention",  # an einsum
    "jit(step)/transpose(jvp())/mul": "",
    "params['a']": "",
    "aten__view.3/aten__add.1": "",
    "jit(f)/(transpose(jvp(layer0))/reduce_sum:transpose(jvp(layer1))/dot_general:"
    "transpose(jvp(layer0))/dot_general)": "2 scopes together",
    "jit(f)/(jvp(head)/add:transpose(jvp(head))/add)": "head",
    "jit(f)/(add:mul)": "",
    "": "",
}


@pytest.mark.parametrize("name", NAMES)
def test_scope_of_an_operation(name: str) -> None:
    (row,) = evidence({}).database.rows("SELECT scope_of($name) AS scope", {"name": name})
    assert row["scope"] == NAMES[name]
