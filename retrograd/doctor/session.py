"""One watched run of a program: started, traced, recorded, and ended like a plain one."""

from __future__ import annotations

import builtins
import os
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence.grad_reads import NON_LEAF_GRAD, maker_of_read
from retrograd.doctor.result import Result
from retrograd.doctor.second_pass.runner import Runner
from retrograd.graph.program_record import ProgramRecord
from retrograd.graph.schema import Recording
from retrograd.watching.effects import Effects, Told, listen, watch_library
from retrograd.watching.endings import first_line, reason_of_exit, status_of, strip_own_frames
from retrograd.watching.engines import Engine
from retrograd.watching.lines import Tracer
from retrograd.watching.monitoring import make_tracer
from retrograd.watching.places import is_user_file_or_in
from retrograd.watching.recorder import Recorder

SecondPass = Callable[[dict[str, Any]], dict[str, Any] | None]


@dataclass
class Warned:
    """A warning as it was shown, with the user's lines that led to it."""

    message: str
    category: type[Warning]
    stack: list[Place]  # outermost first
    made: list[Place] = field(default_factory=list)  # the stack that made the tensor it is about
    whole: bool = False  # that tensor is the value of its line, not a part of it


@dataclass
class Watched:
    """What the rules look at: the recorder with its logs, and how the program ended."""

    engine: Engine
    tracer: Tracer
    recorder: Recorder
    error: BaseException | None = None  # that left the program, SystemExit apart
    status: int = 0  # exit status of the program
    seconds: float = 0.0
    warned: list[Warned] = field(default_factory=list)
    effects: Effects = field(default_factory=Effects)  # on files, processes, sockets
    effects_told: Told | None = None  # called at each effect instead; it may end the run
    second_pass: SecondPass | None = None  # runs the program again with heavy modes, if allowed
    unseen: list[str] = field(default_factory=list)  # what could not be looked at, and why
    whole_program: bool = False  # the command watches, not a block in the program
    record: ProgramRecord | None = None  # of the graph's life, where a picture of it is asked for
    graph: Recording | str = "it was not asked for"  # what it gave, or why there is none
    undo: list[Callable[[], None]] = field(default_factory=list)  # of what `begin` put in place

    def note_training(self, result: Result) -> None:
        """What two runs of one program are compared by."""
        recorder = self.recorder
        result.calls = len(recorder.calls)
        result.gradients = recorder.gradients.who_received()
        result.courses, result.losses, result.doubled = recorder.training()


def make(engine: Engine, own: tuple[str, ...] = ()) -> Watched:
    """A tracer and a recorder for an engine; nothing is watched yet.

    Files below the folders `own` are the user's wherever they are installed.
    """
    tracer = make_tracer(engine.counter, is_user_file_or_in(own))
    return Watched(engine, tracer, Recorder(engine, tracer))


def begin(watched: Watched, frame: FrameType | None = None) -> None:
    """Watch from now on: this thread and those that it starts.

    The user's functions that are already running, from `frame` outwards, are taken in.
    """
    global _current
    _current = watched
    watched.recorder.install()
    if not watched.whole_program:
        watched.recorder.take_in()
    watched.undo.append(_note_warnings(watched))
    watched.undo.append(_note_threads(watched))
    watched.undo.append(watch_library(watched.engine.torch))
    _stop_in_forked_children()
    watched.tracer.start(frame)
    if watched.record is not None:  # last: it takes lines from the log that now runs
        try:
            watched.record.begin(watched.engine, frame)
        except Exception as error:
            watched.record, watched.graph = None, f"the recorder failed: {first_line(error)}"


def end(watched: Watched) -> None:
    """Watch no more; what was seen stays."""
    global _current
    _end_record(watched)
    watched.tracer.stop()
    watched.recorder.enabled = False
    watched.recorder.remove()
    while watched.undo:
        watched.undo.pop()()
    for sentence in watched.tracer.unseen:
        if sentence not in watched.unseen:
            watched.unseen.append(sentence)
    _note_caught(watched)
    _current = None


def _end_record(watched: Watched) -> None:
    """The graph's life as data; the record goes, so that nobody finds what it refers to."""
    record, watched.record = watched.record, None
    if record is not None:
        try:
            watched.graph = record.end(watched.error)
        except Exception as error:
            watched.graph = f"the recorder failed: {first_line(error)}"


def _note_caught(watched: Watched) -> None:
    """Say that a backward call failed, though the program has gone on."""
    failure = watched.recorder.failure
    if failure is None or watched.error is not None:
        return
    places = failure.call.log.places_of(failure.call.stack)
    where = f" in line {places[-1].line} of {os.path.basename(places[-1].file)}" if places else ""
    line = f"{type(failure.error).__name__}: {failure.error}".splitlines()[0]
    watched.unseen.append(f"why a backward call failed{where}: the program caught {line[:90]}")


_current: Watched | None = None
_forks_are_noticed = False


def current() -> Watched | None:
    """The run that is watched now."""
    return _current


def _stop_in_forked_children() -> None:
    """A data loading worker is a copy of this process that nobody asks anything."""
    global _forks_are_noticed

    def after_fork() -> None:
        if _current is not None:
            _current.record = None
            end(_current)

    if not _forks_are_noticed and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_fork)
        _forks_are_noticed = True


def _note_threads(watched: Watched) -> Callable[[], None]:
    """Keep the autograd error that ends a thread; it is printed as before."""
    original = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        error = args.exc_value
        if error is not None:
            strip_own_frames(error)
            failure = watched.recorder.failure
            if watched.error is None and failure is not None and failure.error is error:
                watched.error = error
            kind = (args.exc_type, error, error.__traceback__, args.thread)
            args = threading.ExceptHookArgs(kind)
        original(args)

    threading.excepthook = hook

    def stop() -> None:
        if threading.excepthook is hook:  # else the program has put its own in place
            threading.excepthook = original

    return stop


def run_script(watched: Watched, script: Path, arguments: list[str]) -> None:
    """Run a script as `python script arguments` would, watched.

    Its exception is kept in `watched.error`, with the traceback of its own frames.
    """
    module = types.ModuleType("__main__")
    module.__file__ = os.fspath(script)
    module.__dict__["__builtins__"] = builtins
    before = sys.argv, sys.path[0], sys.modules["__main__"]
    sys.argv = [os.fspath(script), *arguments]
    sys.path[0] = os.fspath(script.resolve().parent)
    sys.modules["__main__"] = module
    if watched.second_pass is None:
        watched.second_pass = Runner(watched, script, arguments)
    started = time.perf_counter()
    try:
        code = compile(script.read_bytes(), os.fspath(script), "exec")
        if watched.effects_told is None:
            watched.effects.start()
        else:
            listen(watched.effects_told)
        begin(watched)
        exec(code, module.__dict__)
    except BaseException as error:
        note_end(watched, error)
    finally:
        watched.effects.stop()
        end(watched)
        watched.seconds = time.perf_counter() - started
        sys.argv, sys.path[0], sys.modules["__main__"] = before


def note_end(watched: Watched, error: BaseException) -> None:
    """Keep what ended the program."""
    if isinstance(error, SystemExit):
        watched.status = status_of(error)
        watched.error = reason_of_exit(error)
        return
    watched.error = strip_own_frames(error)
    watched.status = 130 if isinstance(error, KeyboardInterrupt) else 1


def _note_warnings(watched: Watched) -> Callable[[], None]:
    """Write down each warning that is shown, and show it as before; the result ends that."""
    original = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        log = watched.tracer.log
        warned = Warned(str(message), category, log.places_of(log.here()))
        if NON_LEAF_GRAD in warned.message:
            warned.made, warned.whole = maker_of_read(log, watched.engine.torch.Tensor)
        watched.warned.append(warned)
        original(message, category, filename, lineno, file, line)

    warnings.showwarning = show

    def stop() -> None:
        if warnings.showwarning is show:  # else the program has put its own in place
            warnings.showwarning = original

    return stop
