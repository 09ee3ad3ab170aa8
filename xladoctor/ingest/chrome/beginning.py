"""How a Chrome trace begins: an object whose events follow what is said of the whole, or a list.

What is said of the whole can be long: profilers list the ranks of every group of a distributed job,
and other programs add what they know of the run.
"""

from __future__ import annotations

import re

#: Bytes before the events, at most.
LONGEST = 1 << 22
#: Where the list of events opens.
EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[|^(?:\xef\xbb\xbf)?\s*\[')
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")


def may_be_trace(head: bytes) -> bool:
    """Whether a file that begins so can be one: an object, or a list of events."""
    return _OBJECT.match(head) is not None or is_trace(head)


def is_trace(head: bytes) -> bool:
    """Whether a file is one of which this is the beginning."""
    if _LIST.match(head):
        return b'"ph"' in head
    named = EVENTS.search(head) or b'"displayTimeUnit"' in head
    return bool(_OBJECT.match(head) and named)
