"""What decides whether a run can be compared with another, as far as no report shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xladoctor.diagnosis.step_samples import Samples, step_samples
from xladoctor.frontends.vocabulary import DEFAULT, vocabulary

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence

# What the loop sends to the device: from lines that send in several steps, unlike set-up.
_SHAPES = """
    SELECT DISTINCT t.dtype, t.shape, t.function
    FROM transfer t JOIN (
        SELECT process, file, line FROM upload
        GROUP BY ALL HAVING count(DISTINCT step) > 1
    ) u USING (process, file, line)
    WHERE t.direction = 'to_device' ORDER BY ALL
"""


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a run; None if unknown, several values joined by commas.

    Attributes:
        frontend: as in :class:`xladoctor.evidence.interface.Evidence`.
        host, device_kind: of its processes.
        versions: of packages and of ``python``, by name.
        captured_by: the version of xladoctor that captured it.
        cut_short: whether it did not end by itself, as far as its manifest says.
        main: its main script, as in its command.
        options: of its capture.
        settings: environment variables as ``name=value``; those that name places without the value.
        shapes: of what its loop sends to the device.
        samples: its steps after warm-up.
        notes: what was cut, skipped or unreadable in its evidence.
    """

    frontend: str = DEFAULT
    host: str | None = None
    device_kind: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    captured_by: str | None = None
    cut_short: bool = False
    main: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    settings: frozenset[str] | None = None
    shapes: frozenset[str] | None = None
    samples: Samples = field(default_factory=Samples)
    notes: tuple[str, ...] = ()


def traits(evidence: Evidence) -> Traits:
    """The traits of the run that this is the evidence of."""
    processes = evidence.database.rows("SELECT * FROM process ORDER BY process")
    manifest, tool = evidence.manifest, getattr(evidence.origin, "tool", None)
    cut_short = manifest is not None and manifest.ended is None and manifest.part_of is None
    options = manifest.options if manifest else {}
    return Traits(
        evidence.frontend,
        _joined(row["host"] for row in processes),
        _joined(row["device_kind"] for row in processes),
        _versions(evidence),
        tool.version if tool else None,
        cut_short,
        manifest.script if manifest else None,
        {name: value for name, value in options.items() if name != "session"},
        _settings(evidence),
        _shapes(evidence),
        step_samples(evidence),
        evidence.notes,
    )


def _versions(evidence: Evidence) -> dict[str, str]:
    rows = evidence.database.rows("SELECT package, version FROM version ORDER BY package, process")
    joined = {
        name: _joined(row["version"] for row in rows if row["package"] == name)
        for name in dict.fromkeys(row["package"] for row in rows)
    }
    return {name: versions for name, versions in joined.items() if versions}


def _joined(values: Iterable[Any]) -> str | None:
    """Each value once; None if none is known."""
    return ", ".join(dict.fromkeys(str(value) for value in values if value is not None)) or None


def _settings(evidence: Evidence) -> frozenset[str] | None:
    if "environment" not in evidence.available:
        return None
    rows = evidence.database.rows("SELECT DISTINCT name, value FROM environment")
    kinds = vocabulary(evidence.frontend).settings
    place, device = kinds["place"], kinds["device"]  # devices are compared by themselves
    return frozenset(
        row["name"]
        if re.search(place, row["name"])
        else f"{row['name']}={' '.join((row['value'] or '').split())}"
        for row in rows
        if not re.search(device, row["name"])
    )


def _shapes(evidence: Evidence) -> frozenset[str] | None:
    if not {"transfer", "upload"} <= evidence.available:
        return None
    return frozenset(
        f"{row['dtype']}[{','.join(map(str, row['shape'] or ()))}] in {row['function'] or '?'}"
        for row in evidence.database.rows(_SHAPES)
    )
