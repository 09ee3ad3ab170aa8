"""What the server of tests/cli/forked.py reads once for all commands: the rule pack."""

from xladoctor.diagnosis.pack import load_rules

load_rules()
