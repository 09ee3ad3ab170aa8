"""The file of a new rule: the least that works, with a case of each kind."""

from __future__ import annotations

from typing import Any

import yaml

SCHEMA_FILE = "rule.schema.json"
_TEXT = """\
# yaml-language-server: $schema={schema}
id: {id}
name: {name}
title: A headline of what it finds
category: synchronization
severity: warning  # the highest that a finding can have
confidence: medium
judged_by: counts  # or time, where two runs may differ
status: preview
since: 0.1.0
needs: [host_sync]  # tables that it cannot be judged without
not_evaluated:
  host_sync: no step log
thresholds:
  times: 10  # $times in the query
query: |
  SELECT process, file, line, any_value(function) AS function,
         sum(count) AS count,
         max(count_a_step) AS per_step,
         sum(duration_ns) AS cost_ns,
         {{'kinds': list_sort(list(DISTINCT kind))}} AS cause
  FROM read_in_loop
  WHERE kind IN ('item', 'float')
  GROUP BY process, file, line
  HAVING sum(count) >= $times
message: |
  The loop reads from the device {{{{ count }}}} times ({{{{ cause.kinds | join(', ') }}}}).
why: Why that is slow.
fix: What to do about it.
example:
  before: |
    total += loss.item()
  after: |
    total += loss.detach()
false_positives: When it is wrong, and how to tell.
cases:
  - case: The loss is read at each of 40 steps.
    tables:
      step: [{{rows: 40, index: {{from: 0}}, ordinal: {{from: 0}}}}]
      host_sync: [{{rows: 40, step: {{from: 0}}, kind: item, line: 38}}]
    expect:
      - {{line: 38, severity: info, count: 40, message: reads from the device 40 times (item)}}
  - case: The loss is read in 5 of 40 steps.
    tables:
      step: [{{rows: 40, index: {{from: 0}}, ordinal: {{from: 0}}}}]
      host_sync: [{{rows: 5, step: {{from: 0, by: 8}}, kind: item, line: 38}}]
    expect: []
"""


def rule_text(rule_id: str, name: str) -> str:
    """The text of ``ID-name.yaml``."""
    return _TEXT.format(schema=SCHEMA_FILE, id=rule_id, name=name)


def rule_data(rule_id: str, name: str) -> dict[str, Any]:
    """What that file says, whatever characters the two have."""
    return {**yaml.safe_load(rule_text("ACME001", "odd-thing")), "id": rule_id, "name": name}
