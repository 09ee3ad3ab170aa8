"""What TorchTPU's record of launches says, and which executables belong together.

The capture reads the record from TorchTPU's buffer; where a program has it written to the log that
``TORCH_TRACE`` asks for, it is read from there. Depends on neither.
"""

from __future__ import annotations

import math
import re
from typing import Any, Callable, NamedTuple

COMPILED = "compile_mode_execution"  # the reason of launches by compiled functions
_AT_ONCE = "debug_mode"  # of operators that are launched as they are called; others were put off
PREFIX = "torchtpu_eager/"
_TYPE = re.compile(r"(?<!\w)\w{1,40}\[[^\[\]]{0,400}\]")
_PLACE = re.compile(r"(.+):(\d{1,9}) in (.+)")
#: Parts of the paths of torch's own files.
_AUTOGRAD, _OPTIMIZERS = "/torch/autograd/", "/torch/optim/"
_WRAPPERS = "/_xladoctor/"  # the capture's
_OF_ALL = ("_foreach_", "_fused_")  # operators on all parameters at once
_INPUT, _VIEW, _WRITE = "input", "as_strided", "as_strided_inverse"
_STATE = "ui64[2]"  # of the random number generator
_AGAIN = "again"  # in place of a site
_MOST_SITES = 256  # of an operator
_MOST_SHAPES = 64  # of an operator at a line, compared with a new one
_MOST_CHANGES = 2  # of sizes and types; more are those of another layer
_MOST_NAMES = 3  # of the operators of a chain

#: As in :class:`..facts.Compile`: what, the input, was, now.
Change = tuple[str, str, str, str]
#: File, line and function.
Place = tuple[str, int, str]


class Executable(NamedTuple):
    """What was compiled for a launch.

    Attributes:
        operator: the first in it that computes something.
        place: file, line and function of the first with a line; None if none has one.
        inputs: how many it has.
        shapes: types and dimensions of its inputs, such as ``f32[8,16]``, then those of the views
            that it takes of them; where no input has a size, as in ``zeros``, those of its results.
        sliced: whether it reads parts of tensors, or writes into them.
        chain: all operators in it but views.
    """

    operator: str
    place: Place | None
    inputs: int
    shapes: tuple[str, ...]
    sliced: bool
    chain: tuple[str, ...]


def executable(text: str, operator: str) -> Executable:
    """Read the text of a graph, as TorchTPU 0.2 writes it::

        %0: f32[8, 16] = input
        %1: f32[8, 16] = relu(%0)    # /home/ada/train.py:11 in <module>

    Not a regular expression for lines, which would try each bracket with each colon of a damaged
    one.

    Args:
        operator: the name of the launch, if the text has none.
    """
    inputs, views, made, operators, place = [], [], [], [], None
    for line in text.splitlines():
        results, equals, right = line.strip().partition(" = ")
        names, colon, types = results.partition(": ")
        if not (equals and colon and names.startswith("%")):
            continue
        call, _, comment = right.partition(" # ")
        name, called, _ = call.strip().partition("(")
        typed = [type_.replace(" ", "") for type_ in _TYPE.findall(types)]
        if name == _INPUT and not called:
            inputs += typed
            continue
        if name == _VIEW:
            views += typed
        else:
            made += typed
        operators.append(name.partition(".")[0])
        if place is None and (match := _PLACE.fullmatch(comment.strip())):
            place = match[1], int(match[2]), match[3]
    computing = [name for name in operators if name != _VIEW]
    name = next(iter(computing or operators), operator.partition(".")[0])
    sized = [shape for shape in inputs if shape != _STATE and _rank(shape)]
    shapes = (*inputs, *views) if sized else (*inputs, *views, *made)
    sliced = bool(views) or _WRITE in operators
    return Executable(name, place, len(inputs), shapes, sliced, tuple(computing))


def is_deferred(event: dict[str, Any]) -> bool:
    """Whether the operators of a launch were put off, to be launched together."""
    return bool(event["reason"] != _AT_ONCE)


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
        if found is not None and _updates(found) and (name.startswith(_OF_ALL) or not deferred):
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


def _updates(found: Executable) -> bool:
    """Whether it is of an optimizer; called outside of functions, its line is the program's."""
    return found.place is not None and (
        _OPTIMIZERS in found.place[0] or any(part.startswith(_OF_ALL) for part in found.chain)
    )


def is_of_all(found: Executable) -> bool:
    """Whether it is for all parameters, of a backward pass or an update."""
    return _is_of_backward(found) or _updates(found)


def _is_of_backward(found: Executable) -> bool:
    return found.place is None or _AUTOGRAD in found.place[0]


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


#: What a size, or a type, was and is now.
Ratio = tuple[Any, Any]
#: A line of the program, as the caller has it; None if it is not known.
Site = Any


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
        name = event["name"].removeprefix(PREFIX)
        found = event["executable"]
        if not self.has_line(found):  # lines that have compiled it are likelier
            sites = self.course.sites(name)
            changed = (at for at in sites if self._changed(event, at, step)[1])
            site = next(changed, site)
        known = self._known.setdefault((name, site, found.chain), {})
        against, changes = self._changed(event, site, step)
        if site is None and not found.inputs:  # made for each parameter, as by an optimizer
            against, changes = None, ()
        deferred = is_deferred(event)
        first, chain, shapes = self._chains.get(site, (None, "", set()))
        others = not changes or shapes.issuperset(found.shapes)  # put together, of the same shapes
        if deferred and first is not None and first.step < step and others:
            argument = f"the chain that {event['reason']} ended"
            against, changes = first, (("chain", argument, chain, _chain(found)),)
        if not changes:
            self.course.note(name, site, is_of_all(found))
            self._launched_at(site)
        key = name, site, found.chain, found.shapes  # the same again is another change
        if changes:
            group = next(
                (
                    each
                    for each in self.pending
                    if each.changes and each.step == step and key not in each.keys
                ),
                None,
            )
        else:  # lines that compile again, for what differs in too much to say, are of one phase
            again = self._since.setdefault(site, step) < step
            group = new.get((step, _AGAIN if again else site))
        if group is None:
            group = Compiling()
            group.site, group.step, group.operator = site, step, found.operator
            group.against, group.changes = against, changes
            group.ordinal = step if known or against else 0
            self.pending.append(group)
            if not changes:
                new[step, _AGAIN if again else site] = group
        group.add(event)
        group.keys.add(key)
        if len(known) < _MOST_SHAPES:
            known[found.shapes] = group
        if deferred:
            self._chains.setdefault(site, (group, _chain(found), shapes))
            shapes.update(found.shapes[:_MOST_SHAPES])

    def _changed(
        self, event: dict[str, Any], site: Site, step: int
    ) -> tuple[Compiling | None, tuple[Change, ...]]:
        """See :func:`_changed`. In a backward pass, gradients of all parameters are added at one
        line: what is new has to be new in the same step where it has a line, as another batch is.
        """
        name, found = event["name"].removeprefix(PREFIX), event["executable"]
        against, changes = _changed(found, self._known.get((name, site, found.chain), {}), step)
        ratios = _ratios(changes)
        if event.get("noted", True) and _is_of_backward(found):
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
                self.course.go(site, is_of_all(event["executable"]))
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
            elif _is_of_backward(event["executable"]):
                site = self.backward
                waiting.clear()
            elif _OPTIMIZERS in place[0]:
                site = self.cycles.site
                waiting.clear()
            else:
                site = next((known for known in reversed(found) if known is not None), None)
                waiting.append(len(found))
            found.append(site)
        return found, len(waiting)


def _changed(
    found: Executable, known: dict[tuple[str, ...], Compiling], step: int
) -> tuple[Compiling | None, tuple[Change, ...]]:
    """What is new since the executable of an earlier step that is most alike.

    At one line an operator may be that of several layers: a change has to be the same in all
    inputs, such as another size of the batch. Two layers whose inputs are alike are compiled in one
    step, whatever was new in it.
    """
    same = known.get(found.shapes)
    if same is not None and found.sliced:
        verb = "writes" if found.operator == _WRITE else "reads"
        return same, (("offset", f"the slice that {found.operator} {verb}", "", ""),)
    best: tuple[int, Compiling | None, tuple[Change, ...]] = (0, None, ())
    for shapes, group in known.items():
        if group.step >= step or [*map(_rank, shapes)] != [*map(_rank, found.shapes)]:
            continue
        pairs = [*zip(shapes, found.shapes)]
        sizes = {size for was, now in pairs for size in zip(_sizes(was), _sizes(now))}
        differ = {(was, now) for was, now in sizes if was != now}
        types = {(_type(was), _type(now)) for was, now in pairs if _type(was) != _type(now)}
        if not 0 < len(differ) + len(types) <= _MOST_CHANGES:
            continue
        if len(pairs) > _MOST_CHANGES and all(was != now for was, now in pairs):
            continue  # weights and all: another layer
        changes = tuple(
            (
                "type" if _type(was) != _type(now) else "shape",
                f"{_part(found, n)} of {found.operator}",
                was,
                now,
            )
            for n, (was, now) in enumerate(pairs)
            if was != now
        )
        if best[1] is None or len(changes) < best[0]:
            best = len(changes), group, changes
    if same is not None and (best[1] is None or same.step < step):
        return same, (("static", f"a Python number given to {found.operator}", "", ""),)
    return best[1:]


def _ratios(changes: tuple[Change, ...]) -> set[Ratio]:
    """How sizes and types differ; sizes in lowest terms, as a batch may be part of several."""
    ratios: set[Ratio] = set()
    for what, _, was, now in changes:
        if what in ("shape", "type"):
            for old, new in zip(_sizes(was), _sizes(now)):
                if old != new and old.isdecimal() and new.isdecimal():
                    common = math.gcd(int(old), int(new)) or 1
                    ratios.add((int(old) // common, int(new) // common))
            if _type(was) != _type(now):
                ratios.add((_type(was), _type(now)))
    return ratios


def _chain(found: Executable) -> str:
    """Its operators, such as ``linear, gelu, linear and 2 more``."""
    names = ", ".join(found.chain[:_MOST_NAMES])
    more = len(found.chain) - _MOST_NAMES
    return f"{names} and {more} more" if more > 0 else names


def _part(found: Executable, number: int) -> str:
    if number < found.inputs:
        return f"input {number}"
    return "a slice" if found.sliced else "the result"


def _type(shape: str) -> str:
    return shape.partition("[")[0]


def _sizes(shape: str) -> list[str]:
    return shape.partition("[")[2].rstrip("]").split(",")


def _rank(shape: str) -> int:
    return shape.count(",") + (not shape.endswith("[]"))
