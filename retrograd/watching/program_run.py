"""One program from its start to its end, watched from the moment it imports torch.

Nothing is traced before the program has imported torch itself: what it does first, such as setting
environment variables, has its effect. What was seen is told in the first registered exit function,
which runs last, when the program's threads have ended and its own exit functions have run.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from retrograd.watching import source
from retrograd.watching.endings import first_line, reason_of_exit, status_of, strip_own_frames
from retrograd.watching.engines import Engine, RetrogradEngine, TorchEngine
from retrograd.watching.processes import obey_the_clock
from retrograd.watching.program import NoSuchProgram, Prepared, Program, has_torch, prepare


class ProgramRun:
    """Runs a program; those who watch it say in `begin` and `tell` what they do."""

    def __init__(self, program: Program, engine: str | None) -> None:
        self.program = program
        self.engine = engine
        self.process = os.getpid()
        self.own: tuple[str, ...] = ()  # folders whose files are the user's wherever they are
        self.script = "" if program.script is None else os.path.abspath(program.script)
        self.namespace: dict[str, Any] = {}
        self.found = True  # there is such a program
        self.status = 0
        self.error: BaseException | None = None
        self.shown = ""  # the first line of the error that was printed
        self.left_early = False  # by os._exit
        self.ended: Path | None = None  # a file to be made when the program has ended

    def begin(self, engine: Engine) -> None:
        """The program has the library now."""
        raise NotImplementedError

    def before(self) -> None:
        """The program is about to start."""

    def after(self) -> None:
        """Its own code has ended; threads and exit functions may still run."""

    def tell(self) -> None:
        """Everything has ended."""
        raise NotImplementedError

    def run(self) -> int:
        """Run the program; the result is its exit status."""
        try:
            prepared = prepare(self.program)
            self.namespace = prepared.namespace
            self.script = prepared.namespace["__file__"]
            source.tree_of(self.script)  # the text that runs: it may be gone at the end
            self._choose_engine(prepared)
            self.before()
            exec(prepared.code, prepared.namespace)
        except NoSuchProgram as error:
            print(f"{sys.executable}: {error}", file=sys.stderr)
            self.found = False
            self.status = 1
        except SystemExit as error:
            self.status = status_of(error)
            self.error = reason_of_exit(error)
        except BaseException as error:
            self.error = strip_own_frames(error)
            self.status = 130 if isinstance(error, KeyboardInterrupt) else 1
            self.show(error)
        self.after()
        return self.status

    def show(self, error: BaseException) -> None:
        """Print the error as Python does, by the hook that the program may have put there."""
        self.shown = first_line(error)
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:
            sys.__excepthook__(type(error), error, error.__traceback__)

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
            sys.meta_path.insert(0, AfterImport("torch", lambda: self.begin(TorchEngine())))


def run_to_the_end(run: ProgramRun) -> int:
    """Run the program of this process, and tell when everything in it has ended, however."""
    tell_at_the_end(run)
    obey_the_clock()
    return run.run()


def tell_at_the_end(run: ProgramRun) -> None:
    """Tell when everything in this process has ended, however."""
    told = False
    put_back = _as_python_was()

    def tell() -> None:
        nonlocal told
        if os.getpid() != run.process or told:
            return  # a copy of the process, made by the program
        told = True
        put_back()
        if run.ended is not None:
            run.ended.touch()
        run.tell()

    atexit.register(tell)  # the first to be registered runs last
    leave = os._exit

    def leave_at_once(status: int) -> None:
        if os.getpid() == run.process and threading.current_thread() is threading.main_thread():
            run.status, run.left_early = status, True
            tell()
        leave(status)

    os._exit = leave_at_once  # type: ignore[assignment]


def _as_python_was() -> Callable[[], None]:
    """Puts back what a program has replaced in Python itself, such as `builtins.open`."""
    before = [(vars(module), dict(vars(module))) for module in (builtins, io, os)]

    def put_back() -> None:
        for now, then in before:
            now.update(then)

    return put_back


def imports_retrograd(file: str) -> bool:
    """Whether a program is written for retrograd: it imports it, and not torch."""
    heads = set()
    for node in ast.walk(source.tree_of(file)):
        if isinstance(node, ast.Import):
            heads |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            heads.add((node.module or "").partition(".")[0])
    return "retrograd" in heads and "torch" not in heads


class AfterImport(MetaPathFinder):
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

    def __init__(self, loader: Any, finder: AfterImport) -> None:
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
