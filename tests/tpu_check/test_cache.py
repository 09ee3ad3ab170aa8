"""What was compiled is recalled, unless anything that the compiler was given is another."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tpu_check.fakes import graph, interpreter
from xladoctor.tpu_check.compiler.answer import MODULE, RESULT
from xladoctor.tpu_check.compiler.cache import Cache, key_of
from xladoctor.tpu_check.compiler.interpreter import Compiler
from xladoctor.tpu_check.compiler.outcome import Compiled, DoesNotFit, Outcome, Refused
from xladoctor.tpu_check.compiler.run import compile_graph
from xladoctor.tpu_check.compiler.topology import Topology

V5E = Topology("v5e")
COUNTED = "with open(sys.argv[0] + '.runs', 'a') as runs: runs.write('x')\n"


class Counted:
    """A compiler whose runs are counted."""

    def __init__(self, folder: Path, body: str = "answer()", most: int = 1 << 30) -> None:
        self.compiler = interpreter(folder, COUNTED + body)
        self.folder = folder / "cache"
        self.cache = Cache(self.folder, most)

    def compile(self, content: bytes = b"module") -> Outcome:
        return compile_graph(graph(content), V5E, self.compiler, cache=self.cache)

    @property
    def runs(self) -> int:
        runs = Path(f"{self.compiler.python}.runs")
        return len(runs.read_bytes()) if runs.exists() else 0

    def entries(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.is_dir()]


def test_an_executable_is_recalled(tmp_path: Path) -> None:
    counted = Counted(tmp_path)
    first, second = counted.compile(), counted.compile()
    assert isinstance(first, Compiled)
    assert isinstance(second, Compiled)
    assert (first.cached, second.cached, counted.runs) == (False, True, 1)
    assert replace(second, cached=False) == first
    (entry,) = counted.entries()
    assert sorted(file.name for file in entry.iterdir()) == ["checksums.json", MODULE, RESULT]


def test_that_a_graph_does_not_fit_is_recalled(tmp_path: Path) -> None:
    counted = Counted(tmp_path, "answer('does_not_fit', None, detail='Oom')")
    counted.compile()
    found = counted.compile()
    assert isinstance(found, DoesNotFit)
    assert (found.cached, counted.runs) == (True, 1)


@pytest.mark.parametrize("body", ["answer('refused', None)", "sys.exit(1)"])
def test_what_has_no_verdict_is_tried_again(tmp_path: Path, body: str) -> None:
    counted = Counted(tmp_path, body)
    counted.compile()
    assert isinstance(counted.compile(), Refused)
    assert (counted.runs, counted.entries()) == (2, [])


def test_each_thing_that_the_compiler_is_given_makes_another_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    compiler = Compiler(Path("python"), "2", "3")
    keys = [
        key_of(graph(), V5E, compiler),
        key_of(graph(b"other"), V5E, compiler),
        key_of(graph(partitions=4), V5E, compiler),
        key_of(replace(graph(), form="hlo_text"), V5E, compiler),
        key_of(graph(), Topology("v5e", "2x2"), compiler),
        key_of(graph(), V5E, replace(compiler, libtpu="4")),
        key_of(graph(), V5E, replace(compiler, jaxlib="4")),
    ]
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--flag")
    keys.append(key_of(graph(), V5E, compiler))
    assert len({*keys}) == len(keys)
    monkeypatch.undo()
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    same = replace(graph(), name="g", source=Path("elsewhere"), launches=5)
    assert key_of(same, V5E, replace(compiler, python=Path("other"))) == keys[0]


@pytest.mark.parametrize("file", [RESULT, MODULE, "checksums.json"])
@pytest.mark.parametrize("damage", ["cut", "emptied", "gone", "changed"])
def test_a_damaged_entry_is_compiled_again(tmp_path: Path, file: str, damage: str) -> None:
    counted = Counted(tmp_path)
    counted.compile()
    damaged = counted.entries()[0] / file
    content = damaged.read_bytes()
    if damage == "gone":
        damaged.unlink()
    else:
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
        damaged.write_bytes({"cut": content[:-5], "emptied": b"", "changed": changed}[damage])
    found = counted.compile()
    assert isinstance(found, Compiled)
    assert (found.cached, counted.runs) == (False, 2)
    again = counted.compile()
    assert isinstance(again, Compiled)
    assert again.cached


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    counted = Counted(tmp_path)
    counted.compile(b"a")
    size = sum(file.stat().st_size for file in counted.entries()[0].iterdir())
    small = Counted(tmp_path, most=2 * size + size // 2)
    for content, age in ((b"a", 300), (b"b", 200)):
        small.compile(content)
        entry = small.folder / key_of(graph(content), V5E, small.compiler)
        past = time.time() - age
        os.utime(entry, (past, past))
    small.compile(b"a")  # used just now
    small.compile(b"c")
    left = {entry.name for entry in small.entries()}
    assert left == {key_of(graph(content), V5E, small.compiler) for content in (b"a", b"c")}


def test_a_single_entry_stays_even_if_it_is_too_large(tmp_path: Path) -> None:
    counted = Counted(tmp_path, most=1)
    for content in (b"a", b"b"):
        found = counted.compile(content)
        assert isinstance(found, Compiled)
        assert found.module.exists()
    assert len(counted.entries()) == 1


def test_without_a_folder_of_the_user_it_lasts_as_long_as_the_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    compiler = interpreter(tmp_path, "answer()")
    cache = Cache()
    found = compile_graph(graph(), V5E, compiler, cache=cache)
    assert isinstance(found, Compiled)
    assert found.module.exists()
    del cache
    assert not found.module.exists()


def test_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = compile_graph(graph(), V5E, interpreter(tmp_path, "answer()"))
    assert isinstance(found, Compiled)
    assert found.module.is_relative_to(tmp_path / "xladoctor" / "tpu_check")
