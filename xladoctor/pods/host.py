"""Reduces the evidence of one host, in a process of its own or on a machine of a cluster."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

import duckdb
from pydantic import TypeAdapter

from xladoctor.causes.derive import derive
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.selection import Selection
from xladoctor.errors import XladoctorError
from xladoctor.evidence.busy import busy_notes
from xladoctor.evidence.load import load
from xladoctor.foreign import encodable
from xladoctor.pods import cache, kept
from xladoctor.pods.members import Member, require_inside

#: One at a time in a process, however many threads it has: memory is that of one host's evidence.
_ALONE = Lock()


@dataclass(frozen=True, slots=True)
class Reduced:
    """What came of a host.

    Attributes:
        content: what is kept of it (:mod:`kept`); empty if it cannot be read.
        key: of its content, in the cache.
        fault: why it cannot be read.
        made_by: the version of this package that made it, and the form that this has.
    """

    content: bytes = b""
    key: str = ""
    fault: str = ""
    made_by: str = field(default_factory=kept.made_by)


def reduce_host(member: Member, selection: Selection) -> Reduced:
    """Read, judge and reduce the evidence of a host; of the same content once on a machine."""
    with _ALONE:
        try:
            require_inside(member)
            key = cache.key_of(member, selection.digest)
            file = cache.kept_file(key)
            if file is None:
                content = _reduced(member, selection)
                if key == cache.key_of(member, selection.digest):  # not while it is written
                    cache.keep(key, content)
                else:
                    key = ""
            else:
                content = file.read_bytes()
            return Reduced(content, key)
        except XladoctorError as error:
            hint = f" ({error.hint})" if error.hint else ""
            return Reduced(fault=f"{error.what}{hint}")
        except (OSError, duckdb.Error) as error:
            return Reduced(fault=f"{member.shown}: cannot be reduced: {error}")
        except MemoryError:
            return Reduced(fault=f"{member.shown}: needs more memory than there is")
        except Exception as error:  # one host must not cost the others
            return Reduced(fault=f"{member.shown}: a bug in xladoctor; please report it: {error!r}")


def _reduced(member: Member, selection: Selection) -> bytes:
    evidence = derive(load(member.path), compares_processes=False)
    evidence = replace(
        evidence,
        path=encodable(evidence.path),
        notes=(*evidence.notes, *busy_notes(evidence.database)),
    )
    with tempfile.TemporaryDirectory(prefix="xladoctor-") as folder:
        file = Path(folder, "host.parquet")
        evidence.database.close_to_the_outside(writable=file)
        diagnosis = diagnose(evidence, selection, strict=False)
        about = kept.About(
            available=sorted(evidence.available & set(kept.KEPT)),
            lost=list(evidence.lost),
            frontend=evidence.frontend,
            processes=1 + evidence.database.scalar("SELECT max(process) FROM process"),
            diagnosis=TypeAdapter(Diagnosis).dump_json(diagnosis).decode(),
            cut={table: note for table, note in evidence.cut.items() if table in kept.KEPT},
        )
        kept.write(evidence.database, about, file)
        return file.read_bytes()
