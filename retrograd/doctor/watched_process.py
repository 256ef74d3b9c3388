"""Inside the process of the program: watch from the moment it imports torch, tell at the very end.

Nothing is traced before the program has imported torch itself: what it does first, such as setting
environment variables, has its effect. The diagnosis is made in the first registered exit function,
which runs last, when the program's threads have ended and its own exit functions have run. It goes
into a file; the process that started this one makes the report of it.
"""

from __future__ import annotations

import ast
import atexit
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from retrograd.doctor import rules, session
from retrograd.doctor.program import NoSuchProgram, Prepared, Program, has_torch, prepare
from retrograd.doctor.result import Result, as_json, write_atomically
from retrograd.doctor.second_pass.runner import Runner
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.effects import Effects
from retrograd.watching.engines import Engine, RetrogradEngine, TorchEngine


class Watch:
    """One program from its start to its end."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.program = Program(config["script"], config["module"], tuple(config["arguments"]))
        self.engine: str | None = config["engine"]
        self.again: bool | None = config["second_pass"]
        self.answer = Path(config["answer"])
        self.begun = self.answer.with_name("begun")  # tells the process that waits
        self.folder = os.getcwd()
        self.process = os.getpid()
        self.effects = Effects()
        self.watched: Watched | None = None
        self.result = Result()
        self.own: tuple[str, ...] = ()
        self.told = False
        self.started = time.perf_counter()
        self._error: BaseException | None = None

    # --------------------------------------------------------------------------- running

    def run(self) -> int:
        """Run the program; the result is its exit status."""
        status = 0
        if self.program.script is not None:
            self.result.script = os.path.abspath(self.program.script)
        try:
            prepared = prepare(self.program)
            self.result.script = prepared.namespace["__file__"]
            source.tree_of(self.result.script)  # the text that runs: it may be gone at the end
            self._choose_engine(prepared)
            self.effects.start()
            exec(prepared.code, prepared.namespace)
        except NoSuchProgram as error:
            print(f"{sys.executable}: {error}", file=sys.stderr)
            self.result.started = False
            status = 1
        except SystemExit as error:
            status = session.status_of(error)
            self._error = session.reason_of_exit(error)
        except BaseException as error:
            self._error = session.strip_own_frames(error)
            status = 130 if isinstance(error, KeyboardInterrupt) else 1
            self._show(error)
        if self.watched is not None:
            self.watched.tracer.stop()
        self.result.status = status
        return status

    def _show(self, error: BaseException) -> None:
        """Print the error as Python does, by the hook that the program may have put there."""
        self.result.error = first_line(error)
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:
            sys.__excepthook__(type(error), error, error.__traceback__)

    # --------------------------------------------------------------------------- engines

    def _choose_engine(self, prepared: Prepared) -> None:
        if self.program.module is not None:
            self.own = (os.path.dirname(os.path.abspath(prepared.namespace["__file__"])),)
        wanted = self.engine
        if wanted is None and not has_torch():
            wanted = "retrograd"
        if wanted is None and imports_retrograd(prepared.namespace["__file__"]):
            self.begin(RetrogradEngine())
        elif wanted == "retrograd":
            from retrograd.running.as_torch import install, pass_on

            install()
            pass_on()
            self.begin(RetrogradEngine())
        elif "torch" in sys.modules:  # a .pth file or sitecustomize has imported it
            self.begin(TorchEngine())
        else:
            sys.meta_path.insert(0, _AfterImport("torch", lambda: self.begin(TorchEngine())))

    def begin(self, engine: Engine) -> None:
        """The program has the library now: watch, and count its time from here."""
        self.started = time.perf_counter()
        self.begun.touch()
        self.result.engine = "torch" if isinstance(engine, TorchEngine) else "retrograd"
        self.watched = session.make(engine, self.own)
        self.watched.effects = self.effects
        self.watched.whole_program = True
        session.begin(self.watched, sys._getframe(1))

    # ------------------------------------------------------------------------------- end

    def tell(self) -> None:
        """Look at what was seen, and write it down for the process that waits."""
        if os.getpid() != self.process or self.told:
            return  # a copy of the process, made by the program
        self.told = True
        self.effects.stop()
        result = self.result
        result.seconds = time.perf_counter() - self.started
        result.effects = list(self.effects.seen)
        if self.watched is not None:
            self._diagnose(self.watched, result)
        elif result.started:
            result.unseen.append("the program did not import torch")
        self.write(result)

    def write(self, result: Result) -> None:
        """Write the answer."""
        write_atomically(self.answer, as_json(result.to_data()))

    def _diagnose(self, watched: Watched, result: Result) -> None:
        try:
            os.chdir(self.folder)  # where a second run has to start
            watched.error = self._error or watched.error or self._caught(watched)
            session.end(watched)
            watched.status = result.status
            watched.seconds = result.seconds
            result.calls = len(watched.recorder.calls)
            result.gradients = watched.recorder.gradients.who_received()
            if self.program.script is not None and self.again is not False:
                script = Path(os.path.abspath(self.program.script))
                runner = Runner(watched, script, list(self.program.arguments))
                runner.forced = self.again is True
                watched.second_pass = runner
            result.diagnoses = rules.diagnose(watched)
            if not (result.calls or result.diagnoses):
                result.unseen.append("the program did not call backward")
            result.keep_texts(source.text_at)
            if watched.error is not None and not result.error:
                result.error = first_line(watched.error)
        except Exception as error:
            watched.unseen.append(f"the doctor failed here: {type(error).__name__}: {error}")
        result.unseen += [sentence for sentence in watched.unseen if sentence not in result.unseen]

    def _caught(self, watched: Watched) -> BaseException | None:
        """The error of the last backward call, if the program caught it and gave up."""
        failure = watched.recorder.failure
        if failure is None or self.result.status == 0:
            return None
        return failure.error if failure.call is watched.recorder.calls[-1] else None


def first_line(error: BaseException) -> str:
    """`RuntimeError: the first line`."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def imports_retrograd(file: str) -> bool:
    """Whether a program is written for retrograd: it imports it, and not torch."""
    heads = set()
    for node in ast.walk(source.tree_of(file)):
        if isinstance(node, ast.Import):
            heads |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            heads.add((node.module or "").partition(".")[0])
    return "retrograd" in heads and "torch" not in heads


class _AfterImport(MetaPathFinder):
    """Calls a function once a module has been imported, by whomever."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name = name
        self.then = then
        self._searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader around theirs.

        Programs also ask for a spec only to learn whether a package is there.
        """
        if fullname != self.name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Around(spec.loader, self)
        return spec


class _Around(Loader):
    """Loads a module with its own loader, then tells."""

    def __init__(self, loader: Any, finder: _AfterImport) -> None:
        self._loader = loader
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the real loader does."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Import it with its own loader, and begin."""
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
            self._finder.then()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # get_filename, get_source, ...


def main(config: str) -> int:
    """Run the program that a configuration file describes."""
    import json

    asked = json.loads(Path(config).read_text(encoding="utf-8"))
    kind = Watch
    if asked.get("trial"):
        from retrograd.doctor.fixes.trial import Trial

        kind = Trial
    watch = kind(asked)
    atexit.register(watch.tell)  # the first to be registered runs last
    leave = os._exit

    def leave_at_once(status: int) -> None:
        if os.getpid() == watch.process and threading.current_thread() is threading.main_thread():
            watch.result.status = status
            watch.result.unseen.append("what the program left undone: it ended by os._exit")
            watch.tell()
        leave(status)

    os._exit = leave_at_once  # type: ignore[assignment]
    return watch.run()
