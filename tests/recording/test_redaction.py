"""Command lines: secrets are left out, the rest stays as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.recording.bootstrap._xladoctor.redaction import redact

HIDDEN = "…"
SECRET = "hunter2"
NAMES = [
    "token",
    "hf-token",
    "hf_token",
    "api-key",
    "wandb.api_key",
    "password",
    "auth",
    "aws-secret-access-key",
    "client_secret",
    "pat",
    "credentials",
]


@pytest.mark.parametrize("dashes", ["-", "--"])
@pytest.mark.parametrize("name", NAMES)
def test_argument_named_like_a_secret(name: str, dashes: str) -> None:
    assert redact(["train.py", f"{dashes}{name}={SECRET}", "4"]) == [
        "train.py",
        f"{dashes}{name}={HIDDEN}",
        "4",
    ]
    assert redact(["train.py", f"{dashes}{name}", SECRET, "4"]) == [
        "train.py",
        f"{dashes}{name}",
        HIDDEN,
        "4",
    ]


@pytest.mark.parametrize("name", ["API_KEY", "HF_TOKEN", "WANDB_API_KEY", "DB_PASSWORD", "token"])
def test_assignment_to_a_variable_named_like_a_secret(name: str) -> None:
    assert redact(["env", f"{name}={SECRET}\nmore", "python"]) == [
        "env",
        f"{name}={HIDDEN}",
        "python",
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["python", "train.py", "--tokenizer", "gpt2"],
        ["--max-tokens", "5"],
        ["--max_tokens=5"],
        ["--tokenizer=gpt2"],
        ["--keyboard", "us"],
        ["--monkey=3"],
        ["--author", "ada"],
        ["--patience", "3"],
        ["key", "value"],
        ["--lr", "1e-3"],
        ["https://example.org/data.tar"],
        ["ada@example.org"],
        ["gs://bucket/a@b"],
        ["", "-", "--", "=", "=x", "-=x"],
        ["hf_"],
        ["ghp_x"],
        ["risk-averse-strategy"],
        ["--out", "/data/sk/run-1"],
    ],
    ids=" ".join,
)
def test_what_is_no_secret_stays(command: list[str]) -> None:
    assert redact(command) == command


def test_option_after_a_flag_is_not_its_value() -> None:
    assert redact(["--token", "--verbose", "yes"]) == ["--token", "--verbose", "yes"]
    assert redact(["--token"]) == ["--token"]
    assert redact(["--token", "--password", SECRET]) == ["--token", "--password", HIDDEN]


def test_only_the_one_value_is_left_out() -> None:
    assert redact(["--token", SECRET, "gpt2", "--key", "b", "c"]) == [
        "--token",
        HIDDEN,
        "gpt2",
        "--key",
        HIDDEN,
        "c",
    ]


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        (f"postgres://ada:{SECRET}@db/runs", f"postgres://{HIDDEN}@db/runs"),
        (f"--url=https://{SECRET}@git.example.org/x", f"--url=https://{HIDDEN}@git.example.org/x"),
        (
            f"a=ftp://u:{SECRET}@h/ b=ftp://v:{SECRET}@h/",
            f"a=ftp://{HIDDEN}@h/ b=ftp://{HIDDEN}@h/",
        ),
    ],
)
def test_user_and_password_of_an_address(given_: str, shown: str) -> None:
    assert redact([given_]) == [shown]


@pytest.mark.parametrize(
    "secret",
    [
        "hf_" + "aB3" * 11,
        "ghp_" + "a1" * 18,
        "gho_" + "a1" * 18,
        "github_pat_" + "11AB" * 8,
        "glpat-" + "x" * 20,
        "AKIA" + "A7" * 8,
        "sk-" + "proj-" * 3 + "abc",
        "xoxb-1234567890-ab",
        "AIza" + "Sy" * 17,
        "ya29." + "a0" * 20,
    ],
)
def test_value_that_its_issuer_marked(secret: str) -> None:
    assert redact([secret, f"--login={secret}", f"echo {secret} | login"]) == [
        HIDDEN,
        f"--login={HIDDEN}",
        f"echo {HIDDEN} | login",
    ]


words = st.text() | st.sampled_from(
    [
        "--token",
        "-key",
        "KEY=",
        "--token=",
        "https://a:b@c",
        "hf_12345678",
        "--",
        "-",
        "…",
        "\udcff",
    ]
)


@given(st.lists(words))
def test_any_command_keeps_its_number_of_words(command: list[str]) -> None:
    shown = redact(command)
    assert len(shown) == len(command)
    assert redact(shown) == shown


@given(st.sampled_from(NAMES), st.text(min_size=1).filter(lambda text: text[0] != "-"))
def test_any_value_of_a_secret_is_left_out(name: str, value: str) -> None:
    assert redact([f"--{name}", value]) == [f"--{name}", HIDDEN]
    assert redact([f"--{name}={value}"]) == [f"--{name}={HIDDEN}"]
