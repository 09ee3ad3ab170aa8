from __future__ import annotations

import pytest

from tests.fixes.harness import fixed, refusal

KIND = "free_shapes"
SETTING = "torch._dynamo.config.enable_cpp_symbolic_shape_guards = False"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f = torch.compile(model, dynamic=False)", "f = torch.compile(model)"),
        (
            "f = torch.compile(model, dynamic=False, backend=b)",
            "f = torch.compile(model, backend=b)",
        ),
        ("f = torch.compile((model), dynamic=(False))", "f = torch.compile((model))"),
        (
            "f = torch.compile(\n    model,\n    dynamic=False,\n)",
            "f = torch.compile(\n    model,\n)",
        ),
        ("f = torch.compile(dynamic=False, model=m)", "f = torch.compile(model=m)"),
        ("@torch.compile(dynamic=False)\ndef f(): ...", "@torch.compile()\ndef f(): ..."),
    ],
)
def test_the_argument_goes(before: str, after: str) -> None:
    assert fixed(KIND, f"import torch\n{before}\nf(x)  #!", "torch") == (
        f"import torch\n{SETTING}\n{after}\nf(x)\n"
    )


def test_the_setting_is_above_the_function_that_compiles() -> None:
    function = "# Trains.\ndef train():\n    f = torch.compile(m, dynamic=False)\n    f(x)  #!"
    made = fixed(KIND, f"import torch\n\n\n{function}", "torch")
    assert made.startswith(f"import torch\n\n\n{SETTING}\n# Trains.\ndef train():\n")


def test_another_name_of_the_function() -> None:
    text = "from torch import compile as c\nf = c(model, dynamic=False)\nf(x)  #!"
    made = fixed(KIND, text, "torch")
    assert "c(model)" in made
    assert f"import torch\n{SETTING}\n" in made


@pytest.mark.parametrize(
    "code",
    [
        "f = torch.compile(model)",
        "f = torch.compile(model, dynamic=True)",
        "f = torch.compile(model, dynamic=None)",
        "f = torch.compile(model, dynamic=SOME)",
        "f = torch.compile(model, dynamic=not True)",
        "f = torch.compile(model, **options)",
        "f = torch.compile(model, options={'dynamic': False})",
        "f = torch.compile(model, dynamic=False)\ng = torch.compile(model, dynamic=False)",
        "f = torch.compile(model, dynamic=False)\ntorch._dynamo.mark_static(x, 0)",
        "f = mine.compile(model, dynamic=False)",
        "f = model.compile(dynamic=False)",
        "f = re.compile(model, dynamic=False)",
        "dynamic = False\nf = torch.compile(model)",
        "f = partial(torch.compile, dynamic=False)(model)",
        "f = torch.jit.script(model, dynamic=False)",
        "compile = torch.compile\nf = compile(model, dynamic=False)",
        "def torch_compile(dynamic=False): ...",
        "f = torch.export.export(model, dynamic=False)",
        "f = torch.compile(model, 'False')",
        "class torch: ...\nf = torch.compile(model, dynamic=False)" * 2,
    ],
)
def test_refused(code: str) -> None:
    assert refusal(KIND, f"import torch, re\n{code}\nf(x)  #!", "torch")


def test_other_frontends_are_refused() -> None:
    assert refusal(KIND, "import torch\nf = torch.compile(m, dynamic=False)  #!", "jax")
