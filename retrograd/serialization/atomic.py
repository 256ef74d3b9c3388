"""A file that is there as a whole or not at all.

The content is written to a file beside it, brought to the disk, and then renamed: whoever opens the
name sees the old content or the new one. If anything fails on the way, the old file is untouched.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` if the block ends without an exception."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    try:
        before = os.stat(path)
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before.st_mode):
        with _opened(path) as file:  # a pipe, a terminal: nothing to take the place of
            yield file
        return
    target = os.path.realpath(path)  # what a symbolic link points to is replaced, not the link
    if before is not None and not os.access(target, os.W_OK):
        raise RuntimeError(f"open file failed with strerror: Permission denied: {path}")
    try:
        descriptor, beside = _new_file(target)
    except PermissionError:
        if before is None:
            raise RuntimeError(
                f"open file failed with strerror: Permission denied: {path}"
            ) from None
        with _opened(target) as file:  # the file may be written, its folder not
            yield file
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            if before is not None:
                _take_over(descriptor, before)
            yield file
            file.flush()
            os.fsync(descriptor)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _sync_folder(os.path.dirname(target) or ".")


def _opened(target: str) -> IO[bytes]:
    try:
        return open(target, "wb")
    except OSError as error:
        raise RuntimeError(f"open file failed with strerror: {error.strerror}") from error


def _new_file(target: str) -> tuple[int, str]:
    folder, name = os.path.split(target)
    _remove_abandoned(folder, name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        # a long name leaves no room for more
        beside = os.path.join(folder, f".{name[:40]}.{secrets.token_hex(6)}.tmp")
        with contextlib.suppress(FileExistsError):
            # the user's mask applies, as to any file
            descriptor = os.open(beside, flags, 0o666)
            if _locked(descriptor, wait=True) is None or os.path.exists(beside):
                return descriptor, beside
            os.close(descriptor)  # taken for an abandoned one before it was locked


def _remove_abandoned(folder: str, name: str) -> None:
    """Remove what earlier saves of this file left when they were killed: nobody locks it."""
    pattern = re.compile(rf"\.{re.escape(name[:40])}\.[0-9a-f]{{12}}\.tmp")
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        if _locked(descriptor, wait=False):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, wait: bool) -> bool | None:
    """Whether the file could be locked for as long as it is open; None where files cannot be.

    The system gives the lock back when a process ends, however it ends.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _take_over(descriptor: int, before: os.stat_result) -> None:
    """Owner and permissions of the file that is replaced, as far as they may be given."""
    if hasattr(os, "fchown"):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: str) -> None:
    """Bring the new name to the disk too, where a folder can be synchronised."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
