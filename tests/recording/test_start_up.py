"""What came before the first step: imports that are timed, and looks at the main thread."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor import session
from xladoctor.recording.bootstrap._xladoctor.call_site import CallSites
from xladoctor.recording.bootstrap._xladoctor.start_up import Imports, StartUp, _stage

_SLEEP_S = 0.05


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages, which is forgotten after the test."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def imports() -> Iterator[Imports]:
    finder = Imports()
    sys.meta_path.insert(0, finder)
    yield finder
    sys.meta_path.remove(finder)


def package(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(f"import time; time.sleep({_SLEEP_S})\n{text}\n")


def seconds(imports: Imports) -> dict[str, float]:
    return {name: spent / 1e9 for (name, _), spent in imports.rows.items()}


def test_import_within_another_is_part_of_that(installed: Path, imports: Imports) -> None:
    package(installed, "started_outer", "import started_inner")
    package(installed, "started_inner", "")

    importlib.import_module("started_outer")

    assert list(seconds(imports)) == ["started_outer"]
    assert 2 * _SLEEP_S <= seconds(imports)["started_outer"] < 2 * _SLEEP_S + 5


def test_what_the_program_s_own_module_imports_is_named(
    installed: Path, imports: Imports, tmp_path: Path
) -> None:
    package(installed, "started_late", "")
    (tmp_path / "started_own.py").write_text("\nimport started_late\n")

    importlib.import_module("started_own")

    ((name, line),) = imports.rows
    assert (name, line) == ("started_late", (str(tmp_path / "started_own.py"), 2, "<module>"))


def test_loader_is_left_as_it_was(installed: Path, imports: Imports) -> None:
    package(installed, "started_plain", "")
    module = importlib.import_module("started_plain")
    assert "exec_module" not in vars(module.__loader__)
    importlib.reload(module)
    assert len(imports.rows) == 1


def test_import_that_fails_fails_alike(installed: Path, imports: Imports) -> None:
    package(installed, "started_wrong", "raise ImportError('wrong')")
    with pytest.raises(ImportError, match="wrong") as caught:
        importlib.import_module("started_wrong")
    assert "start_up.py" not in {Path(entry.path).name for entry in caught.traceback}
    assert not imports.under_way
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("started_nowhere")


def test_other_threads_are_not_timed(installed: Path, imports: Imports) -> None:
    package(installed, "started_aside", "")
    thread = threading.Thread(target=importlib.import_module, args=("started_aside",))
    thread.start()
    thread.join()
    assert imports.rows == {}


def _compiled(path: str, name: str, calls: Any = None) -> Any:
    """A function of this name in a file; it calls another, or returns the frames that led to it."""
    code = f"def {name}(calls):\n    return calls() if calls else __import__('sys')._getframe()\n"
    scope: dict[str, Any] = {"__name__": name}
    exec(compile(code, path, "exec"), scope)
    return functools.partial(scope[name], calls)


_STAGES = {"trace": "tracing", "build": "compile"}
_LIBRARY = "/usr/site-packages/fast/core.py"


def test_innermost_stage_at_the_line_that_entered_the_outermost() -> None:
    own = _compiled("/home/ada/model.py", "layer", _compiled(_LIBRARY, "build"))
    frame: FrameType = _compiled("/home/ada/train.py", "main", _compiled(_LIBRARY, "trace", own))()
    assert _stage(frame, _STAGES) == ("compile", ("/home/ada/train.py", 2, "main"))


def test_function_of_the_program_is_no_stage() -> None:
    frame = _compiled("/home/ada/train.py", "main", _compiled("/home/ada/jit.py", "build"))()
    assert _stage(frame, _STAGES) == (None, ("/home/ada/jit.py", 2, "build"))


def test_line_that_takes_long_takes_the_time_until_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = SimpleNamespace(index=0)
    recorder = SimpleNamespace(threads=[thread])
    monkeypatch.setattr(session, "captures", [SimpleNamespace(_recorder=recorder)])
    file = tmp_path / "batch"
    file.write_bytes(bytes(30_000_000))
    began = StartUp()
    sites = CallSites(())
    try:
        began.begin({})
        begin = time.perf_counter()
        while time.perf_counter() - begin < 0.5:
            file.read_bytes()
        took = time.perf_counter() - begin
        thread.index = 1
        time.sleep(0.2)
        rows = began.rows(sites)
        time.sleep(0.2)
        assert began.rows(sites) == rows
    finally:
        began.stop()
        began.leave()
    here = [row for row in rows if row["what"] is None]
    spent = sum(row["duration_ns"] for row in here) / 1e9
    assert took / 2 < spent <= took + 0.1
    assert sum(row["read_bytes"] for row in here) > 30_000_000
    assert any(sites.rows[row["site"]][0] == __file__ for row in here)


def threads() -> int:
    return len([*Path("/proc/self/task").iterdir()])


def test_no_thread_is_left_where_a_process_forks() -> None:
    began = StartUp()
    try:
        before = threads()
        began.begin({})
        assert threads() == before + 1
        began.stop()
        began.stop()
        assert threads() == before
    finally:
        began.leave()
    assert not [each for each in sys.meta_path if isinstance(each, Imports)]
