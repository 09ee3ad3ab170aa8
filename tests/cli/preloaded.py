"""What the server of tests/cli/forked.py does once for all commands: it diagnoses a run, and so has
loaded the modules, the rule pack and the decoder, and DuckDB has its memory. The threads of the
database, which no fork has, end with it.
"""

from pathlib import Path

import xladoctor.diagnosis.pictures.make
import xladoctor.report.html.page
import xladoctor.report.json  # noqa: F401
from xladoctor import doctor
from xladoctor.configuration.load import load_configuration

_RUN = Path(__file__).parents[2] / "sample_traces" / "two_threads"
doctor.diagnose(doctor.load_evidence(str(_RUN)), doctor.selection(load_configuration()))
