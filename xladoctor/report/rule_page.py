"""A rule's documentation page, made from its file."""

from __future__ import annotations

import re
import textwrap
from typing import TextIO

from xladoctor.diagnosis.example import Example
from xladoctor.diagnosis.rule import Rule
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.report.interface import Style
from xladoctor.report.text import plain

_FENCED = re.compile(r"^(```.*?^```\n)", re.MULTILINE | re.DOTALL)
_PARAGRAPH = re.compile(r"^(?:- .+|[^#\n-].*(?:\n[^#\n-].*)*)", re.MULTILINE)


def page(rule: Rule) -> str:
    """The page in Markdown: what holds for any frontend, then what each says otherwise."""
    frontends = rule.applies_to.frontends
    each = {name: own for name in frontends if (own := rule.for_frontend(name))}
    general = rule if len(each) > 1 else each[frontends[0]]
    others = each if len(each) > 1 else {}
    thresholds = "".join(f"- `{name}`: {value:g}\n" for name, value in rule.thresholds.items())
    about = [
        f"# {rule.id} {rule.name}\n\n{general.title}.\n\n"
        f"Severity up to {rule.severity} · confidence {rule.confidence} · judged by"
        f" {rule.judged_by} · {rule.status} since {rule.since} · needs"
        f" {', '.join(f'`{table}`' for table in rule.needs)}"
    ]
    if others:
        about[0] += f" · for {' and '.join(vocabulary(name).title for name in frontends)}"
    if rule.evidence:
        about.append(f"Evidence that it is tested with: {rule.evidence}.")
    parts = [*about, *_words(general), *_untried(general)]
    neutral = rule.model_copy(update={"per_frontend": {}})
    for name, own in others.items():
        parts += _other_words(name, neutral.for_frontend(name) or rule, own)
    if thresholds:
        parts.append(f"## Thresholds\n\n{thresholds.rstrip()}")
    references = dict.fromkeys(url for own in (general, *others.values()) for url in own.references)
    if references:
        parts.append("## References\n\n" + "\n".join(f"- <{url}>" for url in references))
    return "\n\n".join(part for part in parts if part) + "\n"


def render(rule: Rule, output: TextIO, style: Style) -> None:
    """Write the page, its paragraphs within the width; code and addresses stay whole."""
    for nth, part in enumerate(_FENCED.split(plain(page(rule), style, lines=True))):
        output.write(
            part if nth % 2 else _PARAGRAPH.sub(lambda text: _filled(text[0], style), part)
        )


def _filled(text: str, style: Style) -> str:
    below = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        text,
        style.width,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _words(rule: Rule) -> list[str]:
    return [
        f"## Why it is slow\n\n{rule.why.strip()}",
        f"## Fix\n\n{rule.fix.strip()}",
        _example(rule.code) if rule.code else "",
        f"## When it is wrong\n\n{rule.false_positives.strip()}",
    ]


def _untried(rule: Rule) -> list[str]:
    return [f"No test follows this fix: {rule.untried.strip()}"] if rule.untried else []


def _example(example: Example) -> str:
    before, after = example.before.rstrip(), example.after.rstrip()
    return f"Before:\n\n```python\n{before}\n```\n\nAfter:\n\n```python\n{after}\n```"


def _other_words(frontend: str, rule: Rule, own: Rule) -> list[str]:
    """What is said otherwise in a frontend: under a heading of its own."""
    title = f"{own.title}." if own.title != rule.title else ""
    different = [
        part.replace("## ", "### ", 1)
        for part, general in zip(_words(own), _words(rule), strict=True)
        if part != general
    ]
    if own.untried != rule.untried:
        different += _untried(own)
    if not title and not different:
        return []
    return [part for part in (f"## In {vocabulary(frontend).title}", title, *different) if part]
