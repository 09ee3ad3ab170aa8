"""Kinds of fixes that take a setting, a check or a mode out of a program."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixes.harness import change, expected, fixed, refusal

ENVIRON = "import os\nfrom os import environ\nimport jax\nfrom jax import config\nx = 1\n"
CLIP = "import torch\nfrom torch import nn\nfrom torch.nn.utils import clip_grad_norm_\n"
EAGER = """
import torch_xla
from torch_xla.experimental import eager_mode
{on}
for x in data:
    loss = step(x)
    optimizer.step()  #!
"""


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("XLA_IR_DEBUG", 'os.environ["XLA_IR_DEBUG"] = "1"'),
        ("XLA_IR_DEBUG", "environ['XLA_IR_DEBUG'] = '1'  # to see the lines"),
        ("XLA_IR_DEBUG", 'os.environ.setdefault("XLA_IR_DEBUG", "1")'),
        ("JAX_DEBUG_NANS", 'os.environ["JAX_DEBUG_NANS"] = VALUE'),
        ("jax_debug_nans", 'jax.config.update("jax_debug_nans", True)'),
        ("jax_debug_nans", 'config.update("jax_debug_nans", True)'),
        ("jax_debug_nans", "jax.config.jax_debug_nans = True"),
    ],
)
def test_a_setting_is_taken_out(setting: str, line: str) -> None:
    text = f"{ENVIRON}{line}  #!\ny = 2"
    assert fixed("setting_removed", text, setting=setting) == f"{ENVIRON}y = 2\n"


@pytest.mark.parametrize(
    ("setting", "behaviour"),
    [
        ("XLA_SYNC_WAIT", ""),
        ("JAX_DEBUG_NANS", "the checks of JAX_DEBUG_NANS report nothing and raise no error"),
        ("PT_XLA_DEBUG_LEVEL", "what PT_XLA_DEBUG_LEVEL writes is not written"),
    ],
)
def test_what_a_setting_did_is_said(setting: str, behaviour: str) -> None:
    text = f'{ENVIRON}os.environ["{setting}"] = "1"  #!\ny = 2'
    assert change("setting_removed", text, setting=setting).behaviour == behaviour


@pytest.mark.parametrize(
    "line",
    [
        'os.environ["XLA_HLO_DEBUG"] = "1"',
        'os.environ["XLA_IR_DEBUG"] = other["x"] = "1"',
        'os.environ["XLA_IR_DEBUG"], y = "1", 2',
        'os.environ["XLA_IR_DEBUG"] = os.environ["XLA_HLO_DEBUG"] = "1"',
        'os.environ["XLA_IR_DEBUG"] = launch()',
        'os.environ["XLA_IR_DEBUG"] += "1"',
        'os.environ["XLA_IR_DEBUG"] = "1"; y = 2',
        'os.environ[NAME] = "1"',
        'os.environ[f"XLA_{kind}_DEBUG"] = "1"',
        'os.environ.update(XLA_IR_DEBUG="1")',
        'os.environ.update({"XLA_IR_DEBUG": "1", "PATH": "/"})',
        'env["XLA_IR_DEBUG"] = "1"',
        'self.os.environ["XLA_IR_DEBUG"] = "1"',
        'value = os.environ.setdefault("XLA_IR_DEBUG", "1")',
        'os.environ.get("XLA_IR_DEBUG", "1")',
        'del os.environ["XLA_IR_DEBUG"]',
        'if x: os.environ["XLA_IR_DEBUG"] = "1"',
        'if x:\n    os.environ["XLA_IR_DEBUG"] = "1"',
        'with changed(os.environ, "XLA_IR_DEBUG", "1"): pass',
        'for name in names: os.environ[name] = "1"',
        'set_env = lambda: os.putenv("XLA_IR_DEBUG", "1")',
        'monkeypatch.setenv("XLA_IR_DEBUG", "1")',
        'jax.config.update("jax_debug_nans", True)',
        "configure()",
    ],
)
def test_what_sets_something_else_is_refused(line: str) -> None:
    lines = line.splitlines()
    lines[-1] += "  #!"
    text = ENVIRON + "\n".join(lines) + "\ny = 2"
    assert refusal("setting_removed", text, setting="XLA_IR_DEBUG")


def test_a_setting_that_is_obeyed_is_left() -> None:
    text = f'{ENVIRON}os.environ["XLA_USE_BF16"] = "1"  #!'
    cause: dict[str, Any] = {
        "setting": "XLA_USE_BF16",
        "works": True,
        "instead": "convert the model",
    }
    assert "obeyed" in refusal("setting_removed", text, **cause)


@pytest.mark.parametrize(
    ("call", "after"),
    [
        (
            "clip_grad_norm_(p, 1.0, error_if_nonfinite=True)",
            "clip_grad_norm_(p, 1.0)",
        ),
        (
            "norm = nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True, foreach=False)",
            "norm = nn.utils.clip_grad_norm_(p, 1.0, foreach=False)",
        ),
        (
            "log(torch.nn.utils.clip_grad_norm_(p, 1.0, 2, error_if_nonfinite=True))",
            "log(torch.nn.utils.clip_grad_norm_(p, 1.0, 2))",
        ),
        ("clip_grad_norm_(p, 1.0, error_if_nonfinite=True,)", "clip_grad_norm_(p, 1.0,)"),
    ],
)
def test_the_norm_is_not_checked(call: str, after: str) -> None:
    assert fixed("unchecked_norm", f"{CLIP}{call}  #!") == f"{CLIP}{after}\n"
    assert "no error" in change("unchecked_norm", f"{CLIP}{call}  #!").behaviour


@pytest.mark.parametrize(
    "line",
    [
        "clip_grad_norm_(p, 1.0)",
        "clip_grad_norm_(p, 1.0, 2.0, True)",
        "clip_grad_norm_(p, 1.0, error_if_nonfinite=False)",
        "clip_grad_norm_(p, 1.0, error_if_nonfinite=strict)",
        "clip_grad_norm_(p, 1.0, error_if_nonfinite=not quick)",
        "clip_grad_norm_(p, 1.0, **given)",
        "clip_grad_norm_(error_if_nonfinite=True, parameters=p, max_norm=1.0)",
        "clip_grad_norm_(p, 1.0,  # all\n    error_if_nonfinite=True)",
        "a = 1; clip_grad_norm_(p, 1.0, error_if_nonfinite=True)",
        "if clip_grad_norm_(p, 1.0, error_if_nonfinite=True): pass",
        "clip_grad_norm_(p, 1), clip_grad_norm_(q, 1, error_if_nonfinite=True)",
        "self.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)",
        "fsdp.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)",
        "clip(p, 1.0, error_if_nonfinite=True)",
        "clip_grad_value_(p, 1.0, error_if_nonfinite=True)",
        "clip = partial(clip_grad_norm_, error_if_nonfinite=True)",
        "trainer.clip(p, error_if_nonfinite=True)",
        "torch.nn.functional.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)",
        "def clip(): clip_grad_norm_(p, 1.0, error_if_nonfinite=True)",
        "while clip_grad_norm_(p, 1.0, error_if_nonfinite=True): pass",
        "p.grad.norm()",
    ],
)
def test_other_checks_are_refused(line: str) -> None:
    first, _, rest = line.partition("\n")
    assert refusal("unchecked_norm", f"{CLIP}{first}  #!\n{rest}")


def test_eager_mode_is_left_off() -> None:
    assert fixed("eager_mode_off", EAGER.format(on="eager_mode(True)")) == expected(
        """
        import torch_xla
        from torch_xla.experimental import eager_mode
        for x in data:
            loss = step(x)
            optimizer.step()
            torch_xla.sync()
        """
    )


def test_a_barrier_of_the_loop_stays() -> None:
    text = (
        EAGER.format(on="torch_xla.experimental.eager_mode(enable=True)") + "    torch_xla.sync()\n"
    )
    assert fixed("eager_mode_off", text).count("sync()") == 1


@pytest.mark.parametrize(
    "line",
    [
        "eager_mode(False)",
        "eager_mode(debug)",
        "eager_mode(*given)",
        "eager_mode(True); y = 1",
        "done = eager_mode(True)",
        "eager_mode(True)\neager_mode(False)",
        "if debug: eager_mode(True)",
        "if debug:\n    eager_mode(True)",
        "start = lambda: eager_mode(True)",
        "self.eager_mode(True)",
        "other.eager_mode(True)",
        "start(eager_mode)",
        "print(eager_mode(True))",
        "eager_mode",
        "with eager_mode(True): pass",
        "def start(): eager_mode(True)",
        "eager_mode(True)\nstep = torch_xla.compile(step)",
        "eager_mode(True)\nstep = torch_xla.compile(step, full_graph=True)",
        "eager_mode(True)\n@torch_xla.compile\ndef step(x): pass",
        "torch.eager_mode(True)",
    ],
)
def test_eager_mode_is_refused(line: str) -> None:
    assert refusal("eager_mode_off", EAGER.format(on=line))


def test_eager_mode_without_a_loop_around_the_update_is_refused() -> None:
    text = EAGER.format(on="eager_mode(True)").replace("for x in data:", "def train(x):")
    assert "no loop" in refusal("eager_mode_off", text)


CACHE = "import os\n{line}\nimport torch_xla\nfor x in data:\n    torch_xla.sync()  #!\n"


@pytest.mark.parametrize(
    "line",
    [
        'os.environ["XLA_COMPILATION_CACHE_SIZE"] = "2"',
        "os.environ['XLA_COMPILATION_CACHE_SIZE'] = SIZE",
        'os.environ.setdefault("XLA_COMPILATION_CACHE_SIZE", "16")',
        'os.putenv("XLA_COMPILATION_CACHE_SIZE", "16")',
    ],
)
def test_the_cache_of_graphs_keeps_its_size(line: str) -> None:
    text = CACHE.format(line=line)
    after = text.replace(f"{line}\n", "").replace("  #!", "")
    assert fixed("default_cache_size", text) == after


@pytest.mark.parametrize(
    "line",
    [
        "",
        'os.environ["XLA_COMPILATION_CACHE_SIZE"] = "2"; os.environ["B"] = "2"',
        'os.environ["XLA_COMPILATION_CACHE_SIZE"] = other["X"] = "2"',
        'os.environ["XLA_COMPILATION_CACHE_SIZE"] = size()',
        'os.environ["XLA_COMPILATION_CACHE_SIZES"] = "2"',
        'environ["XLA_COMPILATION_CACHE_SIZE"] = "2"',
        'os.environ[NAME] = "2"',
        'os.environ.update(XLA_COMPILATION_CACHE_SIZE="2")',
        'os.environ |= {"XLA_COMPILATION_CACHE_SIZE": "2"}',
        'del os.environ["XLA_COMPILATION_CACHE_SIZE"]',
        'settings["XLA_COMPILATION_CACHE_SIZE"] = "2"',
        'print(os.environ["XLA_COMPILATION_CACHE_SIZE"])',
        'if small:\n    os.environ["XLA_COMPILATION_CACHE_SIZE"] = "2"',
        'x = os.environ.setdefault("XLA_COMPILATION_CACHE_SIZE", "16")',
        'os.environ["XLA_COMPILATION_CACHE_SIZE"] = "2"\n'
        'os.environ["XLA_COMPILATION_CACHE_SIZE"] = "4"',
    ],
)
def test_other_ways_to_set_the_cache_are_refused(line: str) -> None:
    assert refusal("default_cache_size", CACHE.format(line=line))


def test_only_torch_xla_has_the_size_of_the_cache() -> None:
    text = "import jax\nfor x in data:\n    step(x)  #!\n    jax.clear_caches()\n"
    assert refusal("default_cache_size", text, "jax") == (
        "only torch_xla has XLA_COMPILATION_CACHE_SIZE"
    )


def test_only_the_check_of_clip_grad_norm_is_switched_off() -> None:
    text = "import jax.numpy as jnp\nfor x in data:\n    jnp.nonzero(x)  #!\n"
    assert "only switch off the check" in refusal("unchecked_norm", text, "jax")


@pytest.mark.parametrize(
    "line",
    [
        'print(os.environ["XLA_COMPILATION_CACHE_SIZE"])',
        'size = os.getenv("XLA_COMPILATION_CACHE_SIZE", "2048")',
        "shown = [each for each in os.environ if each.startswith('XLA')]",
        "print(os.environ[name])",
        "launch(env=os.environ)",
        "settings = os.environ.copy()",
        "env = os.environ\nprint(env[name])",
    ],
)
def test_a_program_that_looks_at_the_size_keeps_it(line: str) -> None:
    text = CACHE.format(line='os.environ["XLA_COMPILATION_CACHE_SIZE"] = "2"')
    assert "looks at" in refusal("default_cache_size", f"{text}{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        'rank = os.environ["RANK"]',
        'rank = int(os.environ.get("RANK", "0"))',
        'host = os.getenv("HOST")',
        'is_many = "WORLD_SIZE" in os.environ',
        'env = os.environ\nenv["OTHER"] = "1"',
    ],
)
def test_other_settings_may_be_looked_at(line: str) -> None:
    text = CACHE.format(line='os.environ["XLA_COMPILATION_CACHE_SIZE"] = "2"')
    assert "XLA_COMPILATION" not in fixed("default_cache_size", f"{text}{line}\n")
