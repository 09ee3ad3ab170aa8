"""What a fix would give back: the captured timeline, replayed without what the fix removes.

``program`` reads a process's timeline from the evidence, ``replay`` runs it, ``claims`` are what
rules say of their fixes, ``savings`` makes seconds of the run out of the difference.
"""

from xladoctor.diagnosis.whatif.claims import claims_of
from xladoctor.diagnosis.whatif.savings import Estimate, Fix, WhatIf

__all__ = ["Estimate", "Fix", "WhatIf", "claims_of"]
