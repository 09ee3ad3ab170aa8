"""A rule's documentation page, made from its file."""

from __future__ import annotations

from xladoctor.diagnosis.rule import Rule


def page(rule: Rule) -> str:
    """The page in Markdown."""
    before, after = rule.example.before.rstrip(), rule.example.after.rstrip()
    thresholds = "".join(f"- `{name}`: {value:g}\n" for name, value in rule.thresholds.items())
    sections = [
        f"# {rule.id} {rule.name}\n\n{rule.title}.\n\n"
        f"Severity up to {rule.severity} · confidence {rule.confidence} · judged by"
        f" {rule.judged_by} · {rule.status} since {rule.since} · needs"
        f" {', '.join(f'`{table}`' for table in rule.needs)}",
        f"## Why it is slow\n\n{rule.why.strip()}",
        f"## Fix\n\n{rule.fix.strip()}",
        f"Before:\n\n```python\n{before}\n```\n\nAfter:\n\n```python\n{after}\n```",
        f"## When it is wrong\n\n{rule.false_positives.strip()}",
    ]
    if thresholds:
        sections.append(f"## Thresholds\n\n{thresholds.rstrip()}")
    if rule.references:
        sections.append("## References\n\n" + "\n".join(f"- <{url}>" for url in rule.references))
    return "\n\n".join(sections) + "\n"
