"""What a fix would save: the captured timeline, replayed without what the fix removes.

``program`` reads a process's timeline from the evidence, ``replay`` runs it, ``claims`` say what
fixes do to it, ``savings`` turns the difference into seconds of the run.
"""

from xladoctor.diagnosis.whatif.claims import claims_of
from xladoctor.diagnosis.whatif.savings import Estimate, Fix, WhatIf

__all__ = ["Estimate", "Fix", "WhatIf", "claims_of"]
