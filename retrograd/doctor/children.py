"""Processes that the program starts to train in: ranks of a group, and those of `mp.spawn`.

A launcher such as `torch.distributed.run` calls no backward itself. The environment of the program
makes each Python that it starts read a small file first; one that is to train in a group is watched
from its import of torch on, and leaves its findings in a file of its own.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from retrograd.doctor.model import Diagnosis
from retrograd.doctor.pulse import Pulse
from retrograd.doctor.result import Result, result_from
from retrograd.doctor.watched_process import Watch
from retrograd.watching.endings import first_line, strip_own_frames
from retrograd.watching.engines import Engine, TorchEngine
from retrograd.watching.program_run import AfterImport, tell_at_the_end

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
        answer = folder / f"process-{os.getpid()}.json"
        asked: dict[str, object] = {"script": None, "module": None, "arguments": []}
        asked |= {"engine": "torch", "second_pass": False, "answer": os.fspath(answer)}
        super().__init__(asked)
        original = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, trace: object) -> None:
            self.error, self.shown = strip_own_frames(error), first_line(error)
            self.status = 130 if isinstance(error, KeyboardInterrupt) else 1
            original(kind, error, error.__traceback__)

        sys.excepthook = hook

    def begin(self, engine: Engine) -> None:
        """Watch; this process has no time of its own, and starts none that are watched."""
        self.start_watching(engine)
        assert self.watched is not None
        self.watched.recorder.pulse = Pulse(self._write_interim)

    def write(self, result: Result) -> None:
        """Nothing to tell of a process that did not train."""
        result.rank = os.environ.get("RANK", "")
        if result.calls or result.diagnoses:
            super().write(result)


# ---------------------------------------------------------------------------- their reports


def add_children(result: Result, folder: Path) -> None:
    """Make one report of the program's and those of the processes that it started."""
    found = [_read(file) for file in sorted((folder / "children").glob("process-*.json"))]
    children = sorted((child for child in found if child), key=lambda child: child.rank)
    for child in children:
        name = _name(child)
        result.texts.update(child.texts)
        result.calls += child.calls
        result.unseen += [f"{name}: {sentence}" for sentence in child.unseen]
    for diagnosis, names in _together(children):
        diagnosis.notes.append(f"seen in {' and '.join(names)}")
        result.diagnoses.append(diagnosis)
    idle = "the program did not call backward"
    if children and idle in result.unseen:
        result.unseen.remove(idle)
    elif idle in result.unseen and "it started a process" in result.effects:
        result.unseen.append("what the processes did that it started: they were not watched")


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


def _read(file: Path) -> Result | None:
    try:
        return result_from(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # killed while it wrote
        return None
