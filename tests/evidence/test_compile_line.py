"""What each line costs of compiling: its share of operations, of each phase that is known."""

from __future__ import annotations

from typing import Any

from tests.support import Row, complete, evidence, step

COMPILED: Row = {"process": 0, "index": 0, "cause": "jit(step)", "duration_ns": 10_000_000_000}
TRACED: Row = {
    "process": 0,
    "index": 0,
    "op": "sin",
    "copies": 40,
    "constant_bytes": 0,
    "of_equations": 100,
    "complete": True,
    "tracing_ns": 2_000_000_000,
    "lowering_ns": 1_000_000_000,
    "file": "train.py",
}
PHASES = "tracing_ns / 1e9, lowering_ns / 1e9, xla_ns / 1e9, ns / 1e9, folding_ns / 1e9"


def lines(tables: dict[str, list[Row]], columns: str) -> list[tuple[Any, ...]]:
    query = f"SELECT line, {columns} FROM compile_line ORDER BY line"
    return [tuple(row.values()) for row in evidence(tables).database.rows(query)]


def traced(line: int, equations: int) -> Row:
    return {**TRACED, "line": line, "equations": equations}


def test_each_line_has_its_share_of_each_phase() -> None:
    tables = {
        "compilation": [COMPILED],
        "traced_line": [traced(3, 75), traced(9, 25)],
        "logged_constant": [
            {
                "process": 0,
                "what": "folded",
                "file": "train.py",
                "line": 9,
                "duration_ns": 4 * 10**9,
            }
        ],
    }
    assert lines(tables, PHASES) == [
        (3, 1.5, 0.75, 5.25, 7.5, None),
        (9, 0.5, 0.25, 1.75, 2.5, 4.0),
    ]


def test_what_the_compiler_took_is_unknown_where_a_cache_had_its_code() -> None:
    tables = {"compilation": [{**COMPILED, "cached": True}], "traced_line": [traced(3, 100)]}
    assert lines(tables, PHASES) == [(3, 2.0, 1.0, None, 10.0, None)]


def graph(**compilation: Any) -> dict[str, list[Row]]:
    of = {"process": 0, "graph_hash": "g", "program_id": 1}
    instruction = {**of, "computation": "main", "opcode": "dot", "type": "f32", "file": "train.py"}
    return {
        "compilation": [{**COMPILED, "graph_hash": "g", **compilation}],
        "hlo_module": [of],
        "hlo_instruction": [
            {**instruction, "id": number, "name": f"dot.{number}", "line": 3 if number < 4 else 9}
            for number in range(1, 5)
        ],
    }


def test_without_a_trace_the_optimized_graph_is_counted() -> None:
    assert lines(graph(), "operations, of_operations, op, traced, ns / 1e9") == [
        (3, 3, 4, "dot", False, 7.5),
        (9, 1, 4, "dot", False, 2.5),
    ]


def test_of_quick_compilations_and_of_code_from_a_cache_no_graph_is_counted() -> None:
    assert lines(graph(duration_ns=400_000_000), "ns") == []
    assert lines(graph(cached=True), "ns") == []


def test_the_account_has_the_lines_of_what_took_long() -> None:
    second = 10**9
    run = complete(
        {
            "compilation": [{**COMPILED, "thread": 1, "step": 0, "file": "train.py", "line": 40}],
            "traced_line": [traced(3, 75), traced(9, 25)],
            "step": [
                step(index, duration_ns=11 * second, compile_ns=(10 - index) * second)
                for index in range(9)
            ],
        }
    )
    rows = run.database.rows(
        "SELECT line, share FROM time_line WHERE part = 'warmup_compile' ORDER BY line"
    )
    assert [tuple(row.values()) for row in rows] == [(3, 0.75), (9, 0.25)]
