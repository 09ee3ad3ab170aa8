"""Which outcomes each rule can have with each kind of evidence that others recorded.

What is in neither table is *not evaluated*. A rule may be in one and not in the other: a log that
names reads before the barrier shows none of those after it, so it never shows that there are none.
"""

from __future__ import annotations

_RECOMPILATION = {f"XD{number}" for number in (101, 103, 104, 105, 106, 107, 108, 109)}

#: Kind of evidence -> rules that can have a finding.
FIRES: dict[str, set[str]] = {
    "trace": _RECOMPILATION
    | {
        "XD110",
        "XD111",
        "XD201",
        "XD301",
        "XD303",
        "XD305",
        "XD309",
        "XD308",
        "XD310",
        "XD601",
        "XD644",
        "XD706",
    },
    "report": {"XD102", "XD110", "XD111", "XD201", "XD204", "XD301", "XD309", "XD401", "XD402"},
    "log": {"XD106", "XD109", "XD110", "XD201", "XD301"},
    "compilations of the log": {"XD106", "XD109", "XD110", "XD201", "XD301"},
    "first half of the report": set(),
    "runtime's part of the report": {
        "XD102",
        "XD110",
        "XD111",
        "XD201",
        "XD204",
        "XD301",
        "XD309",
        "XD401",
        "XD402",
    },
}
#: Kind of evidence -> rules that it can show to be clear.
CLEARS: dict[str, set[str]] = {
    "trace": FIRES["trace"] | {"XD604", "XD901"},
    "report": FIRES["report"],
    "log": {"XD106", "XD109", "XD110", "XD301"},
    "compilations of the log": {"XD106", "XD109", "XD110", "XD301"},
    "first half of the report": set(),
    "runtime's part of the report": FIRES["runtime's part of the report"],
}
FIRES[""] = FIRES["trace"] | FIRES["report"] | FIRES["log"]
CLEARS[""] = CLEARS["trace"] | CLEARS["report"]
