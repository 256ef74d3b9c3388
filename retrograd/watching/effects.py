"""What a program does to the world outside: it decides whether running it again is harmless.

Files, processes, sockets and `input()` are seen through Python's audit events. A hook cannot be
taken away again, so one is installed per process and asks whether anybody listens.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

_PROCESSES = ("subprocess.Popen", "os.system", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec")
_LOADER = os.path.join("utils", "data", "dataloader.py")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REMOVING = ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "shutil.move", "os.truncate")

Told = Callable[[str], None]
_listener: Told | None = None
_hooked = False
_harmless: list[str] = []  # folders in which files may be written


class Effects:
    """A set of sentences about one run: "it wrote log.csv", "it started a process"."""

    def __init__(self) -> None:
        self.seen: dict[str, None] = {}

    def start(self) -> None:
        """Listen from now on."""
        listen(self._note)

    def stop(self) -> None:
        """Stop listening."""
        listen(None)
        if _stdin_was_read():
            self._note("it read its standard input")

    def _note(self, sentence: str) -> None:
        if len(self.seen) < 20:
            self.seen[sentence] = None


def listen(told: Told | None) -> None:
    """Call `told` with a sentence about each effect; it may raise to forbid it. None: stop."""
    global _listener, _hooked
    if told is not None:
        _harmless[:] = _caches()
    _listener = told
    if told is not None and not _hooked:
        sys.addaudithook(_hook)
        _hooked = True


def watch_saving(torch: object) -> Callable[[], None]:
    """`torch.save` opens its file below Python, where no event is heard: hear of it here."""
    module = getattr(torch, "serialization", None)
    original = getattr(module, "_open_zipfile_writer", None)
    if module is None or original is None:
        return lambda: None

    def opened(name_or_buffer: object) -> object:
        if isinstance(name_or_buffer, (str, os.PathLike)):
            _hook("open", (name_or_buffer, "wb", os.O_WRONLY | os.O_CREAT))
        return original(name_or_buffer)

    module._open_zipfile_writer = opened

    def undo() -> None:
        module._open_zipfile_writer = original

    return undo


def _hook(event: str, args: tuple[object, ...]) -> None:
    if _listener is None:
        return
    if event == "open":
        path, _, flags = args
        if isinstance(flags, int) and flags & _WRITING and not _is_harmless(path):
            _listener(f"it wrote {_short(path)}")
    elif event in _PROCESSES:
        if not _loads_data():
            _listener("it started a process")
    elif event == "socket.connect" or event == "socket.bind":
        if isinstance(args[1], tuple):  # the address of a socket within this machine is a path
            _listener("it opened a socket")
    elif event == "builtins.input":
        _listener("it read its standard input")
    elif event in _REMOVING and not _is_harmless(args[0]):
        _listener(f"it removed or moved {_short(args[0])}")


def _loads_data() -> bool:
    """Whether a DataLoader is starting its workers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(_LOADER):
            return True
        frame = frame.f_back
    return False


def _short(path: object) -> str:
    return os.path.basename(os.fsdecode(path)) if isinstance(path, (str, bytes)) else "a file"


def _is_harmless(path: object) -> bool:
    """Temporary files, Python's and other caches, devices, and files that are already open."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return True
    text = os.path.abspath(os.fsdecode(path))
    if f"{os.sep}__pycache__{os.sep}" in text or text.startswith("/dev/"):
        return True
    return text.startswith(tuple(_harmless))


def _caches() -> list[str]:
    """The temporary folder and the user's caches."""
    folders = [tempfile.gettempdir(), os.environ.get("XDG_CACHE_HOME", "")]
    folders.append(os.fspath(Path.home() / ".cache"))
    return [os.path.join(os.path.abspath(folder), "") for folder in folders if folder]


def _stdin_was_read() -> bool:
    """Whether a file given as standard input has been read; of a pipe nobody can tell."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR) > 0 and not os.isatty(0)
    except OSError:
        return False
