"""The configuration's file: which one counts, and where its defects are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from xladoctor.configuration import load
from xladoctor.configuration.interface import Budgets, Configuration, ConfigurationError, Gate
from xladoctor.configuration.load import line_of, lines_of, load_configuration

OURS = '[tool.xladoctor.gate]\nfail_on = "error"\n'


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def fail_on(folder: Path) -> str:
    return load_configuration(start=folder).settings.gate.fail_on


def message(tmp_path: Path, text: str, name: str = "xladoctor.toml") -> str:
    path = write(tmp_path / name, text)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(start=tmp_path)
    lines = caught.value.what.splitlines()
    assert all(line.startswith(str(path)) for line in lines)
    return "\n".join(line.removeprefix(str(path)) for line in lines)


def test_level_warn_is_read_as_warning() -> None:
    levels = Configuration.model_validate({"levels": {"XD2": "warn", "XD3": "warning"}}).levels
    assert levels == {"XD2": "warning", "XD3": "warning"}


# Which file


def test_without_a_file_all_is_as_by_default_and_paths_are_of_the_repository(
    tmp_path: Path,
) -> None:
    (tmp_path / ".git").mkdir()
    configured = load_configuration(start=tmp_path / "src")
    assert (configured.settings, configured.source, configured.folder) == (
        Configuration(),
        None,
        tmp_path,
    )
    (tmp_path / ".git").rmdir()
    assert load_configuration(start=tmp_path / "src").folder == tmp_path / "src"


@pytest.mark.parametrize("name", ["xladoctor.toml", "pyproject.toml"])
def test_nearest_file_upward_counts_alone(tmp_path: Path, name: str) -> None:
    prefix = "" if name == "xladoctor.toml" else "tool.xladoctor."
    write(tmp_path / name, f'[{prefix}gate]\nfail_on = "info"\ntime = true\n')
    write(tmp_path / "a" / name, f'[{prefix}gate]\nfail_on = "error"\n')
    configured = load_configuration(start=tmp_path / "a" / "b" / "c")
    assert (configured.settings.gate.fail_on, configured.settings.gate.time) == ("error", False)
    assert (configured.source, configured.folder) == (tmp_path / "a" / name, tmp_path / "a")
    assert fail_on(tmp_path) == "info"


def test_own_file_goes_before_the_shared_one_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", OURS)
    write(tmp_path / "xladoctor.toml", '[gate]\nfail_on = "info"\n')
    assert fail_on(tmp_path) == "info"


@pytest.mark.parametrize(
    "text", ["", "[project]\nname = 'a'\n", "[tool.ruff]\n", "tool = 3\n", "this is not TOML"]
)
def test_shared_file_without_our_table_is_passed_over(tmp_path: Path, text: str) -> None:
    write(tmp_path / "pyproject.toml", OURS)
    write(tmp_path / "a" / "pyproject.toml", text)
    assert fail_on(tmp_path / "a") == "error"


@pytest.mark.parametrize("table", ["[tool.xladoctor]\n", "tool.xladoctor = {}\n"])
def test_empty_table_of_ours_counts(tmp_path: Path, table: str) -> None:
    write(tmp_path / "pyproject.toml", OURS)
    write(tmp_path / "a" / "pyproject.toml", table)
    assert fail_on(tmp_path / "a") == "warning"


@pytest.mark.parametrize(
    "text",
    [f"<<<<<<< HEAD\n{OURS}", f'{OURS}fail_on = "info"\n', OURS + "[" * 50_000],
    ids=["merge", "twice", "deep"],
)
def test_torn_file_that_names_us_is_an_error_and_not_passed_over(tmp_path: Path, text: str) -> None:
    """Else its budgets would be gone, and all be well."""
    write(tmp_path / "xladoctor.toml", "")
    assert "not TOML" in message(tmp_path / "a", text, "pyproject.toml")


def test_named_file_counts_wherever_it_is(tmp_path: Path) -> None:
    write(tmp_path / "xladoctor.toml", "no TOML")
    named = write(tmp_path / "ci" / "strict.toml", '[gate]\nfail_on = "info"\n')
    configured = load_configuration(named, tmp_path)
    assert (configured.settings.gate.fail_on, configured.folder) == ("info", tmp_path / "ci")
    shared = write(tmp_path / "ci" / "pyproject.toml", OURS)
    assert load_configuration(shared, tmp_path).settings.gate.fail_on == "error"
    for absent in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            load_configuration(absent)


@pytest.mark.parametrize("text", ["tool = 3\n", "tool.xladoctor = 3\n", "[[tool.xladoctor]]\n"])
def test_named_file_whose_table_is_none_is_an_error(tmp_path: Path, text: str) -> None:
    named = write(tmp_path / "pyproject.toml", text)
    with pytest.raises(ConfigurationError, match=r":1: tool\.xladoctor: "):
        load_configuration(named)


# Defects, with their lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "levl = 1\n",
            ":1: levl: no such key; expected one of"
            " gate, ignore, levels, rules, select, thresholds",
        ),
        ("\n# a\nselect = 'XD1'\n", ":3: select: "),
        (
            "[gate]\ntime = true\nfail_at = 'error'\n",
            ":3: gate.fail_at: no such key; expected one"
            " of acknowledged, allow_missing, baseline, budgets, fail_on, scripts, time",
        ),
        ("[gate]\n\nfail_on = 'errors'\n", ":3: gate.fail_on: "),
        ("gate.time = true\ngate.fail_on = 3\n", ":2: gate.fail_on: "),
        ("[gate]\ntime = true\nbudgets = { max_hots = 1 }\n", ":3: gate.budgets.max_hots: no such"),
        (
            "[gate.budgets]\nmax_step_ms = 1\nmax_hots = 1\n",
            ":3: gate.budgets.max_hots: no such key; expected one of max_barriers_per_step, ",
        ),
        (
            "[gate.scripts.'a.py']\nmax_step_ms = 1\n[gate.scripts.\"b.py\"]\nmax_step_ms = true\n",
            ":4: gate.scripts.b.py.max_step_ms: expected a number",
        ),
        (
            "[gate.scripts]\n'a.py' = { max_step_ms = 1 }\n\"b.py\" = { max_hots = 1 }\n",
            ":3: gate.scripts.b.py.max_hots: no such key; expected one of max_barriers_per_step, ",
        ),
        ("[gate]\nscripts.'a.py'.max_step_ms = -1\n", ":2: gate.scripts.a.py.max_step_ms: "),
        ("[gate.budgets]\nmax_step_ms = nan\n", ":2: gate.budgets.max_step_ms: "),
        (
            "[gate.budgets]\nmax_peak_memory = '2 apples'\n",
            ":2: gate.budgets.max_peak_memory: '2 apples' is not a size: expected one"
            " such as 256M,",
        ),
        ("[levels]\nXD1 = 'warn'\nXD2 = 'of'\n", ":3: levels.XD2: "),
        ("[levels]\nXD1 = 'warn'\nxd2 = 'off'\n", ":3: levels.xd2"),
        ("levels = 'off'\n", ":1: levels: "),
        ("[[gate]]\ntime = true\n", ":1: gate: "),
        ("[thresholds.XD201]\ntimes = 'many'\n", ":2: thresholds.XD201.times: "),
        (
            "ignore = ['XD1', 'XD2:']\n",
            ":1: ignore.1: 'XD2:' names no files: expected RULE or RULE:GLOB",
        ),
        ("ignore = ['a/**:XD2']\n", ":1: ignore.0: 'a/**' is not a rule or family"),
        (
            "ignore = ['XD1']\nselect = [\n  'XD1',\n  'nonsense',\n]\n",
            ":2: select.1: 'nonsense' is"
            " not a rule or family: expected an id, its beginning, or ALL",
        ),
    ],
)
def test_defect_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    assert message(tmp_path, text).startswith(expected)


def test_lines_are_those_of_the_shared_file(tmp_path: Path) -> None:
    text = "[project]\nselect = 1\n\n[tool.xladoctor]\nselct = []\n[other]\nselct = 1\n"
    assert message(tmp_path, text, "pyproject.toml").startswith(":5: selct: no such key")


def test_every_defect_is_named(tmp_path: Path) -> None:
    said = message(tmp_path, "a = 1\nb = 2\n[gate]\nc = 3\n").splitlines()
    assert [line.split(": ")[:2] for line in said] == [[":4", "gate.c"], [":1", "a"], [":2", "b"]]


NAMES = ["tool", "gate", "scripts", "a.py", "b", "0", "1"]
WORDS = st.sampled_from([*NAMES, "[", "]", "[[", "]]", "=", ".", '"', "'", "#", "\n", " ", "\\"])


@given(st.lists(WORDS).map("".join) | st.text(), st.lists(st.sampled_from([*NAMES, 0, 1])))
def test_line_is_one_that_exists_whatever_the_text(text: str, location: list[str | int]) -> None:
    assert 1 <= line_of(lines_of(text), tuple(location)) <= max(1, len(text.splitlines()))


@given(st.lists(st.sampled_from("abcd"), unique=True, min_size=1), st.data())
def test_line_of_a_key_is_its_own(keys: list[str], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(keys))
    lines = ["# a = 1", "[t]", *(f"{key} = 1" for key in keys), "[other]", *keys]
    number = keys.index(key)
    assert line_of(lines_of("\n".join(lines)), ("t", key)) == number + 3
    dotted = ["x = 0", *(f"t . '{key}' = 1" for key in keys)]
    assert line_of(lines_of("\n".join(dotted)), ("t", key)) == number + 2
    tables = [line for key in keys for line in (f'[t."{key}"]', "v = 1")]
    assert line_of(lines_of("\n".join(tables)), ("t", key, "v")) == 2 * number + 2
    items = [line for _ in keys for line in ("[[t]]", "v = 1")]
    assert line_of(lines_of("\n".join(items)), ("t", number, "v")) == 2 * number + 2


# Values


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (1000, 1e3),
        ("1000", 1e3),
        ("800MB", 8e8),
        ("800 mb", 8e8),
        ("1.5G", 1.5e9),
        ("2GiB", 2 * 2**30),
        ("2 gib", 2 * 2**30),
        ("1K", 1e3),
        ("1Ki", 1024),
        ("3T", 3e12),
        ("0", 0),
        (" 5 B ", 5),
    ],
)
def test_sizes(given: object, size: float) -> None:
    budgets = Budgets.model_validate({"max_peak_memory": given})
    assert budgets.given() == {"max_peak_memory": size}


@pytest.mark.parametrize("given", ["", "MB", "-1", "1XB", "1 2", "1e9", "1,5G", -1, True, [1]])
def test_what_is_no_size(given: object) -> None:
    with pytest.raises(ValidationError):
        Budgets.model_validate({"max_peak_memory": given})


@pytest.mark.parametrize("given", [True, False, -0.1, float("inf"), float("nan"), "few", None, [1]])
def test_what_is_no_limit(given: object) -> None:
    if given is None:
        assert Budgets.model_validate({"max_step_ms": given}).given() == {}
        return
    with pytest.raises(ValidationError):
        Budgets.model_validate({"max_step_ms": given})


def test_limit_of_nothing_is_a_limit() -> None:
    assert Budgets(max_compilations_after_warmup=0).given() == {"max_compilations_after_warmup": 0}
    assert Gate().budgets.given() == {}


def test_many_defects_are_placed_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[str] = []

    def counted(text: str) -> dict[tuple[str, ...], int]:
        passes.append(text)
        return lines_of(text)

    monkeypatch.setattr(load, "lines_of", counted)
    path = tmp_path / "xladoctor.toml"
    path.write_text("[gate]\n" + "".join(f"key-{n} = 0\n" for n in range(3000)))
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    assert len(passes) == 1
    assert len(caught.value.what.splitlines()) == 3000
    assert f"{path}:3001: gate.key-2999: no such key" in caught.value.what


@pytest.mark.parametrize("bit", ["[ ", "[a", "a. ", '"', "a b"])
def test_a_line_of_anything_is_read_at_once(bit: str) -> None:
    assert len(lines_of(f'k = """\n{bit * 300_000}\n"""\n')) <= 2


@pytest.mark.parametrize(
    ("row", "table"),
    [
        ("[a]", ("a",)),
        (" [ a . 'b.c' ] # d]", ("a", "b.c")),
        ("[[a]]", ("a", "0")),
        ('["a", "b"]', None),
        ('["a"],', None),
        ("[a] b", None),
    ],
)
def test_a_row_is_a_table_or_not(row: str, table: tuple[str, ...] | None) -> None:
    assert lines_of(row) == ({table: 1} if table else {})


def test_file_larger_than_any_configuration_is_an_error(tmp_path: Path) -> None:
    assert message(tmp_path, "#" * (1 << 20) + "\n") == (
        ": cannot be read: larger than 1 MiB, which no such file is"
    )
