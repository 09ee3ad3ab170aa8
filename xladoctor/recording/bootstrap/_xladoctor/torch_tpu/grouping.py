"""Which executables of TorchTPU belong together, and why they were compiled."""

from __future__ import annotations

from typing import Any, Callable

from .changes import Change, Ratio, chain_of, changed, ratios_of
from .course import Course, Cycles
from .executables import (
    OPTIMIZERS,
    PREFIX,
    Executable,
    Place,
    Site,
    is_deferred,
    is_of_all_parameters,
    is_of_backward,
)

_WRAPPERS = "/_xladoctor/"  # the capture's
_AGAIN = "again"  # in place of a site
_MOST_SHAPES = 64  # of an operator at a line, compared with a new one


class Compiling:
    """Executables that one change has made necessary, or that are the first at a line.

    Attributes:
        site: of the line of the first; None for those of compiled functions.
        function: whether a compiled function needs them.
        step: of the program, when they were asked for.
        ordinal: steps since the first was compiled there for other shapes; 0 if it never was.
        began_ns: when the first was asked for.
        executables: how many.
        own_ns: what preparing them has taken on the host.
        operator: the first of the first.
        against: the compilation that the first is compared with.
        changes: what is new since then.
        number: of this compilation, once it is recorded.
        keys: operators, sites, chains and shapes of its executables.
    """

    function = False
    site: Site = None
    step = ordinal = began_ns = executables = own_ns = number = 0
    operator = ""
    against: Compiling | None = None
    changes: tuple[Change, ...] = ()

    def __init__(self) -> None:
        self.keys: set[Any] = set()

    def add(self, event: dict[str, Any]) -> None:
        """Add an executable."""
        began = event["ts_us"] * 1000
        self.began_ns = min(self.began_ns or began, began)
        self.executables += 1
        self.own_ns += event["dur_us"] * 1000


class Grouping:
    """Puts together what one change has made necessary, and what is new at a line.

    Attributes:
        cycles: numbers the steps.
        course: at which lines operators are launched.
        backward: the site of the latest backward pass: its operators have no line of their own.
        read: the site of the latest read of a value, whose operators have the line of a wrapper;
            None if there was none since executables were added.
        pending: compilations, in the order in which they were asked for; the caller removes them.
    """

    def __init__(
        self,
        is_named: Callable[[str], bool],
        site_of: Callable[[Place], Site],
        launched_at: Callable[[Site], None],
    ) -> None:
        """
        Args:
            is_named: whether a file is one of the program, or of a library that it uses.
            site_of: the site of a place.
            launched_at: called for each site at which an operator was launched.
        """
        self._is_named = is_named
        self._site_of = site_of
        self._launched_at = launched_at
        self.cycles = Cycles()
        self.course = Course()
        self.backward: Site = None
        self.read: Site = None
        self.pending: list[Compiling] = []
        #: By operator, site and chain: the shapes compiled, with their compilations.
        self._known: dict[Any, dict[tuple[str, ...], Compiling]] = {}
        #: By site: the first chain of operators that were put off, and the shapes of all.
        self._chains: dict[Site, tuple[Compiling, str, set[str]]] = {}
        self._since: dict[Site, int] = {}  # the step in which a line has first compiled anything
        #: The latest step in which a line has compiled for other shapes, and how they differ.
        self._resized: tuple[int, set[Ratio]] = -1, set()

    def add(self, events: list[dict[str, Any]], now: int, last: bool) -> list[dict[str, Any]]:
        """Add launches that needed new executables; those without a line yet are returned.

        Args:
            events: with ``name``, ``executable`` and ``step``, which is None if it is not known;
                ``noted`` is whether lines were noted then.
            now: the step of the host.
            last: whether nothing comes any more.
        """
        sites, unknown = self.sites(events)
        later: list[dict[str, Any]] = []
        if unknown and not last:  # the line of what follows is not known yet
            events, later = events[:-unknown], events[-unknown:]
        new: dict[tuple[int, Site], Compiling] = {}
        for event, guess in zip(events, sites):
            self._add(event, guess, now if event["step"] is None else event["step"], new)
        self.read = None
        return later

    def _add(
        self,
        event: dict[str, Any],
        site: Site,
        step: int,
        new: dict[tuple[int, Site], Compiling],
    ) -> None:
        """Add an executable to the compilation that it is a part of, which may begin with it.

        Args:
            new: compilations that no change explains, by step, and line or ``_AGAIN``.
        """
        name, found = event["name"].removeprefix(PREFIX), event["executable"]
        if not self.has_line(found):  # lines that have compiled it are likelier
            sites = self.course.sites(name)
            site = next((at for at in sites if self._changed(event, at, step)[1]), site)
        known = self._known.setdefault((name, site, found.chain), {})
        of_parameter = site is None and not found.inputs  # one for each, as by an optimizer
        against, changes = self._cause(event, site, step, of_parameter)
        key = name, site, found.chain, found.shapes  # the same again is another change
        phase = None
        if changes:
            group = self._with_change(step, key)
        else:
            self.course.note(name, site, is_of_all_parameters(found))
            self._launched_at(site)
            phase = step, self._phase(site, step)
            group = new.get(phase)
        if group is None:
            group = Compiling()
            group.site, group.step, group.operator = site, step, found.operator
            group.against, group.changes = against, changes
            group.ordinal = step if (known or against) and not of_parameter else 0
            self.pending.append(group)
            if phase is not None:
                new[phase] = group
        group.add(event)
        group.keys.add(key)
        if len(known) < _MOST_SHAPES:
            known[found.shapes] = group
        if is_deferred(event):
            _, _, shapes = self._chains.setdefault(site, (group, chain_of(found), set()))
            shapes.update(found.shapes[:_MOST_SHAPES])

    def _cause(
        self, event: dict[str, Any], site: Site, step: int, of_parameter: bool
    ) -> tuple[Compiling | None, tuple[Change, ...]]:
        """What it is compared with, and what is new; of a chain of deferred operators whose shapes
        are all known, or whose change is not, that it is put together otherwise.
        """
        found = event["executable"]
        against, changes = self._changed(event, site, step)
        if of_parameter:
            against, changes = None, ()
        first, chain, shapes = self._chains.get(site, (None, "", set()))
        otherwise = not changes or shapes.issuperset(found.shapes)
        if is_deferred(event) and first is not None and first.step < step and otherwise:
            argument = f"the chain that {event['reason']} ended"
            return first, (("chain", argument, chain, chain_of(found)),)
        return against, changes

    def _with_change(self, step: int, key: Any) -> Compiling | None:
        """The compilation of a change in this step that this executable can be a part of."""
        groups = (each for each in self.pending if each.changes and each.step == step)
        return next((each for each in groups if key not in each.keys), None)

    def _phase(self, site: Site, step: int) -> Site:
        """The line; of lines that compile again, for what differs in too much to say, one phase."""
        return _AGAIN if self._since.setdefault(site, step) < step else site

    def _changed(
        self, event: dict[str, Any], site: Site, step: int
    ) -> tuple[Compiling | None, tuple[Change, ...]]:
        """See :func:`.changes.changed`. In a backward pass, gradients of all parameters are added
        at one line: what is new has to be new in the same step where it has a line, as another
        batch is.
        """
        name, found = event["name"].removeprefix(PREFIX), event["executable"]
        against, changes = changed(found, self._known.get((name, site, found.chain), {}), step)
        ratios = ratios_of(changes)
        if event.get("noted", True) and is_of_backward(found):
            same = self._resized[0] == step and ratios <= self._resized[1]
            return (against, changes) if same or not ratios else (None, ())
        if ratios and self.has_line(found):
            self._resized = step, ratios | (self._resized[1] if self._resized[0] == step else set())
        return against, changes

    def has_line(self, found: Executable) -> bool:
        """Whether it has a line of the program, or of a library that it uses, or is of a read."""
        place = found.place
        return place is not None and (self._is_named(place[0]) or self._is_read(place))

    def _is_read(self, place: Place) -> bool:
        return self.read is not None and _WRAPPERS in place[0]

    def launched_at(self, event: dict[str, Any]) -> Site:
        """The site that a launch is counted for."""
        if event["executable"] is not None:
            (site,), _ = self.sites([event])
            if site is not None:
                self.course.go(site, is_of_all_parameters(event["executable"]))
                return site
        return self.course.next_site(event["name"].removeprefix(PREFIX))

    def sites(self, events: list[dict[str, Any]]) -> tuple[list[Site], int]:
        """The site of each executable, and how many of the last ones are not known.

        The record has the innermost line, which may be one of torch's. Of its optimizers it stands
        for the line that asks for the update, of the backward pass for that which begins it. Of
        its layers, the next operator with a line of the program is the closest that is known. Of a
        wrapper of the capture it stands for the line that reads.
        """
        found: list[Site] = []
        waiting: list[int] = []
        for event in events:
            place = event["executable"].place
            site: Site = None
            named = place is not None and self._is_named(place[0])
            if named or (place is not None and self._is_read(place)):
                site = self._site_of(place) if named else self.read
                for earlier in waiting:
                    found[earlier] = site
                waiting.clear()
            elif place is None and not event.get("noted", True):
                waiting.clear()
            elif is_of_backward(event["executable"]):
                site = self.backward
                waiting.clear()
            elif OPTIMIZERS in place[0]:
                site = self.cycles.site
                waiting.clear()
            else:
                site = next((known for known in reversed(found) if known is not None), None)
                waiting.append(len(found))
            found.append(site)
        return found, len(waiting)
