"""Several recorded runs as one of several processes, which all rules judge at once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from xladoctor.rule_cases.trial import name_of, unpacked

SESSION = "together"


def together(archives: Iterable[Path], run: Path) -> list[str]:
    """Make a run directory of all of them, and return the program of each process."""
    timelines = run / "plugins" / "profile" / SESSION
    timelines.mkdir(parents=True)
    programs: list[str] = []
    manifest = {}
    for archive in archives:
        with unpacked(archive) as recorded:
            manifest = json.loads((recorded / "run.json").read_text())
            for process in sorted(recorded.glob("process-*")):
                number, pid = 100 + len(programs), process.name.removeprefix("process-")
                shutil.move(process, run / f"process-{number}")
                _forget_files(run / f"process-{number}" / "process.json")
                for timeline in recorded.glob(f"plugins/profile/*/*_{pid}.*"):
                    kind = timeline.name.partition(".")[2]
                    shutil.move(timeline, timelines / f"host_{number}.{kind}")
                programs.append(name_of(archive))
    (run / "run.json").write_text(json.dumps({**manifest, "session": SESSION}))
    _forget_files(run / "run.json")
    return programs


def _forget_files(manifest: Path) -> None:
    """Take out the inventory: the files have other names now."""
    kept = json.loads(manifest.read_text())
    kept.pop("files", None)
    kept.pop("crc32", None)
    manifest.write_text(json.dumps(kept))
