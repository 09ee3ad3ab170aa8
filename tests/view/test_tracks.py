"""When findings happened, and what their slices are called."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from tests.cli.command import ROOT
from tests.support import finding, location
from xladoctor import doctor
from xladoctor.configuration.interface import Configured
from xladoctor.diagnosis.finding import Claim, Finding, Saving
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.evidence.interface import Evidence
from xladoctor.view.interface import Track
from xladoctor.view.tracks import findings

PLACE: dict[str, Any] = {"file": "programs/scalar_read.py", "line": 35}


@cache
def sample(name: str = "scalar_read") -> tuple[Evidence, Diagnosis]:
    evidence = doctor.load_evidence(str(ROOT / "sample_traces" / name))
    return evidence, doctor.diagnose(evidence, doctor.selection(Configured(folder=ROOT)))


def tracks(*given: Finding, name: str = "scalar_read") -> list[Track]:
    evidence, diagnosis = sample(name)
    return findings(evidence, replace(diagnosis, findings=list(given)), 0)


def claiming(*claims: Claim, **fields: Any) -> Finding:
    saving = Saving(1.0, 1.0, 0.1, "bound", assumes=list(claims))
    return finding(**{"saving": saving, "locations": [location(**PLACE)], **fields})


def names(track: Track) -> set[str]:
    return {track.slices.names[code] for code in track.slices.name.tolist()}


def test_a_part_of_the_calls_is_told() -> None:
    evidence, _ = sample()
    (file,) = evidence.database.table("SELECT DISTINCT file FROM host_segment WHERE line = 35")[1]
    claim = Claim("remove", "read", file[0], 35, part=0.3)
    (track,) = tracks(claiming(claim))
    assert names(track) == {"XD201 read programs/scalar_read.py:35 (30% of these)"}
    assert len(track.slices) == 40


def test_what_claims_nothing_is_at_its_lines() -> None:
    (track,) = tracks(claiming())
    assert names(track) == {"XD201 programs/scalar_read.py:35"}
    assert len(track.slices) == 40


def test_another_line_has_no_instant() -> None:
    assert tracks(claiming(locations=[location(file="programs/scalar_read.py", line=1)])) == []
    assert tracks(claiming(Claim("remove", "read", "/other.py", 35))) == []
    assert tracks(claiming(locations=[location(**PLACE, role="made")])) == []


def test_a_finding_of_another_process_is_not_here() -> None:
    assert tracks(claiming(processes=["1"])) == []


def test_compilations_belong_to_one_process() -> None:
    one = claiming(compilations=[3, 4])
    assert [len(track.slices) for track in tracks(one, name="recompiling")] == [2]
    two = replace(one, processes=["0", "1"])  # nobody knows whose numbers these are
    assert tracks(two, name="recompiling") == []
    known = replace(two, saving=replace(two.saving, process=0))
    assert [len(track.slices) for track in tracks(known, name="recompiling")] == [2]
