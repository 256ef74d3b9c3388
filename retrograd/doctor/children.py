"""Processes that the program starts to train in: ranks of a group, and those of `mp.spawn`.

A launcher such as `torch.distributed.run` calls no backward itself. The environment of the program
makes each Python that it starts read a small file first; one that is to train in a group is watched
from its import of torch on, and leaves its findings in a file of its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retrograd.doctor.model import Diagnosis
from retrograd.doctor.pulse import Pulse
from retrograd.doctor.ranks import Rank, failures, parted, ranks_of
from retrograd.doctor.result import Result, result_from
from retrograd.doctor.watched_process import Watch
from retrograd.watching import source
from retrograd.watching.endings import first_line, strip_own_frames
from retrograd.watching.engines import Engine, TorchEngine
from retrograd.watching.exchanges import Exchanges
from retrograd.watching.program_run import AfterImport, tell_at_the_end
from retrograd.watching.replacing import replaced

HOOK = "sitecustomize.py"  # Python imports it before the program

_TEXT = '''\
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_own = sys.modules["sitecustomize"]
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _here]
del sys.modules["sitecustomize"]
try:
    import sitecustomize  # the one that this file hides
except ImportError:
    pass
sys.modules.setdefault("sitecustomize", _own)


class _Waits:
    """Until torch is imported: most processes that a program starts have no need of it."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        if "RANK" not in os.environ and "--multiprocessing-fork" not in sys.orig_argv:
            return None
        sys.path.append({root!r})
        try:
            from retrograd.doctor.children import attach

            return attach(_here).find_spec(name, path, target)
        except Exception:
            return None
        finally:
            sys.path.remove({root!r})


sys.meta_path.insert(0, _Waits())
'''


def watch_children(folder: Path) -> None:
    """Let the Pythons that this process starts from now on be watched."""
    hooks = folder / "children"
    hooks.mkdir(exist_ok=True)
    root = os.fspath(Path(__file__).resolve().parents[2])
    (hooks / HOOK).write_text(_TEXT.replace("{root!r}", repr(root)), encoding="utf-8")
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([os.fspath(hooks), *filter(None, [before])])


def attach(folder: str) -> AfterImport:
    """In such a process: watch from the import of torch that begins now."""
    run = Attached(Path(folder))
    tell_at_the_end(run)
    finder = AfterImport("torch", lambda: run.begin(TorchEngine()))
    sys.meta_path.insert(0, finder)
    return finder


class Attached(Watch):
    """A process whose program Python runs itself."""

    def __init__(self, folder: Path) -> None:
        self.folder_of_all = folder
        answer = folder / f"process-{os.getpid()}.json"
        asked: dict[str, object] = {"script": None, "module": None, "arguments": []}
        asked |= {"engine": "torch", "second_pass": False, "answer": os.fspath(answer)}
        super().__init__(asked)
        self.exchanges: Exchanges | None = None
        original = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, trace: object) -> None:
            self.keep(error)
            original(kind, error, error.__traceback__)

        sys.excepthook = hook

    def keep(self, error: BaseException) -> None:
        """Keep the error that ends this process."""
        self.error, self.shown = strip_own_frames(error), first_line(error)
        self.status = 130 if isinstance(error, KeyboardInterrupt) else 1

    def begin(self, engine: Engine) -> None:
        """Watch; this process has no time of its own, and starts none that are watched."""
        self.start_watching(engine)
        assert self.watched is not None
        recorder, undo = self.watched.recorder, self.watched.undo
        recorder.pulse = Pulse(self._write_interim)
        self.exchanges = Exchanges(
            engine, lambda: recorder.log, recorder.if_enabled, self.folder_of_all
        )
        undo += self.exchanges.install()
        spawn: Any = engine.torch.multiprocessing.spawn
        undo.append(replaced(sys.modules[spawn.__module__], "_wrap", self._noting(spawn)))

    def _noting(self, spawn: Any) -> Callable[..., object]:
        """`mp.spawn` catches the error of its function, and hands on the text."""
        original = sys.modules[spawn.__module__]._wrap

        def _wrap(function: Callable[..., object], *given: Any) -> object:
            def noting(*args: Any) -> None:
                try:
                    function(*args)
                except BaseException as error:
                    self.keep(error)
                    raise

            return original(noting, *given)

        return _wrap

    def rank(self) -> str:
        """As the group says it: `mp.spawn` sets no variable."""
        told = "" if self.exchanges is None else self.exchanges.rank()
        return told or super().rank()

    def write(self, result: Result) -> None:
        """Nothing to tell of a process that did not train."""
        result.rank = self.rank()
        if result.calls or result.diagnoses or (self.exchanges and self.exchanges.rank()):
            super().write(result)


# ---------------------------------------------------------------------------- their reports


def add_children(result: Result, folder: Path) -> None:
    """Make one report of the program's and those of the processes that it started."""
    folder = folder / "children"
    found = [_read(file) for file in sorted(folder.glob("process-*.json"))]
    results = {process: child for process, child in found if child is not None}
    children = sorted(results.values(), key=_order)
    for child in children:
        name = _name(child)
        result.texts.update(child.texts)
        result.calls += child.calls
        result.unseen += [f"{name}: {sentence}" for sentence in child.unseen]
    for diagnosis, names in _together(children):
        diagnosis.notes.append(f"seen in {' and '.join(names)}")
        result.diagnoses.append(diagnosis)
    _compare(result, ranks_of(folder, results))
    idle = "the program did not call backward"
    if children and idle in result.unseen:
        result.unseen.remove(idle)
    elif idle in result.unseen and "it started a process" in result.effects:
        result.unseen.append("what the processes did that it started: they were not watched")


def _compare(result: Result, ranks: list[Rank]) -> None:
    """What only all processes of a group together can tell."""
    failed = failures(ranks)
    result.failures += [f"rank {rank.number} ended by {error}" for rank, error in failed]
    try:
        found = None if result.diagnoses else parted(ranks)
    except Exception as error:
        result.unseen.append(f"the doctor failed here: ranks: {type(error).__name__}: {error}")
        return
    if found is not None:
        found.error = failed[0][1] if failed else "the program did not end"
        result.diagnoses.append(found)
        result.keep_texts(source.text_at)


def _order(child: Result) -> tuple[int, str]:
    return (int(child.rank) if child.rank.isdigit() else -1, child.rank)


def _together(children: list[Result]) -> list[tuple[Diagnosis, list[str]]]:
    """Findings of one cause at one line are one finding, of several processes."""
    found: dict[object, tuple[Diagnosis, list[str]]] = {}
    for child in children:
        for diagnosis in child.diagnoses:
            key = diagnosis.cause, diagnosis.error_line, tuple(diagnosis.created_at)
            found.setdefault(key, (diagnosis, []))[1].append(_name(child))
    return list(found.values())


def _name(child: Result) -> str:
    return f"rank {child.rank}" if child.rank else "a process that it started"


def _read(file: Path) -> tuple[int, Result | None]:
    """What a process has told, with its number."""
    process = int(file.stem.rpartition("-")[2])
    try:
        return process, result_from(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # killed while it wrote
        return process, None
