"""The order of TorchTPU's launches: at which line each is, and in which step.

The runtime works through launches long after the host has called their operators, whose order they
keep.
"""

from __future__ import annotations

from .executables import OF_ALL_PARAMETERS, Executable, Site, updates

_MOST_SITES = 256  # of an operator


class Course:
    """Follows a program from line to line, as the record has lines of new executables alone.

    The lines of an operator take turns, one for each executable. But a backward pass and an update
    launch operators of all parameters one after another, many of them from the cache: what comes
    between two new ones is there, and so is later whatever was seen there, until another operator
    comes.
    """

    def __init__(self) -> None:
        self._order: dict[Site, int] = {}  # in which lines first compiled anything
        self._lines: dict[str, list[Site]] = {}  # by operator: the line of each executable
        self._whole: dict[str, dict[Site, None]] = {}  # by operator: backward passes and updates
        self._turns: dict[str, int] = {}
        self._at: Site = None
        self._compiled: Site = None  # a backward pass or an update that is compiling
        self._since: dict[str, None] = {}  # operators launched from the cache since

    def sites(self, operator: str) -> tuple[Site, ...]:
        """Where an operator was compiled."""
        return tuple(
            dict.fromkeys((*self._lines.get(operator, ()), *self._whole.get(operator, ())))
        )

    def note(self, operator: str, site: Site, whole: bool) -> None:
        """An operator is compiled at a line; ``whole``: with those of all parameters."""
        self._order.setdefault(site, len(self._order))
        if whole:
            self._whole.setdefault(operator, {})[site] = None
        elif len(lines := self._lines.setdefault(operator, [])) < _MOST_SITES:
            lines.append(site)

    def go(self, site: Site, whole: bool) -> None:
        """A new executable is launched at this line."""
        self._order.setdefault(site, len(self._order))
        if whole and site == self._compiled:
            for between in self._since:
                self.note(between, site, whole)
        self._at, self._compiled, self._since = site, site if whole else None, {}

    def next_site(self, operator: str) -> Site:
        """The line of the next launch, of an operator; None if it was compiled nowhere yet."""
        self._since[operator] = None
        lines, whole = self._lines.get(operator, []), self._whole.get(operator, {})
        if self._at in whole:
            return self._at
        site = min((*lines, *whole), key=self._ahead, default=None)
        if lines and (site not in whole or self._at in lines):
            turn = self._turns[operator] = self._turns.get(operator, -1) + 1
            site = lines[turn % len(lines)]
        self._at = site
        return site

    def _ahead(self, site: Site) -> int:
        """How many lines it is away, with the first after the last."""
        return (self._order[site] - self._order.get(self._at, -1)) % len(self._order)


class Cycles:
    """Numbers the steps that launches belong to: the runtime works through them long after the host
    has called their operators, whose order they keep.

    The first operator of torch's optimizers ends one. Without an optimizer the host's are taken.

    Attributes:
        site: of the line that ends steps, once it is known.
        ended: whether there is an operator that ends steps.
    """

    def __init__(self) -> None:
        self.site: Site = None
        self._marker = ""
        self._updates: set[str] = set()  # operators of optimizers
        self._seen = self._each = 0  # launches of the marker: in all, and in each step
        self._long = self._since = 0  # launches of a step, and since its begin

    @property
    def ended(self) -> bool:
        return bool(self._marker)

    @property
    def count(self) -> int:
        """Steps that have ended."""
        return self._seen // (self._each or self._seen or 1)

    def skip(self, launches: int) -> None:
        """So many launches are not in the record; their steps are counted by the others' length."""
        if launches and self._each and self._long:
            self._seen += self._each * round(launches / self._long)

    def step_of(self, name: str, found: Executable | None, deferred: bool = False) -> int | None:
        """The step of the next launch; None while no operator is known that ends steps, as where
        those of the optimizer are ``deferred``, and launched together with others.
        """
        if (
            found is not None
            and updates(found)
            and (name.startswith(OF_ALL_PARAMETERS) or not deferred)
        ):
            self._updates.add(name)
            self._marker = self._marker or name
        elif not self._marker:
            return 0 if self.site is not None and not deferred else None
        self._since += 1
        if name == self._marker:
            self._seen += 1
            if self._each and self._seen % self._each == 0:
                self._long, self._since = self._since, 0
        elif name not in self._updates and not self._each:
            self._each = self._seen
        return (self._seen - (name == self._marker)) // (self._each or self._seen + 1)
