"""A row of a query's result, apart from the database, which takes long to load."""

from __future__ import annotations

from typing import Any

#: Column -> value.
Row = dict[str, Any]
