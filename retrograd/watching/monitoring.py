"""The line log through `sys.monitoring` (Python 3.12 and newer): library code costs nothing.

Events are switched on for the user's code objects alone. The log is the one of `lines.Tracer`; only
the way in which lines become known differs. A debugger or coverage may run beside it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from retrograd.watching.lines import MOST_ENTRIES, LineLog, Tracer

_monitoring: Any = getattr(sys, "monitoring", None)

_TOOLS = (4, 3)  # identifiers that Python leaves to anybody


def make_tracer(counter: Callable[[], int], is_user: Callable[[str], bool]) -> Tracer:
    """The tracer of this Python: by `sys.monitoring` where there is a free place for a tool."""
    if _monitoring is not None:
        for tool in _TOOLS:
            if _monitoring.get_tool(tool) is None:
                return MonitoringTracer(counter, is_user, tool)
    return Tracer(counter, is_user)


class MonitoringTracer(Tracer):
    """Fills the logs of all threads through `sys.monitoring`."""

    def __init__(
        self, counter: Callable[[], int], is_user: Callable[[str], bool], tool: int
    ) -> None:
        super().__init__(counter, is_user)
        self._tool = tool
        self._codes: dict[int, CodeType] = {}  # the user's, whose events are on
        events = _monitoring.events
        self._local_events = events.LINE | events.PY_RETURN | events.PY_YIELD
        # Events of generators that are resumed by `throw`, and of frames that an exception
        # leaves, exist for all code or for none.
        self._global_events = (
            events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND
        )

    def start(self, frame: FrameType | None = None) -> None:
        """Follow all threads from now on, and the user's frames that run already."""
        self.running = True
        events = _monitoring.events
        _monitoring.use_tool_id(self._tool, "retrograd doctor")
        for event, callback in (
            (events.PY_START, self._enter),
            (events.PY_RESUME, self._enter),
            (events.PY_THROW, self._enter),
            (events.LINE, self._line),
            (events.PY_RETURN, self._leave),
            (events.PY_YIELD, self._leave),
            (events.PY_UNWIND, self._unwind),
        ):
            _monitoring.register_callback(self._tool, event, callback)
        self._follow_running(frame)

    def stop(self) -> None:
        """Follow nothing any more."""
        if not self.running:
            return
        self.running = False
        self._no_events()
        _monitoring.free_tool_id(self._tool)
        self.log.end()

    def pause(self) -> None:
        """Follow nothing for a while."""
        if self.running:
            self._no_events()
            self.log.interrupt()

    def resume(self, frame: FrameType | None) -> None:
        """Go on after `pause`; the user's frames from one outwards run already."""
        if self.running:
            self._follow_running(frame)

    def _follow_running(self, frame: FrameType | None) -> None:
        for running in self.user_frames(frame):
            self._follow(running.f_code)
            self._add(self.log, running)
        _monitoring.set_events(self._tool, self._global_events)

    def _no_events(self) -> None:
        _monitoring.set_events(self._tool, 0)
        for code in self._codes.values():
            _monitoring.set_local_events(self._tool, code, 0)
        self._codes.clear()

    def _follow(self, code: CodeType) -> None:
        if id(code) not in self._codes:
            self._codes[id(code)] = code
            _monitoring.set_local_events(self._tool, code, self._local_events)

    def _add(self, log: LineLog, frame: FrameType) -> None:
        live = log.live
        outer = frame.f_back
        while outer is not None and outer not in live:
            outer = outer.f_back
        if outer is None:
            chain = self.chains.number(0, 0, frame.f_code)
        else:
            chain = self.chains.number(live[outer][0], outer.f_lineno, frame.f_code)
        log.activations += 1
        live[frame] = [chain, log.activations, frame.f_lineno]

    def _write(self, log: LineLog, chain: int, line: int, activation: int) -> int:
        number = log.counter()
        if log.numbers and log.numbers[-1] == number:
            log.sites[-1] = (chain, line, activation)
        else:
            log.numbers.append(number)
            log.sites.append((chain, line, activation))
            if len(log.numbers) > MOST_ENTRIES:
                log.forget_older_half()
        return number

    # ---------------------------------------------------------------------- callbacks

    def _enter(self, code: CodeType, offset: int, error: object = None) -> object:
        if not self.is_user_file(code.co_filename):
            # PY_THROW cannot be switched off for one place
            return _monitoring.DISABLE if error is None else None
        self._follow(code)
        self._add(self.log, sys._getframe(1))
        return None

    def _line(self, code: CodeType, line: int) -> None:
        log = self.log
        state = log.live.get(sys._getframe(1))
        if state is None:
            return
        number = self._write(log, state[0], line, state[1])
        if line <= state[2]:
            log.go_back(number, state[0], state[1], line)
        state[2] = line

    def _leave(self, code: CodeType, offset: int, value: object) -> None:
        self._left(sys._getframe(1))

    def _unwind(self, code: CodeType, offset: int, error: BaseException) -> None:
        if id(code) in self._codes:
            self._left(sys._getframe(1))

    def _left(self, frame: FrameType) -> None:
        """The caller's line goes on making nodes: f(x) + g(y)."""
        log = self.log
        live = log.live
        live.pop(frame, None)
        outer = frame.f_back
        while outer is not None and outer not in live:
            outer = outer.f_back
        if outer is not None:
            state = live[outer]
            self._write(log, state[0], outer.f_lineno, state[1])
        elif self.at_thread_end is not None:
            if threading.current_thread() is not threading.main_thread():
                self.at_thread_end(frame)
