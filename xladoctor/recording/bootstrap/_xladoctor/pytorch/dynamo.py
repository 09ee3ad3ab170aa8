"""Observes Dynamo: calls of compiled functions, compilations with their reasons, graph breaks.

Each hook is installed separately, when the program imports its module; if a release of PyTorch
lacks one, the others still work. All run while Dynamo is disabled, so that it never compiles them.
"""

from __future__ import annotations

import linecache
import os
import sys
import tempfile
import threading
from types import CodeType, FrameType
from typing import Any

from ..call_site import FRAMEWORK, LIBRARY, USER
from ..calls import Calls
from ..disguise import hide_frames
from ..hooks import Hooks
from . import breaks, guards
from .listener import Attempt, Listener, limit_in, phases_of


class Dynamo:
    """Installs the hooks, which report to a :class:`Listener`."""

    def __init__(self, calls: Calls, listener: Listener, hooks: Hooks) -> None:
        self._calls = calls
        self._recorder = calls.recorder
        self._listener = listener
        self.hooks = hooks
        self._local = threading.local()
        self._owners: set[tuple[CodeType, int]] = set()  # code compiled, id of the guard's object

    def install(self) -> None:
        """Install each hook as soon as its module is imported."""
        for name, module, install in (
            ("launches", "eval_frame", self._install_calls),
            ("compilations", "utils", self._install_compilations),
            ("keys", "convert_frame", self._install_reasons),
            ("graph breaks", "symbolic_convert", self._install_breaks),
        ):
            self.hooks.await_module(name, f"torch._dynamo.{module}", install)

    # -- calls of compiled functions ---------------------------------------------------------

    def _install_calls(self, module: Any) -> None:
        needed = {"_callback_from_stance", "_maybe_set_eval_frame"}
        code = next(
            const
            for const in module._TorchDynamoContext.__call__.__code__.co_consts
            if isinstance(const, CodeType) and needed <= {*const.co_names}
        )
        recorder, local = self._recorder, self._local

        def entering(original: Any) -> Any:
            def callback_from_stance(callback: Any) -> Any:
                if callback and not recorder.off and getattr(local, "outer", None) is None:
                    caller = _caller(sys._getframe(1))
                    if caller.f_code is code:
                        local.outer, local.entered = caller, False
                        self._calls.note(self._listener.called)
                return original(callback)

            return callback_from_stance

        def leaving(original: Any) -> Any:
            def maybe_set_eval_frame(callback: Any) -> Any:
                outer = getattr(local, "outer", None)
                if outer is not None and _caller(sys._getframe(1)) is outer:
                    if not local.entered:
                        local.entered = True
                    else:
                        local.outer = None
                        if not recorder.off:
                            self._calls.note(self._listener.returned, outer)
                return original(callback)

            return maybe_set_eval_frame

        self.hooks.replace(module, "_callback_from_stance", entering)
        self.hooks.replace(module, "_maybe_set_eval_frame", leaving)
        self._count_parts()

    def _count_parts(self) -> None:
        """Count each lookup of a frame's code: of a function, or of its rest after a break."""
        from torch._C._dynamo import eval_frame

        listener, local = self._listener, self._local

        def looked(hit: bool) -> bool:
            if getattr(local, "outer", None) is not None:
                listener.parts += 1
            return hit

        before = eval_frame.set_guard_complete_hook(looked)
        if before is not None:  # another tool's callback, which has priority
            eval_frame.set_guard_complete_hook(before)
        else:
            self.hooks.on_undo(lambda: eval_frame.set_guard_complete_hook(None))

    def _here(self) -> int | None:
        """The line that called the outermost compiled function, or else the current line."""
        outer: FrameType | None = getattr(self._local, "outer", None)
        return self._calls.sites.of(outer or sys._getframe(1))

    # -- compilations ------------------------------------------------------------------------

    def _install_compilations(self, module: Any) -> None:
        """Hook the end of a compilation's metrics. They belong to the process; since torch 2.13 to
        each thread, created when it first compiles.
        """

        def ended(original: Any) -> Any:
            def on_exit(start: int, end: int, metrics: Any, kind: Any, error: Any) -> Any:
                try:
                    return original(start, end, metrics, kind, error)
                except BaseException as fault:
                    hide_frames(fault)
                    raise
                finally:
                    if not self._recorder.off:
                        self._calls.note(self._ended, module, end - start, metrics, error)

            return on_exit

        context = getattr(module, "_METRICS_CONTEXT", None)
        if context is None:
            kind, context = module.MetricsContext, module.get_metrics_context()
            self.hooks.put(
                module,
                "MetricsContext",
                lambda on_exit, *args, **kwargs: kind(ended(on_exit), *args, **kwargs),
            )
        self.hooks.replace(context, "_on_exit", ended)

    def _ended(self, utils: Any, spent: int, metrics: dict[str, Any], error: Any) -> None:
        from torch._guards import CompileContext

        local = self._local
        broken, local.breaks = getattr(local, "breaks", []), []
        known, local.reason = getattr(local, "reason", None), None
        attempt = Attempt(
            str(metrics.get("compile_id") or CompileContext.current_compile_id()),
            spent,
            phases_of(metrics, spent),
            metrics,
            self._here(),
            error,
        )
        attempt.cached = self._listener.cached(utils.counters)
        if known is not None:
            attempt.code, attempt.reason, attempt.frame = known
            attempt.used = self._used(attempt)
        attempt.wraps = self._wraps(attempt)
        limit = limit_in(type(error).__name__, f"{error} {error.__cause__}") if error else None
        if limit:
            from torch._dynamo import config

            attempt.dynamic = getattr(config, "automatic_dynamic_shapes", None)
            self._listener.limited(attempt, limit, getattr(config, limit, None))
        elif error is None and metrics.get("co_name"):
            self._listener.compiled(attempt)
        else:
            self._listener.spent(attempt)
        if limit:  # since torch 2.13 it is reported as a graph break, too
            broken = []
        elif not broken and type(error).__name__ == "Unsupported":
            broken = [(str(error), getattr(error, "real_stack", None) or [])]
        if metrics.get("is_forward") is not False:
            self._listener.traced(attempt, bool(broken))
        sites = self._calls.sites
        broken = [
            (text, stack) for text, stack in broken if not breaks.intended(sites, stack, text)
        ]
        called_at = sites.of(sys._getframe(1)) if broken else None
        for text, stack in broken:
            why, hint = breaks.reason(text)
            place = breaks.place(sites, stack, called_at)
            function = stack[0].name if stack else metrics.get("co_name") or ""
            # without an error, but without guarded code either, as for a break in a loop
            whole = error is not None or metrics.get("guard_count", 0) is None
            self._listener.broken(
                attempt.site, place, breaks.function_name(function), why, hint, whole
            )

    def _wraps(self, attempt: Attempt) -> str:
        """The name of what torch's own wrapper calls, if that is what was compiled; or empty."""
        outer: FrameType | None = getattr(self._local, "outer", None)
        function = None if outer is None else outer.f_locals.get("fn")
        code, wrapped = getattr(function, "__code__", None), getattr(function, "__wrapped__", None)
        if wrapped is None or code is None or code.co_name != attempt.function:
            return ""
        if self._calls.sites.kind(code.co_filename) != FRAMEWORK:
            return ""
        return str(getattr(wrapped, "__name__", type(wrapped).__name__))

    def _used(self, attempt: Attempt) -> int | None:
        """The line that needs the guard, if it is not one of torch's.

        Where code of torch's is compiled by itself, such as an optimizer's, it is the line of the
        program that runs that.
        """
        files = (attempt.code.co_filename if attempt.code else "", *linecache.cache)
        stack, sites = guards.traced(attempt.reason or "", files), self._calls.sites
        if all(sites.kind(frame.filename) not in (USER, LIBRARY) for frame in stack):
            if attempt.code is None or sites.kind(attempt.code.co_filename) != FRAMEWORK:
                return None
            runs = sites.of(sys._getframe(2))
            return None if runs == attempt.site else runs
        return breaks.place(sites, stack, attempt.site)

    def _install_reasons(self, module: Any) -> None:
        def noted(original: Any) -> Any:
            def reasons(entry: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
                try:
                    found = original(entry, frame, *args, **kwargs)
                except BaseException as error:  # such as RecompileError, if the program wants that
                    hide_frames(error)
                    raise
                known = self._recorder.off or getattr(self._local, "reason", None)
                if found and not known:
                    self._calls.note(self._note_reason, found, frame)
                return found

            return reasons

        self.hooks.replace(module, "get_and_maybe_log_recompilation_reasons", noted)

    def _note_reason(self, found: Any, frame: Any) -> None:
        reason = guards.nearest(found)
        owner = frame.f_code, id(frame.f_locals.get(guards.owner(reason)))
        values = guards.Frame(frame.f_locals, frame.f_globals, owner in self._owners)
        self._owners.add(owner)
        self._local.reason = frame.f_code, reason, values

    # -- graph breaks ------------------------------------------------------------------------

    def _install_breaks(self, module: Any) -> None:
        """Hook the function that logs graph breaks, a method since torch 2.13."""

        noted = self._calls.before
        if hasattr(module, "log_graph_break"):
            self.hooks.replace(module, "log_graph_break", noted(self._break_logged))
        else:
            tracer = module.InstructionTranslatorBase
            self.hooks.replace(tracer, "log_graph_break", noted(self._break_of_tracer))
        if self._calls.sites.parts is None:
            self._calls.sites.parts = {}  # functions are compiled in parts, which are counted

    def _break_logged(self, _: Any, reason: Any = "", *__: Any, **more: Any) -> None:
        self._broken(reason, more.get("user_stack"))

    def _break_of_tracer(
        self, _: Any, __: Any, reason: Any = "", exc: Any = None, **more: Any
    ) -> None:
        if not getattr(exc, "logged", False):  # it is raised through several frames
            self._broken(reason, more.get("user_stack") or getattr(exc, "real_stack", None))

    def _broken(self, text: Any, stack: Any) -> None:
        from torch._guards import TracingContext

        if not hasattr(self._local, "breaks"):
            self._local.breaks = []
        self._local.breaks.append((str(text), [*(stack or TracingContext.extract_stack())]))


def _caller(frame: Any) -> FrameType:
    """The frame that called a wrapper, which another frontend's may wrap in turn."""
    while frame.f_code.co_filename == _HERE:
        frame = frame.f_back
    return frame  # type: ignore[no-any-return]


_HERE = _caller.__code__.co_filename


def generated_code() -> str:
    """The folder that Inductor writes its code to, which is not the program's."""
    return os.environ.get("TORCHINDUCTOR_CACHE_DIR") or os.path.join(
        tempfile.gettempdir(), "torchinductor_"
    )
