"""Files from which many tables have rows, by patterns of their names."""

MODULE_FILES = ("modules*.xplane.pb", "*.xplane.pb")
TIMELINE_FILES = ("*.xplane.pb", "*.trace.json.gz")
