"""Where Dynamo's hooks are put in releases newer than the one that the tests run."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from xladoctor.recording.bootstrap._xladoctor.calls import Calls
from xladoctor.recording.bootstrap._xladoctor.hooks import Hooks
from xladoctor.recording.bootstrap._xladoctor.pytorch.dynamo import Dynamo
from xladoctor.recording.bootstrap._xladoctor.pytorch.listener import Listener


class Context:
    """As ``MetricsContext``."""

    def __init__(self, on_exit: Callable[..., Any]) -> None:
        self._on_exit = on_exit

    def end(self) -> None:
        self._on_exit(1_000, 4_000, {"compile_id": "0/0"}, None, None)


def hooked() -> tuple[Dynamo, list[tuple[Any, ...]]]:
    """Hooks whose reports are kept instead of judged: what each was told."""
    told: list[tuple[Any, ...]] = []

    class Told(Dynamo):
        def _ended(self, *values: Any) -> None:
            told.append(values)

        def _broken(self, *values: Any) -> None:
            told.append(values)

    recorder: Any = SimpleNamespace(off=False)
    sites: Any = SimpleNamespace(parts=None)
    calls = Calls(recorder, sites, None, None, Hooks())  # type: ignore[arg-type]
    return Told(calls, Listener(calls), Hooks()), told


def test_each_thread_may_have_its_own_metrics() -> None:
    ended: list[int] = []

    def on_exit(begin: int, end: int, *_: Any) -> None:
        ended.append(end - begin)

    here = Context(on_exit)
    module = SimpleNamespace(MetricsContext=Context, get_metrics_context=lambda: here)
    dynamo, told = hooked()
    dynamo._install_compilations(module)
    elsewhere = module.MetricsContext(on_exit=on_exit)
    here.end()
    elsewhere.end()
    assert [values[1] for values in told] == [3_000, 3_000]
    assert ended == [3_000, 3_000]
    dynamo.hooks.undo()
    here.end()
    assert module.MetricsContext is Context
    assert (len(told), len(ended)) == (2, 3)


def test_graph_breaks_may_be_logged_by_the_tracer() -> None:
    logged: list[str] = []

    class Tracer:
        def log_graph_break(self, options: Any, reason: str, exc: Any) -> None:
            logged.append(reason)

    own = Tracer.log_graph_break
    dynamo, told = hooked()
    dynamo._install_breaks(SimpleNamespace(InstructionTranslatorBase=Tracer))
    Tracer().log_graph_break({}, reason="print", exc=SimpleNamespace(logged=False, real_stack=[1]))
    Tracer().log_graph_break({}, reason="again", exc=SimpleNamespace(logged=True))
    assert told == [("print", [1])]
    assert logged == ["print", "again"]
    dynamo.hooks.undo()
    assert Tracer.log_graph_break is own
