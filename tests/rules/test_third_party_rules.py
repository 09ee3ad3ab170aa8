"""Rules that somebody else wrote: loaded, and kept to the evidence whatever they try."""

from __future__ import annotations

import json
import re
import resource
import shutil
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.forked import called
from tests.support import complete, step
from xladoctor import doctor
from xladoctor.configuration.interface import Configuration, Configured
from xladoctor.diagnosis import pack, sandbox, third_party
from xladoctor.diagnosis.engine import diagnose, judge
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import all_rules, load_rule, load_rules
from xladoctor.diagnosis.rule import RuleError
from xladoctor.diagnosis.rule_file import read_rule
from xladoctor.diagnosis.sandbox import contained
from xladoctor.diagnosis.selection import Selection
from xladoctor.evidence.allowlist import not_of_the_evidence
from xladoctor.evidence.interface import Evidence
from xladoctor.report.interface import Report
from xladoctor.report.output import Color, Format, Output, deliver
from xladoctor.rule_cases.check import check_query, nothing

RULE: dict[str, Any] = {
    "id": "ACME012",
    "name": "odd-thing",
    "title": "Something that is odd",
    "category": "capture",
    "severity": "warning",
    "confidence": "high",
    "judged_by": "counts",
    "status": "stable",
    "since": "1.0",
    "needs": ["step"],
    "not_evaluated": {"step": "no steps"},
    "query": "SELECT count(*) AS count, true AS stalls FROM step",
    "message": "{{ count }} steps.",
    "why": "It is.",
    "fix": "Do not.",
    "example": {"before": "a", "after": "b"},
    "false_positives": "Never.",
}
STEPS = {"step": [step(i) for i in range(20)]}
REPORT = "Metric: CompileTime\n  TotalSamples: 2\n  Accumulator: 03s000ms000.000us\n"
PACK = load_rules()


def written(folder: Path, **fields: Any) -> Path:
    """A folder with a rule in which ``fields`` are as given."""
    rule = {**RULE, **fields}
    folder.mkdir(exist_ok=True)
    path = folder / f"{rule['id']}-{rule['name']}.yaml"
    path.write_text(yaml.safe_dump(rule, sort_keys=False), encoding="utf-8")
    return path


def judged(folder: Path, **fields: Any) -> Diagnosis:
    """The judgement of this rule and of a good one after it."""
    written(folder, **fields)
    written(folder, id="ACME999")
    diagnosis = diagnose(complete(STEPS), load_rules(folder))
    assert "ACME999" in diagnosis.rules.fired  # whatever the first one did
    return diagnosis


@cache
def closed() -> Evidence:
    """Evidence that no test can change."""
    evidence = complete(STEPS)
    evidence.database.close_to_the_outside()
    return evidence


def reason(folder: Path, **fields: Any) -> str:
    """Why a rule cannot be judged; another one then can."""
    bad = load_rule(written(folder, **fields))
    good = load_rule(written(folder, id="ACME999"))
    with pytest.raises(RuleError, match=r"^ACME012: ") as caught:
        judge(bad, closed())
    assert judge(good, closed()) == [{"count": 20, "stalls": True}]
    return caught.value.what.removeprefix("ACME012: ")


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(third_party, "QUERY_S", 1.0)
    monkeypatch.setattr(third_party, "MESSAGES_S", 1.0)
    monkeypatch.setattr(sandbox, "MEMORY", 1 << 29)


# Loading


def chosen(folder: Path, **settings: Any) -> Selection:
    return doctor.selection(
        Configured(settings=Configuration.model_validate(settings), folder=folder)
    )


def test_folders_of_the_configuration_are_relative_to_it(tmp_path: Path) -> None:
    written(tmp_path / "mine")
    written(tmp_path / "yours", id="XY1234")
    selection = chosen(tmp_path, rules=["mine", str(tmp_path / "yours"), "./mine"])
    ids = [rule.id for rule in selection.rules]
    assert ids == sorted([*(rule.id for rule in PACK), "ACME012", "XY1234"])
    assert [rule.id for rule in selection.rules if rule.foreign] == ["ACME012", "XY1234"]
    assert [rule.id for rule in chosen(tmp_path, rules=["mine"], select=["ACME"]).rules] == [
        "ACME012"
    ]


def test_a_rule_stays_foreign_with_other_thresholds_and_words(tmp_path: Path) -> None:
    written(tmp_path / "mine", thresholds={"most": 3}, query="SELECT $most AS count FROM step")
    (rule,) = chosen(
        tmp_path, rules=["mine"], select=["ACME"], thresholds={"ACME012": {"most": 5}}
    ).rules
    assert rule.thresholds == {"most": 5}
    assert rule.for_frontend("torch_xla").foreign  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["AC012", "ACME012", "ACME0123"])
def test_ids_of_others(tmp_path: Path, name: str) -> None:
    assert load_rule(written(tmp_path, id=name)).id == name


@pytest.mark.parametrize("name", ["A012", "acme012", "ACME12", "ACME01234", "012"])
def test_no_ids(tmp_path: Path, name: str) -> None:
    with pytest.raises(RuleError, match="id: expected such as"):
        load_rule(written(tmp_path, id=name))


def test_a_clash_with_the_pack_or_another_folder_names_both(tmp_path: Path) -> None:
    taken = written(tmp_path / "mine", id=PACK[0].id)
    with pytest.raises(RuleError, match=f"{taken}:1: xladoctor has a rule {PACK[0].id} too"):
        chosen(tmp_path, rules=["mine"])
    first, second = written(tmp_path / "a"), written(tmp_path / "b", name="other-thing")
    with pytest.raises(RuleError, match=f"{second}:1: {first} has a rule ACME012 too"):
        chosen(tmp_path, rules=["a", "b"])


def test_a_folder_that_is_missing_or_empty_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="/none: no such folder of rules"):
        chosen(tmp_path, rules=["none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuleError, match="/empty: no rules in it: expected files such as ACME012"):
        chosen(tmp_path, rules=["empty"])


# Packages


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path, *values: str) -> None:
    monkeypatch.syspath_prepend(folder)
    entries = [EntryPoint(f"acme{i}", value, pack.GROUP) for i, value in enumerate(values)]
    monkeypatch.setattr(pack, "entry_points", lambda group: entries if group == pack.GROUP else [])


@pytest.mark.parametrize("value", ["acme_rules", "acme_rules:below.folder"])
def test_a_package_brings_rules_and_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    package = tmp_path / "acme_rules"
    (package / "below").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    written(package / "below/folder" if ":" in value else package)
    installed(monkeypatch, tmp_path, value)
    rules, notes = all_rules()
    assert ([rule.id for rule in rules if rule.foreign], notes) == (["ACME012"], [])


def test_faults_of_packages_are_named_and_stop_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = tmp_path / "good_rules", tmp_path / "bad_rules"
    for package in (good, bad):
        package.mkdir()
        (package / "__init__.py").write_text("1 / 0\n", encoding="utf-8")
    written(good)
    written(bad / "taken", id=PACK[0].id)
    written(bad / "broken", severity="fatal")
    (bad / "empty").mkdir()
    inside = [f"bad_rules:{name}" for name in ("none", "taken", "broken", "empty")]
    others = ["no_such_package", "bad_rules.inside", "json", "good_rules"]
    installed(monkeypatch, tmp_path, *inside, *others)
    selection = chosen(tmp_path)
    assert [rule.id for rule in selection.rules if rule.foreign] == ["ACME012"]
    assert len(selection.rules) == len(PACK) + 1
    assert [re.sub(r"/\S+/", "", note) for note in selection.notes] == [
        f"the rules of package acme{i} were left out: {why}"
        for i, why in enumerate(
            [
                "bad_rules:none: no such folder",
                f"{PACK[0].id}-odd-thing.yaml:1: xladoctor has a rule {PACK[0].id} too",
                "ACME012-odd-thing.yaml:5:1: severity: expected 'error', 'warning' or 'info'",
                "bad_rules:empty: no rules in it",
                "no_such_package: no such folder",
                "ZeroDivisionError('division by zero')",
                "json: no rules in it",
            ]
        )
    ]
    assert doctor.diagnose(complete(STEPS), selection).warnings[-7:] == selection.notes


# Files


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &a [x]\nb: *a\n", "2: not YAML: rules cannot use aliases"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "2: not YAML: rules cannot use aliases"),
        ("id: A\nwhy: a\nid: B\n", "3: id: is there twice"),
        ("example:\n  before: a\n  before: b\n", "3: before: is there twice"),
        ("id: " + "[" * 100_000, "1: not YAML: "),  # newer libyaml says it in its own words
        ("- " * 100_000, "1: not YAML: nested too deeply"),
        ("id: 2020-99-99\n", "1: not YAML: month must be in 1..12"),
        ("id: !!python/object/apply:os.system [echo]\n", "1: not YAML: could not determine"),
        ("id: " + "9" * 5000, "1: not YAML: Exceeds the limit"),
        ("#" * (1 << 19), "1: cannot be read: larger than"),
    ],
    ids=lambda text: text[:20],
)
def test_a_file_that_is_an_attack_is_an_error_with_its_line(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "ACME012-odd-thing.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RuleError) as caught:
        load_rules(tmp_path)
    place, _, told = caught.value.what.partition(": ")
    assert f"{place.rpartition(':')[0]}: {told}".startswith(f"{path}:{why}")


def test_of_many_faults_the_first_are_named(tmp_path: Path) -> None:
    path = tmp_path / "ACME012-odd-thing.yaml"
    path.write_text("".join(f"k{nth}: 1\n" for nth in range(20_000)))
    faults = read_rule(path).faults
    assert len(faults) == 101
    assert re.fullmatch(r"and [\d,]+ more faults", faults[-1].text)


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "ACME012-odd-thing.yaml").write_bytes("title: Übel".encode("latin-1"))
    with pytest.raises(RuleError, match="1: cannot be read: 'utf-8' codec can't decode"):
        load_rules(tmp_path)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("query", "SELECT " + "(" * 20_000 + "1" + ")" * 20_000 + " AS count"),
        ("query", "SELECT 1" + "+1" * 20_000),
        ("query", "SELECT 1" + "+1" * 800),
        ("query", "SELECT * FROM " + "(SELECT * FROM " * 5000 + "step" + ")" * 5000),
        ("query", "SELECT '\0' FROM step; DROP TABLE step"),
        ("message", "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}"),
        ("message", "{% if a %}" * 5000 + "{% endif %}" * 5000),
    ],
    ids=lambda text: text[:20],
)
def test_a_text_that_is_nested_too_deeply_is_refused(tmp_path: Path, field: str, text: str) -> None:
    with pytest.raises(RuleError, match=f"{field}: "):
        load_rule(written(tmp_path, **{field: text}))


# Queries that look elsewhere

ELSEWHERE = (
    "FROM read_csv('/etc/passwd')",
    "FROM '/etc/passwd'",
    "FROM read_text('/etc/passwd')",
    "FROM read_blob('/etc/passwd')",
    "FROM glob('/*')",
    "FROM sniff_csv('/etc/passwd')",
    "FROM parquet_scan('http://localhost:1/a')",
    "FROM duckdb_secrets()",
    "FROM duckdb_settings()",
    "FROM duckdb_tables",
    "FROM sqlite_master",
    "FROM pg_catalog.pg_class",
    "FROM information_schema.tables",
    "FROM pragma_version()",
    "FROM duckdb_logs()",
    "FROM query('FROM read_text(''/etc/passwd'')')",
    "FROM query_table('step')",
    "FROM json_execute_serialized_sql('{}')",
    "FROM arrow_scan(1, 2, 3)",
    "FROM memory.step",
    "FROM (SHOW ALL TABLES)",
    "FROM (DESCRIBE step)",
    "FROM (SUMMARIZE step)",
    "SELECT current_setting('secret_directory')",
    "SELECT \"CURRENT_SETTING\"('home_directory')",
    "SELECT getvariable('a')",
    "SELECT getenv('HOME')",
    "SELECT write_log('a')",
    "SELECT 1 LIMIT (SELECT count(*) FROM glob('/*'))",
    "SELECT list_transform([1], x -> (SELECT count(*) FROM glob('/*')))",
    "SELECT COLUMNS(x -> current_setting(x)) FROM step",
    "WITH read_text AS (SELECT 1) FROM read_text('/etc/passwd')",
    "FROM step, LATERAL (FROM glob(file))",
    "FROM stranger",
    "FROM RULE",
)
NO_SELECT = (
    "COPY step TO '/tmp/a.csv'",
    "ATTACH '/tmp/a.db'",
    "PRAGMA database_list",
    "SET memory_limit = '1GB'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "RESET threads",
    "CALL glob('/*')",
    "CREATE MACRO a() AS TABLE FROM read_text('/etc/passwd')",
    "DELETE FROM step",
    "EXPLAIN SELECT 1",
    "SELECT 1; SELECT 2",
    "CREATE TABLE a AS FROM step",
    "EXPORT DATABASE '/tmp/a'",
    "WITH a AS (DELETE FROM step RETURNING *) FROM a",
    "SHOW TABLES",
    "DESCRIBE step",
    "WITH a AS (INSERT INTO step DEFAULT VALUES RETURNING *) FROM a",
    "FROM (SHOW TABLES)",
    "CHECKPOINT",
    "VACUUM",
    "PREPARE a AS SELECT 1",
    "USE memory",
)


@pytest.mark.parametrize("query", ELSEWHERE)
def test_a_query_may_name_nothing_but_the_evidence(tmp_path: Path, query: str) -> None:
    with pytest.raises(RuleError, match="query: may name only tables, views and macros of the"):
        load_rule(written(tmp_path, query=query))


@pytest.mark.parametrize("query", NO_SELECT)
def test_a_query_is_one_select(tmp_path: Path, query: str) -> None:
    with pytest.raises(
        RuleError, match=r"query: (must be one SELECT|not SQL|not one SELECT|may name)"
    ):
        load_rule(written(tmp_path, query=query))


@pytest.mark.parametrize("query", ELSEWHERE)
def test_the_database_is_closed_even_to_what_would_get_through(query: str) -> None:
    """No such query tells anything about this machine, were it not refused before."""
    closed()
    answer, fault = contained(lambda: closed().database.rows(query), 20)
    assert "root:" not in json.dumps(answer)
    if any(word in query for word in ("passwd", "glob('", "http", "secrets")):
        assert fault or not answer


def test_the_pack_names_nothing_but_the_evidence() -> None:
    assert {rule.id: named for rule in PACK if (named := not_of_the_evidence(rule.query))} == {}


# Queries that take too much or fail


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS count"
        " FROM t",
        "SELECT count(*) AS count FROM step a, step b, step c, step d, step e, step f, step g,"
        " step h WHERE a.index + b.index + c.index + d.index + e.index + f.index > h.index",
        # one call of a function, which nothing interrupts
        "SELECT levenshtein(repeat('x', 1000000), repeat('y', 1000000)) AS count",
        "SELECT pg_sleep(100) AS subject, 1 AS count",
    ],
    ids=lambda text: text[:30],
)
def test_a_query_without_end_is_not_evaluated(tmp_path: Path, query: str) -> None:
    why = reason(tmp_path, query=query).removeprefix("its query failed: ")
    assert why == "took longer than 1 s and was ended" or why.endswith(
        " of memory"
    )  # which is first


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            "SELECT 1 AS count, {'a': repeat('x', 3000000000)} AS cause",
            "needs more than 2 GiB of memory",
        ),
        (
            "SELECT 1 AS count, {'a': repeat('x', 2000000)} AS cause",
            "its answer is larger than 1 MiB",
        ),
        ("SELECT range AS count FROM range(1001)", "returned more than 1,000 rows"),
        ("SELECT error('division') AS count", "Invalid Input Error: division"),
        ("SELECT no_such_column AS count FROM step", "Binder Error: Referenced column"),
        ("SELECT 1::UTINYINT + 255::UTINYINT AS count", "Out of Range Error: Overflow in"),
        ("SELECT 'a'::INTEGER AS count", "Conversion Error: Could not convert string 'a'"),
    ],
    ids=lambda text: text[:30],
)
def test_a_query_that_takes_too_much_or_fails_is_not_evaluated(
    tmp_path: Path, query: str, why: str
) -> None:
    assert reason(tmp_path, query=query).startswith(f"its query failed: {why}")


@pytest.mark.usefixtures("hasty")
def test_a_query_that_makes_rows_without_end_is_not_evaluated(tmp_path: Path) -> None:
    many = "SELECT list(range) AS consequences, 1 AS count FROM range(2000000000)"
    assert re.match(r"its query failed: (took|needs)", reason(tmp_path, query=many))


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ("1 AS odd, 1 AS count", "odd cannot be used: Extra inputs are not permitted"),
        ("1 AS process", "count cannot be used: Field required"),
        ("'many' AS count", "count cannot be used: Input should be a valid integer"),
        ("-1 AS count", "count cannot be used: Input should be greater than or equal to 0"),
        ("1 AS count, 'a' AS line", "line cannot be used: Input should be a valid integer"),
        ("1 AS count, 5 AS file", "file cannot be used: Input should be a valid string"),
        ("1 AS count, 'sure' AS cost_basis", "cost_basis cannot be used: Input should be 'meas"),
        ("1 AS count, 'bad' AS by_counts", "by_counts cannot be used: Input should be 'error',"),
        (
            "1 AS count, 'a' AS related_file, 1 AS related_line",
            "its columns cannot be used: related_file without related_role",
        ),
        ("1 AS count, 'all' AS consequences", "consequences cannot be used: Input should be a v"),
        ("1 AS count, [1] AS cause", "cause cannot be used: Input should be a valid dictionary"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, columns: str, why: str) -> None:
    said = reason(tmp_path, query=f"SELECT {columns} FROM step LIMIT 1")
    assert said.startswith(f"its query returns a row whose {why}")


@pytest.mark.parametrize(
    "claim",
    [
        "{'do': 'remove'}",
        "[1]",
        "'remove'",
        "{'do': 'remove', 'what': 'read', 'part': 'all'}",
        "{'do': 'remove', 'what': 'read', 'odd': 1}",
    ],
)
def test_a_claim_that_cannot_be_used_is_named(tmp_path: Path, claim: str) -> None:
    assert "whose claim" in reason(tmp_path, query=f"SELECT 1 AS count, {claim} AS claim FROM step")


def test_other_rules_go_on_where_one_cannot_be_judged(tmp_path: Path) -> None:
    fails = {
        "ACME012": "SELECT 1 // 'a' AS count FROM step",
        "ACME013": "SELECT 1 AS count, {'do': 'fly', 'what': 'read'} AS claim",
    }
    for name, query in fails.items():
        written(tmp_path, id=name, query=query)
    written(tmp_path, id="ACME014", message="{{ nothing }}")
    written(tmp_path, id="ACME999")
    diagnosis = diagnose(complete(STEPS), load_rules(tmp_path))
    assert diagnosis.rules.fired == ["ACME014", "ACME999"]
    assert diagnosis.rules.not_evaluated == ["ACME012", "ACME013"]
    reasons = {each.rule: each.reason for each in diagnosis.not_checked}
    assert reasons["ACME012"].startswith("its query failed: Conversion Error: Could not convert")
    assert reasons["ACME013"].startswith(
        "its query returns a row whose claim.do cannot be used: Input should be 'remove'"
    )
    assert {each.rule: each.message for each in diagnosis.findings} == {
        "ACME014": f"{NOT_SHOWN}'nothing' is undefined.)",
        "ACME999": "20 steps.",
    }


def test_values_of_any_kind_reach_the_report_as_json(tmp_path: Path) -> None:
    values = {
        "day": "DATE '2026-01-02'",
        "money": "1.50::DECIMAL(5,2)",
        "bytes": "'a'::BLOB",
        "nan": "'nan'::DOUBLE",
        "map": "MAP {1: [2]}",
        "huge": f"{2**127 - 1}",
        "when": "INTERVAL 1 DAY",
        "text": "chr(27) || '[31m'",
    }
    cause = ", ".join(f"'{name}': {value}" for name, value in values.items())
    diagnosis = judged(
        tmp_path,
        query=f"SELECT 1.0 AS count, {{{cause}}} AS cause FROM step LIMIT 1",
        message="{{ cause.money }} {{ cause.text }}",
    )
    finding = next(each for each in diagnosis.findings if each.rule == "ACME012")
    json.dumps(finding.cause, allow_nan=False)
    assert (finding.count, finding.cause["money"], finding.cause["map"]) == (1, 1.5, {"1": [2]})
    assert finding.message == "1.5 \x1b[31m"  # which reports clean


# Messages

BOMBS = (
    "{{ 'x' * 10**10 }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) %}abcdefgh{% endfor %}{% endfor %}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:>9999999999}'.format(1) }}",
    "{{ 9 ** (9 ** 9) }}",
    "{{ 9 ** (9 ** 9) % 7 }}",
    "{{ (['x' * 1000000] * 1000000) | join }}",
    "{{ ([[0] * 99999] * 99999) | sum(start=[]) }}",
    "{{ lipsum(n=99999999) }}",
    "{{ count | center(10000000000) }}",
)
FAULTS = {
    "{% for i in range(10**9) %}{{ i }}{% endfor %}": "Range too big",
    "{{ '%9999999999999999999999d' % 1 }}": "width too big",
    "{% macro a() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}": "nested too deeply",
    "{{ ''.__class__ }}": "unsafe",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}": "unsafe",
    "{{ count.__class__.__base__ }}": "unsafe",
    "{{ ''['__class__'] }}": "unsafe",
    "{{ '{0.__class__}'.format(count) }}": "unsafe",
    "{{ self.__init__.__globals__ }}": "unsafe",
    "{{ cycler.__init__.__globals__.os.system('echo') }}": "unsafe",
    "{{ lipsum.__globals__['os'].popen('id').read() }}": "unsafe",
    "{% include '/etc/passwd' %}": "no loader",
    "{% import 'os' as os %}": "no loader",
    "{{ cause.update({'a': 1}) }}": "unsafe",
    "{{ no_such_column }}": "'no_such_column' is undefined",
    "{{ 1 / 0 }}": "division by zero",
}
NOT_SHOWN = "Something that is odd. (The rule's message cannot be shown: "


def message_of(folder: Path, message: str) -> str:
    """What is shown for a finding."""
    rule = load_rule(written(folder, message=message))
    (said,) = third_party.messages_of(rule, [{"count": 20, "cause": {}}])
    return said


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("message", BOMBS, ids=lambda text: text[:40])
def test_a_message_that_takes_too_much_leaves_the_finding(tmp_path: Path, message: str) -> None:
    said = message_of(tmp_path, message)
    assert re.match(re.escape(NOT_SHOWN) + "(took longer|needs more)", said)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("message", ["{{ 'x' * 2000000000 }}", "{{ 2 ** 100000000 }}"])
def test_checking_a_message_takes_no_memory_of_this_process(tmp_path: Path, message: str) -> None:
    read = read_rule(written(tmp_path, message=message))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert all(fault.text.startswith("message: ") for fault in check_query(read, nothing()))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 << 10


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("fix", [*BOMBS, *FAULTS], ids=lambda text: text[:40])
def test_a_fix_for_a_line_that_fails_or_takes_too_much_is_left_out(
    tmp_path: Path, fix: str
) -> None:
    finding = next(
        each for each in judged(tmp_path, fix_here=fix).findings if each.rule != "ACME999"
    )
    assert (finding.fix, finding.message) == ("Do not.", "20 steps.")


def test_a_fix_for_a_line_replaces_the_general_one(tmp_path: Path) -> None:
    finding = next(
        each
        for each in judged(tmp_path, fix_here="{{ count }} less.").findings
        if each.rule != "ACME999"
    )
    assert finding.fix == "20 less."


@pytest.mark.parametrize("message", FAULTS, ids=lambda text: text[:40])
def test_a_message_that_fails_leaves_the_finding(tmp_path: Path, message: str) -> None:
    said = message_of(tmp_path, message)
    assert said.startswith(NOT_SHOWN)
    assert FAULTS[message] in said


@pytest.mark.parametrize("message", ["{{ 'x' * 99999 }}", "x" * 99999, "{{ 'é' * 2001 }}"])
def test_a_long_message_is_cut(tmp_path: Path, message: str) -> None:
    said = message_of(tmp_path, message)
    assert (len(said), said[-1]) == (2000, "…")


def test_control_characters_are_shown_as_what_they_are(tmp_path: Path) -> None:
    diagnosis = judged(
        tmp_path,
        title="Odd \x1b[31m things",
        message="a\x1b[2Jb \u202e::error::c",
        query="SELECT 20 AS count, true AS stalls, chr(27) AS subject, [chr(7)] AS"
        " consequences, {'a': chr(27)} AS cause",
    )
    kinds = [
        Format(name)
        for name in ("terminal", "markdown", "github", "gitlab", "junit", "sarif", "json")
    ]
    deliver([Report(diagnosis)], [Output(kind, tmp_path / kind) for kind in kinds], Color.never)
    for kind in kinds:
        text = (tmp_path / kind).read_text(encoding="utf-8")
        assert not re.search("[\x1b\x07\u202e]", text), kind
        assert "ACME012" in text, kind


# The process of its own


def test_what_happens_to_the_process_is_told() -> None:
    def killed(number: int) -> Iterator[Any]:
        yield "one"
        import os

        os.kill(os.getpid(), number)
        yield "two"

    assert contained(lambda: iter([1, "a", None]), 5) == ([1, "a", None], None)
    assert contained(lambda: killed(11), 5) == (["one"], "crashed with SIGSEGV")
    assert contained(lambda: killed(9), 5) == (["one"], "crashed with SIGKILL")
    assert contained(lambda: killed(14), 5) == (["one"], "took longer than 5 s and was ended")


def test_garbage_of_this_process_is_not_collected_in_the_copy() -> None:
    """A closed connection of DuckDB would wait there for threads, or crash."""
    import gc

    gc.disable()
    database: Any = complete(STEPS).database
    database.cycle = database
    del database
    gc.enable()
    assert contained(lambda: [len([[] for _ in range(100_000)]), gc.isenabled()], 20) == (
        [100_000, False],
        None,
    )
    assert gc.isenabled()


def test_nothing_is_left_of_the_process_and_it_writes_no_files(tmp_path: Path) -> None:
    def writes() -> Iterator[str]:
        yield str((tmp_path / "file").write_text("a", encoding="utf-8"))

    def children() -> set[str]:
        files = Path("/proc/self/task").glob("*/children")
        return {child for file in files for child in file.read_text(encoding="ascii").split()}

    before = children()  # other tests may have left servers
    assert contained(writes, 5)[0] == []
    assert (tmp_path / "file").read_text(encoding="utf-8") == ""
    assert children() <= before


# Commands


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a report to judge, and a rule that it breaks."""
    (tmp_path / "log.txt").write_text(REPORT, encoding="utf-8")
    fields = {
        "needs": ["metric"],
        "not_evaluated": {"metric": "no metrics"},
        "query": "SELECT 7 AS count, true AS stalls FROM metric LIMIT 1",
    }
    written(tmp_path / "rules", **fields)
    written(tmp_path / "bad", id="ACME013", **fields | {"query": "SELECT 1 // 'a' AS count"})
    (tmp_path / "xladoctor.toml").write_text('rules = ["rules"]\n', encoding="utf-8")
    return tmp_path


def test_commands_know_the_rules(project: Path) -> None:
    (below := project / "below").mkdir()
    listed = called("rules", folder=below).stdout
    assert "ACME012  warning  Something that is odd  (" in listed
    assert "# ACME012 odd-thing" in called("explain", "acme012", folder=below).stdout
    assert "ACME013" in called("rules", "--rules", "../bad", folder=below).stdout
    report = json.loads(called("analyze", "log.txt", "--format", "json", folder=project).stdout)
    assert "ACME012" in report["rules"]["fired"]
    other = called("analyze", "log.txt", "--select", "ACME", "--rules", "bad", folder=project)
    assert "7 steps." in other.stdout
    assert "ACME013 not evaluated: its query failed: Conversion Error" in other.stdout
    elsewhere = {"XLADOCTOR_RULES": str(project / "bad")}
    assert "ACME013" in called("rules", folder=project, environment=elsewhere).stdout


def test_sarif_explains_the_rule_without_a_link(project: Path) -> None:
    sarif = json.loads(called("analyze", "log.txt", "--format", "sarif", folder=project).stdout)
    rules = {rule["id"]: rule for rule in sarif["runs"][0]["tool"]["driver"]["rules"]}
    assert "Why it is slow: It is." in rules["ACME012"]["help"]["text"]
    assert "helpUri" not in rules["ACME012"]


def test_gate_judges_the_rule_and_says_what_it_could_not_judge(project: Path) -> None:
    run = project / "run"
    shutil.copytree(Path(__file__).parents[2] / "sample_traces/scalar_read", run)
    steps = {"needs": ["step"], "not_evaluated": {"step": "no steps"}}
    written(project / "rules", **steps, query="SELECT count(*) AS count, true AS stalls FROM step")
    failed = called("gate", "run", "--select", "ACME", folder=project)
    assert (failed.returncode, failed.stderr) == (1, "")
    assert "ACME012" in failed.stdout
    written(project / "rules", **steps, query="SELECT 1 // 'a' AS count FROM step")
    missing = called("gate", "run", "--select", "ACME", folder=project)
    assert missing.returncode == 3
    assert "ACME012" in missing.stdout
    assert "its query failed: Conversion Error" in missing.stdout
    passed = called("gate", "run", "--select", "ACME", "--allow-missing", folder=project)
    assert passed.returncode == 0


@pytest.mark.parametrize("command", ["analyze", "gate", "compare"])
def test_rules_that_cannot_be_loaded_are_an_error_of_every_command(
    project: Path, command: str
) -> None:
    words = ["log.txt", "log.txt"][: 1 + (command == "compare")]
    done = called(command, *words, "--rules", "none", folder=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("xladoctor: none: no such folder of rules")
    written(project / "rules", query="FROM read_text('/etc/passwd')")
    done = called(command, *words, folder=project)
    assert done.returncode == 2
    assert "rules/ACME012-odd-thing.yaml:" in done.stderr
    assert "Traceback" not in done.stderr
