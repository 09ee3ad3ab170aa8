"""A rule's documentation page, made from its file."""

from __future__ import annotations

from xladoctor.diagnosis.rule import Example, Rule, Texts
from xladoctor.frontends.vocabulary import vocabulary


def page(rule: Rule) -> str:
    """The page in Markdown."""
    thresholds = "".join(f"- `{name}`: {value:g}\n" for name, value in rule.thresholds.items())
    sections = [
        f"# {rule.id} {rule.name}\n\n{rule.title}.\n\n"
        f"Severity up to {rule.severity} · confidence {rule.confidence} · judged by"
        f" {rule.judged_by} · {rule.status} since {rule.since} · needs"
        f" {', '.join(f'`{table}`' for table in rule.needs)}",
        f"## Why it is slow\n\n{rule.why.strip()}",
        f"## Fix\n\n{rule.fix.strip()}",
        _example(rule.example),
        *(_other_words(name, texts) for name, texts in rule.per_frontend.items()),
        f"## When it is wrong\n\n{rule.false_positives.strip()}",
    ]
    if thresholds:
        sections.append(f"## Thresholds\n\n{thresholds.rstrip()}")
    if rule.references:
        sections.append("## References\n\n" + "\n".join(f"- <{url}>" for url in rule.references))
    return "\n\n".join(sections) + "\n"


def _example(example: Example) -> str:
    before, after = example.before.rstrip(), example.after.rstrip()
    return f"Before:\n\n```python\n{before}\n```\n\nAfter:\n\n```python\n{after}\n```"


def _other_words(frontend: str, texts: Texts) -> str:
    parts = [f"## In {vocabulary(frontend).title}", *(texts.why, texts.fix),
             texts.example and _example(texts.example)]  # fmt: skip
    return "\n\n".join(part.strip() for part in parts if part)
