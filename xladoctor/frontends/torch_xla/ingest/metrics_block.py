"""A metric or counter of a metrics report: while its lines are read, and as values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xladoctor.frontends.torch_xla.ingest.metrics_figures import quantity
from xladoctor.frontends.torch_xla.ingest.pasted_report import without_note

_MOST_PERCENTILES = 100
_COUNT = re.compile(r"-?\d{1,20}", re.ASCII)
#: Figures as every release prints them; other forms are parsed more carefully.
_PLAIN = (
    r"(?:\d{1,18}d)?(?:\d{1,18}h)?(?:\d{1,18}m)?(?:\d{1,18}s)?(?:\d{1,18}ms)?\d{1,18}\.\d{1,18}us",
    r"\d{1,18}(?:\.\d{1,18})?[KMGTP]?B",
    r"\d{1,18}(?:\.\d{1,18})?",
)
_FIGURE = re.compile("|".join(_PLAIN), re.ASCII)
_SHARE = r"\d{1,3}(?:\.\d{1,9})?%="
_PERCENTILES = re.compile(
    "|".join(rf"{_SHARE}(?:{figure})(?:; {_SHARE}(?:{figure})){{0,99}}" for figure in _PLAIN),
    re.ASCII,
)
_PERCENTILE = re.compile(r"\s*(\d{1,3}(?:\.\d{1,9})?)%=(\S+)\s*", re.ASCII)
_COUNTS = frozenset({"Value", "TotalSamples"})
#: The lines that show a metric's unit, the most reliable first.
_WITH_UNIT = ("Accumulator", "Percentiles", "ValueRate", "Mean", "StdDev")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric at the time of the report; figures are in ``unit`` and None where not printed.

    Attributes:
        total_samples: samples since the start of the process or the last ``clear_all()``.
        accumulator: sum over all samples; durations are exact to the ns up to 104 days, sizes
            and numbers to two decimals of what is printed.
        unit: ``ns``, ``bytes`` or ``none`` (a plain number).
        rate: samples a second, over the newest 1,024 samples.
        value_rate: ``unit`` a second, over the newest 1,024 samples.
        percentiles: (percent, value) over the newest 1,024 samples.
        line: the line of the name, from 1.
        printed: the accumulator as printed.
    """

    name: str
    total_samples: int | None
    accumulator: float | None
    unit: str
    rate: float | None
    value_rate: float | None
    percentiles: tuple[tuple[float, float], ...]
    line: int
    printed: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter, and the line (from 1) of its name."""

    name: str
    value: int
    line: int


@dataclass(slots=True)
class Block:
    """A metric or counter that is being read. Its figures are parsed at the end, since a log may
    have thousands of reports and few are kept.

    Attributes:
        shape: the log's prefix before its name, with each number as a 0.
        last: the number of the last line taken.
        figures: by the line's key, its text, which is valid as a figure.
        percentiles: the text of their line, as far as it is readable; None without one.
    """

    kind: str
    name: str
    line: int
    shape: str
    last: int
    figures: dict[str, str] = field(default_factory=dict)
    percentiles: str | None = None

    def counter(self) -> Counter:
        """The block as a counter."""
        return Counter(self.name, int(self.figures["Value"]), self.line)

    def metric(self) -> Metric:
        """The block as a metric."""
        percentiles, unit, _ = _percentiles(self.percentiles or "")
        units = {"Percentiles": unit} if self.percentiles is not None else {}
        units |= {
            key: figure[1] for key, text in self.figures.items() if (figure := quantity(text))
        }
        return Metric(
            name=self.name,
            total_samples=self._count("TotalSamples"),
            accumulator=self._figure("Accumulator"),
            unit=next((units[key] for key in _WITH_UNIT if key in units), "none"),
            rate=self._figure("Rate"),
            value_rate=self._figure("ValueRate"),
            percentiles=percentiles,
            line=self.line,
            printed=self.figures.get("Accumulator", ""),
        )

    def _figure(self, key: str) -> float | None:
        figure = quantity(self.figures.get(key, ""))
        return figure[0] if figure else None

    def _count(self, key: str) -> int | None:
        return int(self.figures[key]) if key in self.figures else None

    def is_accumulator(self, text: str) -> bool:
        """Whether a ``Counter:`` line is what releases of 2019 called the accumulator."""
        is_missing = self.kind == "Metric" and "Accumulator" not in self.figures
        return is_missing and quantity(text) is not None

    def take(self, key: str, text: str) -> bool:
        """Take a figure; False if the text is not the kind of figure that the key requires."""
        return self._take(key, text) or self._take(key, without_note(key, text))

    def _take(self, key: str, text: str) -> bool:
        if (key == "Value") != (self.kind == "Counter"):
            return False
        if key in _COUNTS:
            is_figure = _COUNT.fullmatch(text) is not None
        else:
            text = text.removesuffix(" / second")
            is_figure = bool(_FIGURE.fullmatch(text)) or quantity(text) is not None
        if is_figure:
            self.figures[key] = text
        return is_figure

    def take_percentiles(self, text: str, cut: bool) -> bool:
        """Take all percentiles up to the first unreadable one; False if there is one."""
        if not cut and _PERCENTILES.fullmatch(text):
            self.percentiles = text
            return True
        text = without_note("Percentiles", text)
        if cut and not text.endswith(("us", "B")):
            text = text.rpartition(";")[0]
        self.percentiles = text
        return _percentiles(text)[2]


def _percentiles(text: str) -> tuple[tuple[tuple[float, float], ...], str, bool]:
    """Percentiles up to the first unreadable one, their unit, and whether all are readable."""
    values: list[tuple[float, float]] = []
    unit = ""
    for part in text.split(";")[:_MOST_PERCENTILES]:
        if not part.strip():
            continue
        match = _PERCENTILE.fullmatch(part)
        figure = quantity(match[2]) if match else None
        unit = unit or (figure[1] if figure else "none")
        if match is None or figure is None or figure[1] != unit:
            return tuple(values), unit, False
        if figure[0] is not None:
            values.append((float(match[1]), figure[0]))
    return tuple(values), unit or "none", True
