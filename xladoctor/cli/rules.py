"""``xladoctor rules`` and ``xladoctor explain``: what is checked, what a rule means, own rules."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from string import ascii_letters
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor import doctor
from xladoctor.cli.configured import PackOptions
from xladoctor.cli.groups import argument, flag, grouped, option
from xladoctor.errors import XladoctorError
from xladoctor.foreign import as_json
from xladoctor.quantities import counted
from xladoctor.report.output import Color, emit, say, show
from xladoctor.whole_files import write_text

if TYPE_CHECKING:
    from xladoctor.diagnosis.rule import Rule

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="List the rules; write, check and test rules of your own.",
)
Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="PATH...", help="Rule files, or folders of them; by default the working directory."
    ),
]


@app.callback(invoke_without_command=True)
@grouped
def rules(*, context: typer.Context, pack: PackOptions) -> None:
    """List the rules; write, check and test rules of your own."""
    if context.invoked_subcommand is None:
        list_rules(config=pack.config, rules=pack.rules)


@app.command("list")
@grouped
def list_rules(*, pack: PackOptions) -> None:
    """List the rules: id, severity (or preview), title, owner."""
    for rule in pack.all_rules():
        state = rule.severity if rule.status == "stable" else rule.status
        aside = f"  ({rule.owner})" if rule.foreign else ""
        emit(f"{rule.id}  {state:<7}  {rule.title}{aside}\n")


@app.command()
@grouped
def new(
    *,
    rule_id: str = argument("Its id, such as ACME001.", metavar="ID"),
    name: str = argument("Name of the pattern, such as odd-thing."),
    folder: Path = option("Folder to write it to.", "--dir", default=Path(), metavar="DIR"),
) -> None:
    """Create a working rule to start from, with two cases.

    One case must trigger it, the other must not. Writes ID-NAME.yaml, and rule.schema.json, which
    editors use for completion.
    """
    from pydantic import ValidationError

    from xladoctor.diagnosis.rule import Rule
    from xladoctor.diagnosis.rule_file import message_of
    from xladoctor.diagnosis.rule_schema import schema
    from xladoctor.rule_cases.template import SCHEMA_FILE, rule_data, rule_text

    try:
        Rule.model_validate(rule_data(rule_id, name))
    except ValidationError as error:
        wrong = [f"{item['loc'][0]}: {message_of(item, Rule)}" for item in error.errors()]
        raise XladoctorError(wrong) from error
    if rule_id in {rule.id for rule in PackOptions().all_rules()}:
        raise XladoctorError(f"{rule_id}: this rule already exists", "choose another prefix")
    path = folder / f"{rule_id}-{name}.yaml"
    if path.exists():
        raise XladoctorError(f"{path}: already exists", "it was not changed")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, rule_text(rule_id, name))
        if not (folder / SCHEMA_FILE).exists():
            write_text(folder / SCHEMA_FILE, as_json(schema()))
    except OSError as error:
        raise XladoctorError(f"cannot write {path}: {error.strerror}") from error
    emit(f"wrote {path}\n")


@app.command()
@grouped
def check(
    *,
    paths: Paths = None,
    show_schema: bool = flag("Print the JSON Schema of rule files instead.", "--schema"),
) -> None:
    """Report faults in rules and cases, with line and column.

    Queries are also checked against empty evidence, which finds unknown columns. Exit status: 0 no
    faults, 1 faults, 2 there is no such file.
    """
    from xladoctor.diagnosis.rule_schema import schema
    from xladoctor.rule_cases.check import check as faults_of
    from xladoctor.rule_cases.check import rule_files

    if show_schema:
        emit(as_json(schema()))
        return
    files = rule_files(paths or [Path()])
    faults = faults_of(files)
    emit("".join(f"{fault}\n" for fault in faults))
    say(f"{counted(len(files), 'rule')}, {counted(len(faults), 'fault')}")
    raise typer.Exit(int(bool(faults)))


@app.command("test")
@grouped
def try_rules(
    *,
    paths: Paths = None,
    cases: Path | None = option(
        "Folder with a subfolder of cases for each rule, if they are not beside it.", metavar="DIR"
    ),
    known_good: Path | None = option(
        "Folder with evidence of healthy programs, in which no rule may find anything above"
        " info (default: what xladoctor includes).",
        metavar="DIR",
    ),
) -> None:
    """Run the cases of rules. Rules that pass also run on evidence of healthy programs.

    A case is judged by its rule alone. Exit status: 0 all as expected, 1 not all, 2 there is no
    such file.
    """
    from xladoctor.rule_cases.check import rule_files
    from xladoctor.rule_cases.trial import trials

    files, healthy = rule_files(paths or [Path()]), _healthy(known_good)
    passed = failed = 0
    for trial in trials(files, cases, healthy, doctor.load_evidence):
        passed, failed = passed + (not trial.faults), failed + bool(trial.faults)
        head = f"{'FAIL' if trial.faults else 'ok  '}  {trial.rule}  {trial.what}\n"
        emit(head + "".join(f"      {line}\n" for line in trial.faults))
    if not healthy:
        say("note: no evidence of healthy programs was given (--known-good DIR)")
    say(f"{passed} passed, {failed} failed" + (" (- expected, + found)" if failed else ""))
    raise typer.Exit(int(bool(failed)))


def _healthy(folder: Path | None) -> list[Path]:
    """The evidence in a folder: each file or directory in it."""
    from xladoctor.rule_cases.trial import known_good

    place = folder or known_good()
    if place is None:
        return []
    try:
        found = sorted(path for path in place.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise XladoctorError(
            f"{place}: {error.strerror}", "name a folder of run directories, timelines or reports"
        ) from error
    if not found:
        raise XladoctorError(f"{place}: nothing in it", "name a folder of run directories")
    return found


@grouped
def explain(
    *,
    rule_id: str = argument("A rule's id, its number, or its name.", metavar="RULE"),
    pack: PackOptions,
) -> None:
    """Explain a rule: what it finds, why it is slow, the fix."""
    from xladoctor.report.rule_page import render

    rule = _named(rule_id, pack.all_rules())
    show(lambda output, style: render(rule, output, style), Color.never)


def _named(word: str, rules: Sequence[Rule]) -> Rule:
    """The rule with this id, number or name.

    Raises:
        XladoctorError: there is none, or there are several with this number.
    """
    whole = {name.lower(): rule for rule in rules for name in (rule.name, rule.id)}
    if (found := whole.get(word.lower())) is not None:
        return found
    numbered = [rule for rule in rules if rule.id.lstrip(ascii_letters) == word]
    if len(numbered) == 1:
        return numbered[0]
    likely = numbered or [whole[name] for name in get_close_matches(word.lower(), whole)]
    named = " or ".join(dict.fromkeys(f"{rule.id} ({rule.name})" for rule in likely))
    hint = f"did you mean {named}?" if named else "xladoctor rules lists all of them"
    raise XladoctorError(f"{word}: no such rule", hint)
