"""Recognises the beginning of a Chrome trace: an object with metadata and then events, or a list.

The metadata can be long: profilers list the ranks of every group of a distributed job, and other
programs add what they know about the run.
"""

from __future__ import annotations

import re

#: The most bytes before the events.
LONGEST = 1 << 22
#: Where the list of events opens.
EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[|^(?:\xef\xbb\xbf)?\s*\[')
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")


def may_be_trace(head: bytes) -> bool:
    """Whether a file with this beginning can be a trace: an object, or a list of events."""
    return _OBJECT.match(head) is not None or is_trace(head)


def is_trace(head: bytes) -> bool:
    """Whether a file with this beginning is a trace."""
    if _LIST.match(head):
        return b'"ph"' in head
    named = EVENTS.search(head) or b'"displayTimeUnit"' in head
    return bool(_OBJECT.match(head) and named)
