"""One watched run of a program: started, traced, recorded, and ended like a plain one."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from retrograd.doctor.model import Place
from retrograd.doctor.second_pass.runner import Runner
from retrograd.doctor.watching.effects import Effects, Told, listen
from retrograd.doctor.watching.engines import Engine
from retrograd.doctor.watching.lines import Tracer
from retrograd.doctor.watching.recorder import Recorder

SecondPass = Callable[[dict[str, Any]], dict[str, Any] | None]


@dataclass
class Warned:
    """A warning as it was shown, with the user's lines that led to it."""

    message: str
    category: type[Warning]
    stack: list[Place]  # outermost first


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


_LIBRARIES = tuple(
    os.path.join(os.path.realpath(path), "")
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        os.fspath(Path(__file__).resolve().parent.parent),
    }
)


def is_user_file(file: str) -> bool:
    """Whether a file belongs to the user, and not to Python, an installed package or retrograd."""
    if file.startswith("<"):
        return False
    real = os.path.realpath(file)
    if real.startswith(_LIBRARIES):
        return False
    return f"{os.sep}site-packages{os.sep}" not in real


def make(engine: Engine) -> Watched:
    """A tracer and a recorder for an engine; nothing is watched yet."""
    tracer = Tracer(engine.counter, is_user_file)
    return Watched(engine, tracer, Recorder(engine, tracer))


def run_script(watched: Watched, script: Path, arguments: list[str]) -> None:
    """Run a script as `python script arguments` would, watched.

    Its exception is kept in `watched.error`, with the traceback of its own frames.
    """
    module = types.ModuleType("__main__")
    module.__file__ = os.fspath(script)
    module.__dict__["__builtins__"] = __builtins__
    before = sys.argv, sys.path[0], sys.modules["__main__"]
    sys.argv = [os.fspath(script), *arguments]
    sys.path[0] = os.fspath(script.resolve().parent)
    sys.modules["__main__"] = module
    if watched.second_pass is None:
        watched.second_pass = Runner(watched, script, arguments)
    stop_noting = _note_warnings(watched)
    started = time.perf_counter()
    try:
        code = compile(script.read_bytes(), os.fspath(script), "exec")
        watched.recorder.install()
        if watched.effects_told is None:
            watched.effects.start()
        else:
            listen(watched.effects_told)
        watched.tracer.start()
        exec(code, module.__dict__)
    except SystemExit as error:
        watched.status = _status_of(error)
    except BaseException as error:
        watched.error = _without_own_frames(error)
        watched.status = 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        watched.tracer.stop()
        watched.recorder.enabled = False
        watched.effects.stop()
        watched.recorder.remove()
        stop_noting()
        watched.seconds = time.perf_counter() - started
        sys.argv, sys.path[0], sys.modules["__main__"] = before


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
        watched.warned.append(Warned(str(message), category, log.places_of(log.here())))
        original(message, category, filename, lineno, file, line)

    warnings.showwarning = show

    def stop() -> None:
        if warnings.showwarning is show:  # else the program has put its own in place
            warnings.showwarning = original

    return stop


def _status_of(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    print(error.code, file=sys.stderr)
    return 1


def _without_own_frames(error: BaseException) -> BaseException:
    """The error with a traceback that begins in the program."""
    trace = error.__traceback__
    while trace is not None and not is_user_file(trace.tb_frame.f_code.co_filename):
        if trace.tb_next is None:
            return error  # a SyntaxError of the script itself has no frame of its own
        trace = trace.tb_next
    return error.with_traceback(trace)
