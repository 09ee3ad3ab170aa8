"""What a thread of the program does, and the parts of a run's time; every list of these is here.

An *activity* is what a timeline shows of the loop's thread, a *region* the call that it is part of,
a *part* what reports divide the time into.
"""

from typing import Literal, NamedTuple, get_args

Activity = Literal["compile", "wait", "upload", "input", "save", "dispatch", "collective"]
Region = Literal["barrier", "read", "input", "save", "upload", "cut"]
PartName = Literal[
    "startup",
    "warmup_compile",
    "compile",
    "read",
    "barrier",
    "collective",
    "input",
    "upload",
    "save",
    "dispatch",
    "tracing",
    "python",
    "unrecorded",
    "after",
    "capture",
]
#: In the order of their codes; whatever else a thread does is Python.
ACTIVITIES: tuple[Activity, ...] = get_args(Activity)
REGIONS: tuple[Region, ...] = get_args(Region)
#: Apart from the activities: it is unknown what the thread did.
UNRECORDED = "unrecorded"
#: What the loop does while a device is idle, as columns ``idle_…_ns`` have it, and in words.
IDLE_FOR = {
    "compile": "compiling",
    "wait": "waiting",
    "upload": "uploads",
    "input": "input",
    "save": "saving",
    "dispatch": "dispatch",
    "collective": "collectives",
    "tracing": "tracing",
    "unrecorded": "what is not recorded",
    "other": "Python",
}


class Part(NamedTuple):
    """A part of the time: its name in reports, and how bars draw it, in blocks or in ASCII."""

    label: str
    block: str
    ascii: str
    color: str
    of_step: bool = True


#: In the order of reports.
PARTS: dict[PartName, Part] = {
    "startup": Part("start-up", "▁", "_", "bright_black", of_step=False),
    "warmup_compile": Part("warm-up compile", "▆", "w", "light_coral"),
    "compile": Part("compile", "█", "#", "red"),
    "read": Part("reads", "▓", "x", "magenta"),
    "barrier": Part("device", "▞", "=", "green"),
    "collective": Part("collectives", "▤", "o", "green"),
    "input": Part("input", "▒", "i", "yellow"),
    "upload": Part("uploads", "▚", "u", "cyan"),
    "save": Part("saves", "▖", "s", "cyan"),
    "dispatch": Part("dispatch", "▗", "d", "cyan"),
    "tracing": Part("tracing", "░", "t", "blue"),
    "python": Part("Python", "▪", ".", "blue"),
    "unrecorded": Part("not recorded", "╌", "?", "bright_black"),
    "after": Part("after the loop", "▔", "-", "bright_black", of_step=False),
    "capture": Part("xladoctor", "·", ":", "bright_black", of_step=False),
}
OF_STEP: list[PartName] = [name for name, part in PARTS.items() if part.of_step]
