"""Texts that want to be obeyed: by terminals, CI, browsers, shells, parsers and the eye."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from xladoctor.diagnosis import device_use, finding, interface
from xladoctor.diagnosis.pictures import interface as pictures
from xladoctor.gate import interface as gate
from xladoctor.report import interface as report

Value = TypeVar("Value")

_TERMINAL = {
    "window title": "\x1b]0;owned\x07",
    "title by C1": "\x9d0;owned\x9c",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "link as rich writes it": "\x1b]8;id=1-2;file:///etc/passwd#1\x1b\\x\x1b]8;;\x1b\\",
    "link to a host": "\x1b]8;id=1;file:///../evil\x1b\\#1\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "notification": "\x1b]9;owned\x07\x1b]777;notify;a;b\x07",
    "working folder": "\x1b]7;file://evil/\x07",
    "colour": "\x1b[31m",
    "hidden": "\x1b[8m",
    "colour by C1": "\x9b31m",
    "clear": "\x1b[2J\x1b[3J\x1b[H",
    "reset": "\x1bc",
    "cursor up": "\x1b[99A\x1b[2K",
    "scroll region": "\x1b[1;1r",
    "alternate screen": "\x1b[?1049h",
    "mouse": "\x1b[?1000h",
    "report back": "\x1b[6n\x1b[c\x1bP+q544e\x1b\\",
    "device control": "\x1bPq#0;2;0;0;0~~\x1b\\",
    "DCS by C1": "\x90q\x9c",
    "privacy message": "\x1b^x\x1b\\\x1b_x\x1b\\",
    "charset": "\x1b(0lqqk\x0e",
    "unfinished": "\x1b[",
    "unfinished OSC": "\x1b]0;",
    "bell": "\x07" * 3,
    "backspace": "good\x08\x08\x08\x08evil",
    "overwriting": "evil\rgood",
    "form feed": "\x0c\x0b",
    "delete": "\x7f",
    "file separators": "\x1c\x1d\x1e\x1f\x85\u2028\u2029",
    "zero byte": "a\x00b",
    "answerback": "\x05",
}
_CI = {
    "error": "::error file=a,line=1::owned",
    "error on a line": "\n::error::owned",
    "after spaces": "\n   ::warning::owned",
    "after CR": "\r::error::owned",
    "after a separator": "\u2028::error::owned",
    "set-output": "\n::set-output name=a::b",
    "set-env": "\n::set-env name=PATH::/evil",
    "add-mask": "\n::add-mask::a",
    "add-path": "\n::add-path::/evil",
    "stop-commands": "\n::stop-commands::x",
    "group": "\n::group::x\n::endgroup::",
    "old form": "##[error]owned",
    "Azure": "##vso[task.setvariable variable=PATH]/evil",
    "TeamCity": "##teamcity[buildStatus status='SUCCESS']",
    "escapes": "%0A::error::owned%0D%25%3A%2C",
    "file commands": "EOF\nPATH=/evil\nEOF",
    "section of GitLab": "\x1b[0Ksection_start:0:a\r\x1b[0Kowned",
}
_MARKUP = {
    "script": "<script>alert(1)</script>",
    "end of a script": "</script><script>alert(1)</script>",
    "end of a title": "</title></textarea></style></pre><script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "SVG": "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>",
    "frame": "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "attribute": '" onmouseover="alert(1)" x="',
    "attribute, single": "' onmouseover='alert(1)' x='",
    "attribute, bare": " onmouseover=alert(1) ",
    "attribute by backtick": "` onmouseover=alert(1) x=`",
    "style": "<style>*{display:none}</style>",
    "style value": "red;background:url(http://evil.example)",
    "meta": "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "base": "<base href=http://evil.example>",
    "comment": "<!-- --> --!> <![CDATA[ ]]> <?xml ?>",
    "entities": "&lt;script&gt; &#60; &nbsp; &x;",
    "template literal": "${alert(1)} `${1}`",
    "JSON in a page": '</script>\\u003c/script>\\"}];alert(1)//',
    "prototype": "__proto__ constructor",
    "link of Markdown": "[x](javascript:alert(1)) ![x](http://evil.example/x.png)",
    "reference": "[x][1]\n\n[1]: http://evil.example",
    "autolink": "<http://evil.example> http://evil.example www.evil.example a@evil.example",
    "mention": "@ada #12 GH-12 0123456789abcdef",
    "quick action": "\n/close\n/assign @ada",
    "heading": "\n# owned\n\nowned\n===",
    "fence": "\n```\nowned\n~~~\n",
    "more ticks": "`" * 20,
    "table": "| a | b |\n|---|---|\n| c | d |",
    "rule": "\n\n---\n\n***\n",
    "list": "\n- [x] owned\n1. owned",
    "details": "</details></summary><details open>",
    "emphasis": "**__~~*_x_*~~__**",
    "mathematics": "$`x`$ $$x$$",
    "emoji": ":tada: :+1:",
    "rich": "[bold red]x[/] [link=http://evil.example]x[/link] [/red] [@click=app.quit]x[/]",
    "Jinja": "{{ 7*7 }} {% raw %} {# #}",
    "format": "%s %n %d {} {0} {x.__class__}",
    "XML": "]]></failure><failure><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>&b;",
    "JSON": '", "severity": "info", "x": "',
    "YAML": "\n- !!python/object/apply:os.system ['x']\n",
    "CSV": "=cmd|' /C calc'!A0,\"\n+1",
    "URI": "file:///etc/passwd javascript:alert(1) data:text/html,x",
    "path": "../../../../etc/passwd",
}
_SHELL = {
    "substitution": "$(touch owned) `touch owned`",
    "chain": "; touch owned & touch owned | touch owned && touch owned",
    "quotes": "'\"\\' \\\" $'\\x41'",
    "redirection": "> owned < owned",
    "glob": "* ? [a-z] {a,b} ~ !!",
    "option": "--help -rf",
    "comment of a shell": "# x",
}
_EYE = {
    "direction": "\u202egpj.exe\u202c \u2066x\u2069 \u061c\u200f",
    "no width": "a\u200bb\u200cc\u200dd\u2060e\ufeff",
    "tags": "a\U000e0061\U000e0062",
    "combining": "a" + "\u0301" * 1000,
    "full width": "ｅｖｉｌ：：ｅｒｒｏｒ",
    "wide": "数据" * 200,
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20,
    "right to left": "شبكة עברית",
    "homoglyphs": "раssword",
    "half of a pair": "\ud800 \udfff",
    "byte": "\udcff\udc80",
    "private use": "\ue000\uf8ff",
    "no character": "\ufffe\uffff\ufffd",
    "long": "x" * 20_000,
    "long words": "word " * 4_000,
    "many lines": "\n" * 500,
    "spaces": "\u00a0\u3000\u2003\t" * 20,
    "nothing": "",
}
#: By what it attacks and how.
TEXTS = {
    f"{kind}: {name}": text
    for kind, texts in {
        "terminal": _TERMINAL,
        "CI": _CI,
        "markup": _MARKUP,
        "shell": _SHELL,
        "eye": _EYE,
    }.items()
    for name, text in texts.items()
}


#: Fields of texts that are of a fixed set, or that nothing but xladoctor writes.
_KEPT = {
    "doing",
    "fingerprint",
    "fired",
    "clear",
    "frontend",
    "kind",
    "known_as",
    "limited_by",
    "name",
    "not_evaluated",
    "off",
    "rule",
    "tool",
}


def with_text(value: Value, text: str) -> Value:
    """A report, with this text in the middle of each text of the program that it has."""
    return cast(Value, _with_text(value, text))


def _with_text(value: Any, text: str) -> Any:
    if type(value) is str:
        half = len(value) // 2
        return value[:half] + text + value[half:]
    if type(value) in (list, tuple):
        return type(value)(_with_text(item, text) for item in value)
    if isinstance(value, dict):
        return {key: _with_text(item, text) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: _with_text(getattr(value, field.name), text)
            for field in fields(value)
            if field.name not in _KEPT and _may_have_text(str(field.type))
        }
        return replace(value, **changed)
    return value


def _may_have_text(annotation: str) -> bool:
    """Whether a field has texts that are not of a fixed set, or dataclasses that may have them."""
    words = set(re.findall(r"\w+", annotation))
    return bool(words & {"str", "Any"}) or any(
        is_dataclass(known) for known in map(_CLASSES.get, words)
    )


_CLASSES = {
    name: value
    for module in (device_use, finding, interface, pictures, gate, report)
    for name, value in vars(module).items()
}
