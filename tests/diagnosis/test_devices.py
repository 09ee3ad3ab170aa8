"""What devices ran longest, by what the program calls."""

from __future__ import annotations

from tests.support import evidence

MODULE = {"process": 0, "program_id": 1, "name": "jit_a"}
OTHER = {"process": 0, "program_id": 2, "name": "jit_b"}


def op(module: str, name: str, self_ns: int) -> dict[str, object]:
    return {
        "process": 0,
        "device": 0,
        "hlo_module": module,
        "hlo_op": name,
        "count": 1,
        "duration_ns": self_ns,
        "self_ns": self_ns,
    }


def instruction(program: int, name: str, op_type: str, line: int | None) -> dict[str, object]:
    return {
        "process": 0,
        "program_id": program,
        "name": name,
        "op_type": op_type,
        "line": line,
        "file": None if line is None else "train.py",
    }


def test_one_operation_has_the_time_of_all_its_names_and_one_name_is_not_one_operation() -> None:
    database = evidence(
        {
            "hlo_module": [MODULE, OTHER],
            "device_op": [
                op("jit_a", "dot.9", 50),
                op("jit_b", "dot.9", 16),
                op("jit_b", "dot.3", 30),
                op("jit_a", "copy.1", 3),
                op("jit_b", "copy.1", 1),
            ],
            "hlo_instruction": [
                instruction(1, "dot.9", "aten__mm", 40),
                instruction(2, "dot.9", "aten__addmm", 41),
                instruction(2, "dot.3", "aten__mm", 40),
            ],
        }
    ).database
    rows = database.rows("FROM operation_time ORDER BY self_ns DESC")
    told = [(row["op"], row["line"], row["self_ns"], row["module"], row["share"]) for row in rows]
    assert told == [
        ("aten::mm", 40, 80, None, 0.8),
        ("aten::addmm", 41, 16, "jit_b", 0.16),
        ("copy.1", None, 4, None, 0.04),
    ]
