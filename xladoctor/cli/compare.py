"""``xladoctor compare``: what changed from one run to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import typer

from xladoctor import doctor
from xladoctor.cli.configured import ConfigOptions, FailOnOption, configured
from xladoctor.cli.groups import argument, grouped, option, repeated
from xladoctor.cli.output import ColorOption, draws, parse_outputs
from xladoctor.cli.progress_bar import progress_bar
from xladoctor.report.output import Color, Format, write_each

if TYPE_CHECKING:
    from xladoctor.comparison.interface import Comparison, Demand, Ground
    from xladoctor.configuration.interface import Configured
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.report.interface import Style

_FORMATS = (Format.terminal, Format.html, Format.json, Format.markdown)
_NAMES = ", ".join(_FORMATS)


@dataclass(frozen=True)
class JudgingOptions:
    """What makes the comparison fail, and which differences it overlooks."""

    fail_on: FailOnOption = None
    max_slowdown: str | None = option(
        "Also fail if the step is slower by more than this, such as 10%, with 95% confidence.",
        metavar="PERCENT",
    )
    despite: list[str] = repeated(
        "Compare despite this difference between the runs, named as in the output. May be"
        " repeated.",
        metavar="WHAT",
    )

    def demand(self, configuration: Configured) -> Demand:
        """The same, with what the configuration says."""
        from xladoctor.comparison.interface import Demand

        limit = None if self.max_slowdown is None else _share(self.max_slowdown)
        return Demand(configuration.settings.gate.fail_on, limit, _grounds(self.despite))


@grouped
def compare(
    *,
    a: str = argument(
        "The run before, such as last~1, or any input `analyze` accepts.", metavar="A"
    ),
    b: str = argument("The run after, such as last.", metavar="B"),
    judging: JudgingOptions,
    formats: list[str] = repeated(
        "Output format, and the file to write it to (default: standard"
        f" output). May be repeated. Formats: {_NAMES}.",
        "--format",
        metavar="FORMAT[=FILE]",
        show_default="terminal",
    ),
    color: ColorOption = Color.auto,
    config: ConfigOptions,
) -> None:
    """Compare two runs: what is better or worse in B.

    Says first whether they are comparable. Exit status: 0 nothing is worse; 1 a finding is new or
    worse, or the step is slower than --max-slowdown allows; 2 a run cannot be read; 3 not enough
    evidence to judge.
    """
    from xladoctor.comparison.compare import compare as compare_runs

    outputs = parse_outputs(formats, _FORMATS)
    configuration = configured(config, of_gate={"fail_on": judging.fail_on})
    demand = judging.demand(configuration)
    chosen = doctor.selection(configuration)
    with progress_bar() as bar:
        drawn = draws(outputs)
        runs = [
            doctor.examine_joined(path, chosen, progress=bar, pictures=drawn).diagnosis
            for path in (a, b)
        ]
    comparison = compare_runs(runs[0], runs[1], chosen.rules, demand)
    write_each(
        outputs, color, lambda name, text, style: _render(comparison, runs, name, text, style)
    )
    raise typer.Exit(comparison.status)


def _share(text: str) -> float:
    """A percentage as a share: 0.05 of ``5%`` or ``5``."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 < value < 10_000:
        raise typer.BadParameter(
            f"{text}: expected a percentage above 0, such as 10%", param_hint="--max-slowdown"
        )
    return value / 100


def _grounds(names: list[str]) -> frozenset[Ground]:
    from xladoctor.comparison.interface import GROUNDS

    if unknown := [name for name in names if name not in GROUNDS]:
        raise typer.BadParameter(
            f"{unknown[0]}: expected one of {', '.join(GROUNDS)}", param_hint="--despite"
        )
    return frozenset(ground for ground in GROUNDS if ground in names)


def _render(
    comparison: Comparison, runs: Sequence[Diagnosis], name: Format, output: TextIO, style: Style
) -> None:
    from xladoctor.report import comparison as terminal
    from xladoctor.report import comparison_json, comparison_markdown

    if name is Format.html:
        from xladoctor.report.html.comparison import render

        render(comparison, runs, output, style)
        return
    modules = {Format.json: comparison_json, Format.markdown: comparison_markdown}
    modules.get(name, terminal).render(comparison, output, style)
