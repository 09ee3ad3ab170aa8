"""What the server of tests/cli/forked.py does once for all commands, up to where a database begins,
whose threads no fork has: it loads modules, reads the rule pack, and runs the decoder.
"""

from pathlib import Path

import xladoctor.causes
import xladoctor.diagnosis.pictures.make
import xladoctor.doctor
import xladoctor.report.html.page
import xladoctor.report.json  # noqa: F401
from xladoctor.diagnosis.pack import load_rules
from xladoctor.evidence.catalog import perhaps_named
from xladoctor.ingest.run_directory import read_run_directory

load_rules()
perhaps_named("step")
read_run_directory(Path(__file__).parents[2] / "sample_traces" / "two_threads")
