"""Lines as SARIF has them: where a finding is, what else belongs to it, from cause to consequence.

In plain messages of SARIF, ``[text](1)`` links the related location with the id 1.
"""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import quote

from xladoctor.diagnosis.finding import Location
from xladoctor.diagnosis.interface import RunFacts
from xladoctor.report.alerts import Alert
from xladoctor.report.places import path_in_repository, path_shown
from xladoctor.report.words import ROLES, sentence
from xladoctor.repository import installed, whole

#: The order in which a cause leads to its consequence, and what happens at each line.
_FLOW = {
    "caller": "the call into the library",
    "made": "the tensor is made here",
    "guilty": "",
    "used": "it is first used here",
    "compiled": "the graph is cut and compiled here",
}


def primary(place: Location) -> dict[str, Any]:
    """The line that the finding is shown at; its path is from the root of the repository."""
    return _location(place, _inside(place.file))


def _of(place: Location, run: RunFacts, **fields: Any) -> dict[str, Any]:
    return {**_location(place, _artifact(place.file, run)), **fields}


def _location(place: Location, artifact: dict[str, str]) -> dict[str, Any]:
    source = (place.source or "").rstrip()
    region = {"startLine": max(place.line, 1), **({"snippet": {"text": source}} if source else {})}
    function = (
        [{"name": place.function, "kind": "function"}]
        if place.function not in (None, "<module>")
        else []
    )
    return {
        "physicalLocation": {"artifactLocation": artifact, "region": region},
        **({"logicalLocations": function} if function else {}),
    }


def _artifact(file: str, run: RunFacts) -> dict[str, str]:
    path, package = path_in_repository(file, run), installed(file)
    if path:
        return _inside(path)
    if package:
        return {"uri": quote(package), "uriBaseId": "PACKAGES"}
    absolute = whole(file, posixpath.join("/", run.cwd or ""))
    return {"uri": f"file:///{quote(absolute.lstrip('/'))}"}


def _inside(path: str) -> dict[str, str]:
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def related(alert: Alert, run: RunFacts) -> list[dict[str, Any]]:
    """The other lines, each with what it has to do with the finding."""
    others = [place for place in alert.locations if not _primary(place, alert, run)]
    return [
        _of(place, run, id=number, message={"text": f"{_role(place)} {_shown(place, run)}"})
        for number, place in enumerate(others, 1)
    ]


def message(alert: Alert, places: list[dict[str, Any]]) -> dict[str, str]:
    """The title, what was found, and links to the lines that explain it."""
    links = [
        f"[{_bare(place['message']['text'])}]({place['id']})"
        for place in places
        if place["physicalLocation"]["artifactLocation"].get("uriBaseId") == "%SRCROOT%"
    ]
    text = alert.said.replace("](", "] (")
    return {"text": f"{text} See: {', '.join(links)}." if links else text}


def code_flows(alert: Alert, run: RunFacts) -> list[dict[str, Any]]:
    """From the line that makes the change to the line where the program pays for it."""
    steps = [place for role in _FLOW for place in alert.locations if place.role == role]
    if alert.finding is None or len(steps) < 2:
        return []
    flow = [
        {
            "location": _of(place, run, message={"text": _FLOW[place.role] or alert.title}),
            "importance": "essential" if place.role == "guilty" else "important",
        }
        for place in steps
    ]
    return [{"threadFlows": [{"locations": flow}]}]


def _primary(place: Location, alert: Alert, run: RunFacts) -> bool:
    at = alert.place
    return at is not None and (path_in_repository(place.file, run), place.line) == (
        at.file,
        at.line,
    )


def _role(place: Location) -> str:
    return ROLES.get(place.role, "in" if place.role == "guilty" else place.role).rstrip(":")


def _shown(place: Location, run: RunFacts) -> str:
    return f"{path_shown(place.file, run)}:{place.line}"


def _bare(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def sarif_fixes(alert: Alert, run: RunFacts) -> list[dict[str, Any]]:
    """The patch for a finding that computes the same, as changes that an editor can make."""
    suggestion = alert.finding and alert.finding.suggestion
    if not suggestion or suggestion.behaviour:
        return []
    replacements = [
        {
            "deletedRegion": {
                "startLine": each.line,
                "startColumn": each.column + 1,
                "endLine": each.end_line,
                "endColumn": each.end_column + 1,
            },
            "insertedContent": {"text": each.new_text},
        }
        for each in suggestion.replacements
    ]
    change = {
        "artifactLocation": _artifact(suggestion.file, run),
        "replacements": replacements,
    }
    return [{"description": {"text": sentence(suggestion.title)}, "artifactChanges": [change]}]
