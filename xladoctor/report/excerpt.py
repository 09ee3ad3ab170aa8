"""The lines of source that a report shows of a location."""

from __future__ import annotations

from xladoctor.diagnosis.finding import Location
from xladoctor.diagnosis.pictures.interface import Pictures


def excerpt(location: Location, pictures: Pictures | None) -> list[tuple[int, str]]:
    """The line with those around it, as far as they are known."""
    around = pictures.excerpts.get(f"{location.file}:{location.line}") if pictures else None
    if around:
        indent = min(
            (len(text) - len(text.lstrip()) for _, text in around if text.strip()), default=0
        )
        return [(number, text[indent:]) for number, text in around]
    source = (location.source or "").strip()
    return [(location.line, source)] if source else []
