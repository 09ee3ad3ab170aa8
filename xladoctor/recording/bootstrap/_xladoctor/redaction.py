"""Removes secrets from texts: command lines, lines of source, settings, messages.

Secrets are recognised by their names and by the marks that issuers put on them, not by how random a
text looks: hashes of graphs and names of files look random, too.
"""

from __future__ import annotations

import functools
import re
from typing import Callable, Iterable

_HIDDEN = "…"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words that make a name that of a secret, wherever they stand in it, even at the end of another
#: word (``mypassword``).
_STRONG = re.compile(
    r"(?:.*(?:password|passwd|passphrase|passcode|secret|apikey|authtoken|accesstoken|credential)s?"
    r"|.*pwd|(?:access|secret|private|auth|account|master|license)key|bearer|authorization"
    r"|cookies?|creds?|(?:my|db|user|usr|root|admin|ssh|ftp|smtp|mail|login|proxy|http|sql|mysql|pg"
    r"|redis|mongo|ldap|app|master|key|store|basic|the|new|old)pass)"
)
#: Words that do so only at a name's end: ``--key-dim`` and ``--token-embeddings`` are common.
_WEAK = {"token", "key", "pat", "auth", "pass"}
#: A weak word after one of these is as good as a strong one …
_OF_SECRETS = _words(
    """
    api access secret private auth hf hub huggingface github gitlab gh wandb openai anthropic
    azure aws gcp google slack session refresh bearer bot account master encryption signing ssh
    service deploy client db login admin root security
    """
)
#: … and after one of these no secret at all: ``--pad-token``, ``sort_key``, ``forward_pass``.
_ORDINARY = _words(
    """
    no pad padding eos bos mask unk sep cls image special num n per stop start end begin audio
    video max min by next first last prev sort primary public foreign group cache dict config
    batch metric data text label input target output column feature partition join prng rng
    random state query graph json dataset prompt one two multi single forward backward fwd bwd
    low high band all each compiler hlo second attention attn
    """
)
#: Words for something about a secret that is not one: ``--password-file``, ``secret_name``.
_ABOUT = _words(
    """
    file path dir length len size name names policy type id ids version prompt required field
    env manager store count
    """
)
_USERS = {"u", "user", "username", "login", "account"}

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMED = re.compile(r"^(-{0,2}[A-Za-z][\w.-]*)(=.*)?$", re.DOTALL)
# Repetitions are bounded: no text, however long, may take noticeable time.
_NAME = (
    r"(?<![\w.-])(?P<name>(?P<option>--)?[\w.-]{0,80}"
    r"(?:pass|pwd|secret|token|key|pat|auth|bearer|cookie|cred)[\w.-]{0,80})"
)
_QUOTED = r"(?P<quote>\\?[\"'])(?P<value>(?:(?!(?P=quote))(?:\\.|.))*)"
_SCHEME = r"(?:(?:Bearer|Basic|Digest|Token)\s+)?"
#: ``sh -c "HF_TOKEN=… python train.py --key …"``, ``{"password": "…"}``, ``https://host/?key=…``.
_IN_TEXT = re.compile(
    rf"(?is){_NAME}(?P<sign>\\?[\"']?\s{{0,9}}(?:=>|[=:])\s{{0,9}}{_SCHEME}|(?(option)\s{{1,9}}|(?!)))"
    rf"(?:{_QUOTED}|(?P<bare>[^\s&\"']+))"
)
#: The same in source, where only quoted values are visible: ``login(token="…")``,
#: ``environ["API_KEY"] = "…"``, ``add_argument("--password", default="…")``.
_IN_CODE = re.compile(
    rf"(?i){_NAME}(?P<sign>\\?[\"']?\s{{0,9}}\]?\s{{0,9}}(?:[=!]=|:=|[=:]|:[^=\"'\n]{{0,80}}=)"
    rf"\s{{0,9}}[rbuf]{{0,2}}|[\"'],(?P<apart>[^\"'\n]{{0,200}}default=)?\s{{0,9}}[rbuf]{{0,2}}){_QUOTED}"
)
_IN_ADDRESS = re.compile(rf"(?i)(?<=[?&]){_NAME}(?P<sign>=)(?P<bare>[^\s&\"'#{{}}]+)")
_SIGNED = re.compile(
    r"(?i)((?:^|[?&;\"'])(?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)"
    r"|sharedaccesssignature)=)[^\s&\"'{}]{8,}"
)
_URL = re.compile(
    r"(?<=://)(?!git@|[{<])(?:[^/\s@\"':]{0,200}:(?!\d+/)(?!\{)[^\s@\"']{1,200}|[^/\s\"']{1,200})(?=@)"
)
_BEARER = re.compile(r"(?i)\b(Bearer\s+)(?=[\w.~+/=-]{0,60}\d)[\w.~+/=-]{6,}")
_PRIVATE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL
)
#: Prefixes that issuers put on their secrets so that they can be found.
_ISSUED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:hf_|api_org_|gh[pousr]_|npm_|r8_|gsk_|ntn_|rubygems_|do[oprt]_v1_|lin_api_|whsec_|fw_|phc_"
    r"|shp(?:at|ss|ca|pa)_|esecret_|sbp_|EAA[A-Z])(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{16,}"
    r"|(?:wandb_v\d_|dckr_[po]at_|nvapi-|pplx-|xai-|figd_|glsa_|glc_|sntry[su]_|tskey-|pul-|PMAK-"
    r"|hv[sbr]\.|AQVN|ops_eyJ|tvly-)(?=[\w./=+-]{0,60}\d)[\w./=+-]{16,}"
    r"|(?:github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-|ATATT3|GOCSPX-|ya29\."
    r"|pypi-AgE|sq0(?:csp|atp)-|xox[abeoprs]-|xapp-|AIza|AGE-SECRET-KEY-1)[\w./=+-]{8,}"
    r"|(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{12,}(?![a-z])|LTAI[A-Za-z0-9]{12,20}"
    r"|sk-(?:proj|ant|or|svcacct|admin|lf)-[\w./-]{8,}|sk-(?=[\w-]{0,60}\d)[\w./-]{20,}"
    r"|[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|SG\.[\w-]{16,}\.[\w-]{16,}|(?:AC|SK)[a-f0-9]{32}(?!\w)|dapi[a-f0-9]{32}|key-[a-f0-9]{32}"
    r"|[a-f0-9]{32}-us\d{1,2}(?!\w)|\d{8,10}:AA[\w-]{33}|AKC[A-Za-z0-9]{20,}"
    r"|[MNO][A-Za-z\d]{23,25}\.[\w-]{6}\.[\w-]{27,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{4,}(?:\.[\w+/=-]*)*"
    r")"
    r"|(?<=hooks\.slack\.com/)(?:services|workflows)/[\w/-]{16,}|(?<=/api/webhooks/)\d{8,}/[\w-]{16,}"
)
_RANDOM = re.compile(r"(?=.*\d)(?:(?=.*[a-z])(?=.*[A-Z])[\w+/=-]{16,}|[0-9a-f]{20,})\Z")
_MIXED = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[^\s<>\[\]{}]{6,}\Z")
_STANDS_FOR = re.compile(  # placeholders, and names of variables
    r"(?i:|(?:(?:bearer|basic|token|key)\s)?\{[^}]*\}|\$\{?\w+\}?|\$\(.*|<[^>]*>|%\(?\w*\)?s|\w{0,9}(?:\*+|\.{3})|x+|none|null|true|false)"
    r"|[A-Z]+(?:_[A-Z]+)+|…"
)
_OF_COMPILER = re.compile(r"(?i)\d{1,3}|true|false")  # after ``--pass``
_P_ORDINARY = re.compile(r"[\d.,]+|[a-z_-]*|.*[/:=,@].*|.{0,5}", re.DOTALL)
_ANY_USER = re.compile(r"[^:\s/]+:(?!\d{1,5}\Z).+", re.DOTALL)


def redact(command: Iterable[str]) -> list[str]:
    """Leave out the values of arguments named like secrets, and texts that look like secrets."""
    shown: list[str] = []
    name = ""  # the option whose value is next
    for argument in command:
        named = _NAMED.match(argument)
        if name and not argument.startswith("--") and _hides(name, argument):
            shown.append(_HIDDEN)
            name = ""
            continue
        name = ""
        if named and named[2]:
            hides = _hides(named[1], named[2][1:])
            shown.append(f"{named[1]}={_HIDDEN}" if hides else redact_text(argument))
        else:
            shown.append(redact_text(argument))
            name = argument if named and argument.startswith("-") else ""
    return shown


def redact_text(text: str) -> str:
    """A message, a setting or one argument, without secrets; values need not be quoted."""
    return _marked(_without(_IN_TEXT, _is_secret, text))


@functools.lru_cache(maxsize=1 << 14)  # the same lines are written repeatedly
def redact_code(line: str) -> str:
    """A line of source without secrets in its literals."""
    return _marked(_without(_IN_ADDRESS, _is_secret, _without(_IN_CODE, _is_secret_in_code, line)))


def _without(
    pattern: re.Pattern[str], is_secret: Callable[[re.Match[str]], bool], text: str
) -> str:
    """The text without the values of names that ``is_secret`` says are secrets."""
    parts = []
    done = 0
    while match := pattern.search(text, done):
        parts.append(text[done : match.end("sign")])
        done = match.end("sign")
        if is_secret(match):  # otherwise its value may contain another name
            parts.append(f"{match.groupdict().get('quote') or ''}{_HIDDEN}")
            done = match.end()
    return "".join((*parts, text[done:]))


def _marked(text: str) -> str:
    """The text without secrets that their issuers have marked."""
    for pattern in (_URL, _PRIVATE, _ISSUED):
        text = pattern.sub(_HIDDEN, text)
    for pattern in (_SIGNED, _BEARER):
        text = pattern.sub(rf"\1{_HIDDEN}", text)
    return text


def _is_secret(match: re.Match[str]) -> bool:
    found = match.groupdict()
    return _hides(match["name"], found["bare"] or found.get("value") or "")


def _is_secret_in_code(match: re.Match[str]) -> bool:
    value, kind = match["value"], _kind(match["name"])
    listed = match["sign"].lstrip("\"' ").startswith(",") and not match["apart"]
    if not kind or _STANDS_FOR.fullmatch(value):
        return False
    if kind == "key":
        return _RANDOM.match(value) is not None
    return (kind == "strong" and not listed) or _MIXED.match(value) is not None


def _hides(name: str, value: str) -> bool:
    """Whether an option's value is left out."""
    bare = name.lstrip("-").lower()
    if bare in _USERS or bare.rpartition("-")[2] in _USERS:
        return _ANY_USER.match(value) is not None
    if name == "-p":  # a password in some programs; a port, folder or partition in others
        return not _P_ORDINARY.fullmatch(value)
    kind = _kind(name)
    return bool(kind) and not (kind == "pass" and _OF_COMPILER.fullmatch(value))


@functools.lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    """``strong``, or the weak word that makes a name that of a secret; empty for other names.

    ``--hf-token``, ``API_KEY``, ``dbPassword``, but not ``--tokenizer`` or ``--max-tokens``.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    last, before = words[-1] if words else "", words[-2] if len(words) > 1 else ""
    if "no" in words or last in _ABOUT or (last in _WEAK and before in _ORDINARY):
        return ""
    if any(map(_STRONG.fullmatch, words)) or (last in _WEAK and before in _OF_SECRETS):
        return "strong"
    return last if last in _WEAK else ""
