"""From which frameworks programs can be moved, and to which."""

from __future__ import annotations

from pathlib import Path

from xladoctor.frontends import folders
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.move.interface import MoveError, Target
from xladoctor.move.table import Names, names_of


def tables() -> dict[str, Names]:
    """The table of each framework that programs can be moved from."""
    places = {name: folder / "move" for name, folder in folders().items()}
    return {
        name: names_of(place, name)
        for name, place in places.items()
        if (place / "table.yaml").is_file()
    }


def table_for(files: list[Path]) -> Names:
    """The table of the framework that a program uses.

    Raises:
        MoveError: it uses none of these.
    """
    texts = [path.read_text("utf-8", errors="replace") for path in files]
    known = tables()
    for name, names in known.items():
        if any(name in text for text in texts):
            return names
    raise MoveError(
        f"neither {files[0].name} nor what it imports uses {' or '.join(known)}",
        "a library that chooses the device itself, as accelerate does, has to know the new one",
    )


def target_of(names: Names, to: str, device: str | None) -> Target:
    """What a program is to be moved to.

    Args:
        to: as ``--to`` gives it.
        device: the type of devices, if it is not the usual one.

    Raises:
        MoveError: a program of this framework cannot be moved there.
    """
    entry = names.targets.get(to)
    if entry is None:
        raise MoveError(f"unknown target {to}", f"one of: {', '.join(names.targets)}")
    words = vocabulary(entry.frontend or to)
    kind = device or entry.device
    if (devices := names.devices.get(kind)) is None:
        raise MoveError(f"unknown device {kind}", f"one of: {', '.join(names.devices)}")
    backend, seeder = devices.backend, devices.seeder
    without, foreign = entry.without, entry.foreign
    return Target(to, entry.title, kind, backend, seeder, without, foreign, words.replaced)
