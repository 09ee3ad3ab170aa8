"""Estimates what a fix would save, by replaying the captured timeline without what it removes.

``program`` reads a process's timeline from the evidence, ``replay`` runs it, ``claims`` describes
what fixes change, ``savings`` turns the difference into seconds of the run.
"""

from xladoctor.diagnosis.whatif.claims import claims_of
from xladoctor.diagnosis.whatif.savings import Estimate, Fix, WhatIf

__all__ = ["Estimate", "Fix", "WhatIf", "claims_of"]
