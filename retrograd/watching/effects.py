"""What a program does to the world outside: it decides whether running it again is harmless.

Files, processes, sockets, databases, signals and `input()` are seen through Python's audit events:
every event of the modules that reach outside counts, unless it is known to change nothing. What
happens below the events is heard by other means (`watch_library`, `heard_below`), or taken for
granted when the program itself imports a module that does such things unheard. A hook cannot be
taken away again, so one is installed per process and asks whether anybody listens.
"""

from __future__ import annotations

import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from retrograd.watching.places import is_user_file

_REACHING = frozenset(
    "os shutil socket sqlite3 subprocess pty ctypes syslog smtplib ftplib winreg msvcrt".split()
)
"""The modules whose audit events count."""

_CHANGE_NOTHING = frozenset(
    """
    os.add_dll_directory os.chdir os.fwalk os.getxattr os.listdir os.listdrives os.listmounts
    os.listvolumes os.listxattr os.putenv os.scandir os.unsetenv os.walk
    socket.__new__ socket.getaddrinfo socket.gethostbyaddr socket.gethostbyname socket.gethostname
    socket.getnameinfo socket.getservbyname socket.getservbyport
    ctypes.addressof ctypes.create_string_buffer ctypes.create_unicode_buffer ctypes.cdata
    ctypes.cdata/buffer ctypes.get_errno ctypes.get_last_error ctypes.set_errno
    ctypes.set_last_error ctypes.string_at ctypes.wstring_at ctypes.set_exception
    sqlite3.connect/handle sqlite3.enable_load_extension
    shutil.copyfile shutil.copymode shutil.copystat shutil.copytree
    """.split()  # of a copy the open file and its mode are heard
)
_PROCESSES = frozenset(
    """
    subprocess.Popen os.system os.fork os.forkpty os.posix_spawn os.exec os.spawn os.startfile
    pty.spawn
    """.split()
)
_WORDS = {
    "os.mkdir": "made the folder",
    "os.remove": "removed or moved",
    "os.rename": "removed or moved",
    "os.rmdir": "removed or moved",
    "os.truncate": "wrote",
    "os.symlink": "made the link",
    "os.link": "made the link",
    "shutil.rmtree": "removed or moved",
    "shutil.move": "removed or moved",
    "sqlite3.connect": "opened the database",
}
_SECOND = frozenset(["os.symlink", "os.link"])  # the second argument is what comes into being
_BOTH = frozenset(["os.rename", "shutil.move"])
_LOADER = os.path.join("utils", "data", "dataloader.py")
_SHUTIL = os.path.join(os.path.dirname(os.__file__), "shutil.py")
_SHARER = os.path.join("multiprocessing", "resource_sharer.py")
_TRACKER = os.path.join("multiprocessing", "resource_tracker.py")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

UNHEARD = frozenset(
    """
    MySQLdb cffi cv2 deepspeed duckdb grpc h5py horovod lmdb mpi4py netCDF4 polars psycopg psycopg2
    pyarrow pycurl pyodbc ray soundfile tables tensorflow zmq
    """.split()
)
"""Packages that write, send or call below Python, where no event is heard."""

Told = Callable[[str], None]
_listener: Told | None = None
_hooked = False
_harmless: list[str] = []  # folders in which files may be written
_own_temporary: set[str] = set()  # made by `tempfile`, with a name that nobody else has


class Effects:
    """A set of sentences about one run: "it wrote log.csv", "it started a process".

    Copies of the process (workers of a DataLoader) leave theirs in the folder `relay`.
    """

    def __init__(self, relay: Path | None = None) -> None:
        self.seen: dict[str, None] = {}
        self._relay = relay
        self._process = os.getpid()

    def start(self) -> None:
        """Listen from now on."""
        listen(self._note, () if self._relay is None else (self._relay,))

    def stop(self) -> None:
        """Stop listening."""
        listen(None)
        if _stdin_was_read():
            self._note("it read its standard input")
        for name in sorted(_unheard_names()):
            self._note(f"it uses {name}, whose effects cannot be heard")
        if self._relay is not None:
            for file in sorted(self._relay.glob("effects-*")):
                for sentence in file.read_text(encoding="utf-8").splitlines():
                    self._note(sentence)

    def _note(self, sentence: str) -> None:
        if len(self.seen) >= 20 or sentence in self.seen:
            return
        self.seen[sentence] = None
        if self._relay is not None and os.getpid() != self._process:
            file = self._relay / f"effects-{os.getpid()}"
            file.write_text("\n".join(self.seen), encoding="utf-8")


def listen(told: Told | None, harmless: tuple[Path, ...] = ()) -> None:
    """Call `told` with a sentence about each effect; it may raise to forbid it. None: stop.

    In the folders `harmless` anything may be written.
    """
    global _listener, _hooked
    if told is not None:
        _harmless[:] = [*_caches(), *(os.path.join(os.path.abspath(f), "") for f in harmless)]
    _listener = told
    if told is not None and not _hooked:
        sys.addaudithook(_hook)
        _hear_spawning()
        _hooked = True


def heard_below(sentence: str) -> None:
    """Something happened that raises no audit event."""
    if _listener is not None and not _is_called_by(_LOADER):
        _listener(sentence)


# ------------------------------------------------------------------------- below the events


def watch_library(torch: Any) -> Callable[[], None]:
    """PyTorch opens some files and all sockets of process groups below Python: hear of it here."""
    undo: list[Callable[[], None]] = []

    def around(owner: Any, name: str, tell: Callable[..., None]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return

        def called(*args: Any, **keywords: Any) -> object:
            tell(*args)
            return original(*args, **keywords)

        setattr(owner, name, called)
        undo.append(lambda: setattr(owner, name, original))

    def writes(file: object, *rest: object) -> None:
        if isinstance(file, (str, os.PathLike)):
            _hook("open", (file, "wb", os.O_WRONLY | os.O_CREAT))

    def saves(module: object, file: object = "", *rest: object) -> None:
        writes(str(file))

    def joins(*rest: object) -> None:
        heard_below(JOINED)

    around(getattr(torch, "serialization", None), "_open_zipfile_writer", writes)
    if getattr(torch, "__package__", "") == "torch":
        around(getattr(torch.jit, "RecursiveScriptModule", None), "save", saves)
        groups = sys.modules.get("torch.distributed.distributed_c10d")
        around(groups, "_new_process_group_helper", joins)

    def stop() -> None:
        while undo:
            undo.pop()()

    return stop


JOINED = "it joined a process group"


def _hear_spawning() -> None:
    """`multiprocessing` starts spawned processes without an event of `subprocess`."""
    try:
        import _posixsubprocess as module
    except ImportError:  # Windows: there is an event
        return
    start = module.fork_exec

    def fork_exec(*args: Any) -> int:
        if not _is_called_by(_TRACKER):  # it only removes what others leave
            heard_below("it started a process")
        return start(*args)

    module.fork_exec = fork_exec


def _unheard_names() -> Iterator[str]:
    """The packages with effects below Python that the program's own modules have names of."""
    if UNHEARD.isdisjoint(sys.modules):
        return
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and is_user_file(file):
            for value in list(vars(module).values()):
                name = value.__name__ if isinstance(value, types.ModuleType) else None
                name = name or getattr(value, "__module__", None)
                if isinstance(name, str) and name.partition(".")[0] in UNHEARD:
                    yield name.partition(".")[0]


# ---------------------------------------------------------------------------- audit events


def _hook(event: str, args: tuple[Any, ...]) -> None:
    listener = _listener
    if listener is None:
        return
    if event == "open":
        path, _, flags = args
        if isinstance(flags, int) and flags & _WRITING and not _is_harmless(path, flags):
            _tell(listener, f"it wrote {_short(path)}")
        return
    module = event.partition(".")[0]
    if module in _REACHING:
        if event not in _CHANGE_NOTHING:
            sentence = _sentence(event, args)
            if sentence and not _is_called_by(_LOADER):
                _tell(listener, sentence)
    elif module == "tempfile":
        _own_temporary.add(os.path.abspath(os.fsdecode(args[0])))
    elif event == "builtins.input":
        _tell(listener, "it read its standard input")
    elif event == "import" and args[0] in UNHEARD and _imports_itself():
        _tell(listener, f"it uses {args[0]}, whose effects cannot be heard")


def _tell(listener: Told, sentence: str) -> None:
    """Tell it; what the listener does itself is not told."""
    global _listener
    _listener = None
    try:
        listener(sentence)
    finally:
        if _listener is None:
            _listener = listener


def _sentence(event: str, args: tuple[Any, ...]) -> str:
    """What an event means; "" if it changes nothing outside."""
    if event in _PROCESSES:
        return "it started a process"
    if event.startswith("socket."):
        return "" if _is_called_by(_SHARER) else "it opened a socket"
    if event.startswith("ctypes."):
        return "" if _library_calls() else "it called C through ctypes"
    if event in ("os.kill", "os.killpg"):
        return "" if args[1] == 0 or args[0] == os.getpid() else "it sent a signal"
    if event == "sqlite3.connect" and args[0] in (":memory:", b":memory:", ""):
        return ""
    if event == "os.mkdir" and isinstance(args[0], (str, bytes)) and os.path.isdir(args[0]):
        return ""  # it will fail
    if event in ("os.remove", "os.rmdir") and args[-1] != -1 and _is_called_by(_SHUTIL):
        return ""  # `rmtree` was told, and judged by the whole path
    paths = args[:2] if event in _BOTH else args[1:2] if event in _SECOND else args[:1]
    if paths and all(_is_harmless(path) for path in paths):
        return ""
    named = paths and isinstance(paths[0], (str, bytes, os.PathLike))
    name = f" {_short(paths[0])}" if named else ""
    if event in _WORDS:
        return f"it {_WORDS[event]}{name}"
    return f"it called {event} on{name}" if name else f"it called {event}"


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_called_by(file: str) -> bool:
    """Whether a function of a file is running, such as a DataLoader that starts its workers."""
    return any(frame.f_code.co_filename.endswith(file) for frame in _frames())


def _library_calls() -> bool:
    """Whether the libraries that are watched, or Python itself, call C for their own purposes."""
    for frame in _frames():
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if name in ("torch", "numpy", "retrograd") and frame.f_globals.get("__name__") != __name__:
            return True
        if is_user_file(frame.f_code.co_filename):
            return False
    return True


def _imports_itself() -> bool:
    """Whether the import that runs now is written in the program."""
    for frame in _frames():
        file = frame.f_code.co_filename
        if not file.startswith("<frozen") and file != __file__:
            return is_user_file(file)
    return False


def _short(path: Any) -> str:
    return os.path.basename(os.fsdecode(path))


def _is_harmless(path: object, flags: int = 0) -> bool:
    """Files with a name of their own, Python's and other caches, devices, files that are open."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return True
    text = os.path.abspath(os.fsdecode(path))
    if flags and os.path.isdir(text):
        return True  # a file without a name in it, or it will fail
    if f"{os.sep}__pycache__{os.sep}" in text or text.endswith(f"{os.sep}__pycache__"):
        return True
    if text.startswith(("/dev/", "/proc/self/")):
        return True
    if text.startswith(tuple(_harmless)):
        return True
    return any(text == made or text.startswith(made + os.sep) for made in _own_temporary)


def _caches() -> list[str]:
    """The user's caches, and those of PyTorch's compiler."""
    home = Path.home()
    folders = [os.environ.get("XDG_CACHE_HOME"), str(home / ".cache"), str(home / ".triton")]
    found = [os.path.join(os.path.abspath(folder), "") for folder in folders if folder]
    return [*found, os.path.join(tempfile.gettempdir(), "torchinductor_")]


def _stdin_was_read() -> bool:
    """Whether a file given as standard input has been read; of a pipe nobody can tell."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR) > 0 and not os.isatty(0)
    except OSError:
        return False
