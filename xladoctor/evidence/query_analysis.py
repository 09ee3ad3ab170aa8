"""Analyzes the views and the rules' queries when they have changed: see ``query_shapes``.

Works on DuckDB's syntax trees (``json_serialize_sql``). What it does not recognise may have rows.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import duckdb

from xladoctor.evidence.catalog import macros, views
from xladoctor.evidence.database import Database
from xladoctor.evidence.query_shapes import key_of, sources_key
from xladoctor.evidence.schema import TABLES
from xladoctor.evidence.syntax import nodes, syntax

Tree = dict[str, Any]
#: Any of these sets of relations, all empty, leaves a query without rows; none: it may have some.
Conditions = list[frozenset[str]]
_MOST = 24  # sets that are kept for a query


def shapes(queries: Iterable[str]) -> str:
    """The text of ``query_shapes.json`` for the views, and for these queries."""
    with duckdb.connect() as connection:
        analysis = Analysis(connection)
        analyzed = {
            name: {
                "columns": columns_of(name),
                "reads": sorted(analysis.reads(view.query)),
                "empty_without": _sorted(analysis.empty_without(view.query)),
            }
            for name, view in views().items()
        }
        named = {name: sorted(analysis.reads(macro.query)) for name, macro in macros().items()}
        rules = {
            key_of(query): _sorted(analysis.empty_without(query)) for query in sorted(set(queries))
        }
    made = {"sources": sources_key(), "views": analyzed, "macros": named, "queries": rules}
    return json.dumps(made, indent=1, sort_keys=True) + "\n"


def columns_of(view: str) -> str:
    """The names and types of a view's columns, as CREATE TABLE takes them."""
    described = _database().rows(f'DESCRIBE "{view}"')
    return ", ".join(f'"{row["column_name"]}" {row["column_type"]}' for row in described)


@cache
def _database() -> Database:
    """One with all tables, views and macros, and no rows."""
    database = Database()
    database.create_views()
    database.create_views("derived")
    database.create([*TABLES, *views(), *macros()])
    return database


def _sorted(conditions: Conditions) -> list[list[str]]:
    return sorted(sorted(names) for names in conditions)


class Analysis:
    """What the text of a query says of it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        listing = "SELECT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
        self._aggregates = {name for (name,) in connection.execute(listing).fetchall()}
        self._macros = {name: macro.query for name, macro in macros().items()}

    def reads(self, query: str) -> set[str]:
        """The tables, views and macros of the evidence that a query names."""
        relations = {*TABLES, *views()}
        named = {
            tree[key].lower()
            for tree in nodes(syntax(query, self._connection))
            for key in ("table_name", "function_name")
            if isinstance(tree.get(key), str)
        }
        return named & (relations | self._macros.keys())

    def empty_without(self, query: str) -> Conditions:
        """The sets of tables and views without whose rows the query has none."""
        return self._of_node(self._parsed(query), {})

    def _parsed(self, query: str) -> Tree:
        node: Tree = syntax(query, self._connection)["statements"][0]["node"]
        return node

    def _of_node(self, node: Tree, outer: Mapping[str, Conditions]) -> Conditions:
        named = dict(outer)  # of the WITH clause
        for entry in node["cte_map"]["map"]:
            name, query = entry["key"].lower(), entry["value"]["query_node"]
            named[name] = self._of_node(query, {**named, name: []})
        match node["type"]:
            case "SELECT_NODE":
                return self._of_select(node, named)
            case "SET_OPERATION_NODE":
                parts = [self._of_node(child, named) for child in node["children"]]
                if node["setop_type"].startswith("UNION"):
                    return _all_of(parts)
                return parts[0] if node["setop_type"] == "EXCEPT" else _any_of(parts)
            case "RECURSIVE_CTE_NODE":
                return self._of_node(node["left"], named)
        return []

    def _of_select(self, node: Tree, named: Mapping[str, Conditions]) -> Conditions:
        if not self._groups(node):
            return []
        needed = [self._of_source(node["from_table"], named)]
        for condition in _conjuncts(node.get("where_clause")):
            if condition.get("subquery_type") in ("EXISTS", "ANY"):
                needed.append(self._of_node(condition["subquery"]["node"], named))
        return _any_of(needed)

    def _groups(self, node: Tree) -> bool:
        """Whether no row in is no row out: an aggregate over all rows has one even then."""
        if node.get("group_sets"):
            return all(node["group_sets"])
        single = [item for item in node["select_list"] if not self._aggregated(item)]
        if node["aggregate_handling"] == "FORCE_AGGREGATES":  # GROUP BY ALL
            return any(item["class"] != "CONSTANT" for item in single)
        return len(single) == len(node["select_list"]) and not node.get("having")

    def _aggregated(self, tree: Any) -> bool:
        """Whether an expression has an aggregate; those of windows and subqueries are none."""
        if isinstance(tree, list):
            return any(map(self._aggregated, tree))
        if not isinstance(tree, dict) or tree.get("class") == "SUBQUERY":
            return False
        if tree.get("class") == "FUNCTION":
            name = tree["function_name"].lower()
            if name in self._aggregates:
                return True
            if name in self._macros:
                body = self._parsed(self._macros[name])
                return self._aggregated(body["select_list"]) or self._aggregated(tree["arguments"])
        return any(map(self._aggregated, tree.values()))

    def _of_source(self, source: Tree, named: Mapping[str, Conditions]) -> Conditions:
        match source["type"]:
            case "BASE_TABLE":
                name = source["table_name"].lower()
                return named.get(name, [frozenset([name])])
            case "SUBQUERY":
                return self._of_node(source["subquery"]["node"], named)
            case "TABLE_FUNCTION":
                body = self._macros.get(source["function"]["function_name"].lower())
                return self.empty_without(body) if body else []
            case "JOIN" if source["ref_type"] != "POSITIONAL":
                return self._of_join(source, named)
        return []

    def _of_join(self, join: Tree, named: Mapping[str, Conditions]) -> Conditions:
        left, right = (self._of_source(join[side], named) for side in ("left", "right"))
        match join["join_type"]:
            case "INNER" | "SEMI":
                return _any_of([left, right])
            case "LEFT" | "ANTI":
                return left
            case "RIGHT":
                return right
            case "FULL":
                return _all_of([left, right])
        return []


def _any_of(parts: Iterable[Conditions]) -> Conditions:
    """Empty if one of the parts is."""
    return _fewest(itertools.chain.from_iterable(parts))


def _all_of(parts: Iterable[Conditions]) -> Conditions:
    """Empty if all parts are."""
    return _fewest(frozenset[str]().union(*sets) for sets in itertools.product(*parts))


def _fewest(sets: Iterable[frozenset[str]]) -> Conditions:
    """Without the sets that say no more than a smaller one."""
    kept: Conditions = []
    for names in sorted(set(sets), key=lambda names: (len(names), sorted(names))):
        if not any(fewer <= names for fewer in kept):
            kept.append(names)
    return kept[:_MOST]


def _conjuncts(condition: Tree | None) -> Iterator[Tree]:
    """The conditions that a WHERE clause joins with AND."""
    if condition and condition["type"] == "CONJUNCTION_AND":
        for child in condition["children"]:
            yield from _conjuncts(child)
    elif condition:
        yield condition
