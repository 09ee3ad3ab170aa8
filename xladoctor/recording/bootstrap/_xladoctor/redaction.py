"""Command lines without what looks like a secret."""

from __future__ import annotations

import re
from typing import Iterable

_SECRETS = {"token", "key", "apikey", "secret", "password", "passwd", "passphrase", "pwd", "pat",
            "credential", "credentials", "auth", "bearer", "cookie"}  # fmt: skip
_NAMED = re.compile(r"^(-{0,2}[A-Za-z][\w.-]*)(=.*)?$", re.DOTALL)
_URL = re.compile(r"(?<=://)[^/\s]+(?=@)")
_WORD = rf"[\w.-]*(?<![a-z])(?:{'|'.join(sorted(_SECRETS))})(?![a-z])[\w.-]*"
#: The same inside a word: ``sh -c "HF_TOKEN=… python train.py --key …"``, ``https://host/?key=…``.
_INSIDE = re.compile(rf"(?i)({_WORD}\s*[=:]\s*(?:Bearer\s+)?|--{_WORD}\s+|\bBearer\s+)[^\s&\"']+")
#: Prefixes that issuers give their secrets, so that they can be found: of Hugging Face, GitHub,
#: GitLab, Weights & Biases, AWS, OpenAI, Slack, Google.
_ISSUED = re.compile(
    r"\b(?:(?:hf_|gh[pousr]_|wandb_v\d_)[A-Za-z0-9_]{20,}"
    r"|(?:github_pat_|glpat-|AKIA|ASIA|sk-|xox[abprs]-|AIza|ya29\.)[\w./-]{8,})"
)
_HIDDEN = "…"


def redact(command: Iterable[str]) -> list[str]:
    """Leave out values of arguments named like secrets, and what looks like one by itself."""
    shown: list[str] = []
    hide = False
    for argument in command:
        named = _NAMED.match(argument)
        secret = named is not None and _is_secret(named[1])
        if hide and not argument.startswith("--"):
            shown.append(_HIDDEN)
            hide = False
        elif named and secret and (named[2] or argument.startswith("-")):
            shown.append(f"{named[1]}={_HIDDEN}" if named[2] else argument)
            hide = not named[2]
        else:
            shown.append(_without_secrets(argument))
            hide = False
    return shown


def _without_secrets(argument: str) -> str:
    shown = _INSIDE.sub(rf"\1{_HIDDEN}", _URL.sub(_HIDDEN, argument))
    return _ISSUED.sub(_HIDDEN, shown)


def _is_secret(name: str) -> bool:
    """By its words: ``--hf-token``, ``API_KEY``, but not ``--tokenizer`` or ``--max-tokens``."""
    words = re.split(r"[-_.]+", name.lower())
    return "no" not in words and not _SECRETS.isdisjoint(words)
