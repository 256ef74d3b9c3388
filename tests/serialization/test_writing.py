"""A file is written as a whole or not at all; links, permissions, special files are respected."""

from __future__ import annotations

import errno
import io
import os
import pickle
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

import retrograd
from retrograd.serialization import archive_writer, atomic
from tests.limits import LIMIT

POSIX = pytest.mark.skipif(os.name != "posix", reason="POSIX files")


def _only(folder: Path, *names: str) -> bool:
    return sorted(entry.name for entry in folder.iterdir()) == sorted(names)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("existing", [True, False])
def test_an_error_on_the_way_leaves_the_old_file(
    error: BaseException, existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.pt"
    if existing:
        retrograd.save({"step": 1}, path)
    write = archive_writer.write_all
    calls = []

    def failing(file: Any, content: Any) -> None:
        calls.append(1)
        if len(calls) == 4:  # in the middle of a member
            write(file, bytes(content)[:3])
            raise error
        write(file, content)

    monkeypatch.setattr(archive_writer, "write_all", failing)
    with pytest.raises(type(error)):
        retrograd.save({"step": 2, "weight": retrograd.ones(100)}, path)
    assert len(calls) == 4
    assert _only(tmp_path, *(["model.pt"] if existing else []))
    if existing:
        assert retrograd.load(path) == {"step": 1}


def test_an_object_that_cannot_be_pickled_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    retrograd.save({"step": 1}, path)
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        retrograd.save({"step": lambda: 2}, path)
    assert retrograd.load(path) == {"step": 1} and _only(tmp_path, "model.pt")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk() -> None:
    with pytest.raises(OSError, match="No space left"):
        retrograd.save(retrograd.ones(10_000), "/dev/full")


def test_the_content_is_on_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("sync"), sync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replace"), replace(a, b))[1])
    retrograd.save(1, tmp_path / "model.pt")
    assert order[:2] == ["sync", "replace"]


@POSIX
def test_permissions(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    before = os.umask(0o027)
    try:
        retrograd.save(1, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    retrograd.save(2, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604 and retrograd.load(path) == 2


@POSIX
def test_symbolic_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "model.pt", tmp_path / "latest.pt"
    link.symlink_to(target)
    for value in (1, 2):  # first the target is not there
        retrograd.save(value, link)
        assert link.is_symlink() and retrograd.load(target) == value
    assert _only(tmp_path / "real", "model.pt")


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anything")
def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    retrograd.save(1, path)
    path.chmod(0o444)
    with pytest.raises(RuntimeError, match="Permission denied"):
        retrograd.save(2, path)
    assert retrograd.load(path) == 1
    path.chmod(0o644)
    tmp_path.chmod(0o555)
    try:
        retrograd.save(3, path)  # the folder takes no new file, the old one can be overwritten
        with pytest.raises(RuntimeError, match="Permission denied"):
            retrograd.save(3, tmp_path / "new.pt")
    finally:
        tmp_path.chmod(0o755)
    assert retrograd.load(path) == 3


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"^Parent directory .*missing does not exist\."):
        retrograd.save(1, tmp_path / "missing" / "model.pt")
    with pytest.raises(RuntimeError, match="open file failed with strerror: Is a directory"):
        retrograd.save(1, tmp_path)
    assert _only(tmp_path)


@POSIX
def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    retrograd.save(retrograd.ones(3), path)
    reader.join(10)
    assert retrograd.load(io.BytesIO(received[0])).tolist() == [1, 1, 1]
    assert stat.S_ISFIFO(path.stat().st_mode) and _only(tmp_path, "pipe")


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_the_standard_output() -> None:
    code = "import retrograd; retrograd.save(retrograd.ones(3), '/dev/stdout')"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=LIMIT
    )
    assert retrograd.load(io.BytesIO(run.stdout)).tolist() == [1, 1, 1]


def test_file_objects() -> None:
    file = io.BytesIO()
    file.write(b"before")
    retrograd.save(5, file)
    assert file.tell() == len(file.getvalue())
    file.seek(6)
    assert retrograd.load(file) == 5

    class Dribble(io.RawIOBase):
        """Takes three bytes at a time, and cannot seek."""

        def __init__(self) -> None:
            self.content = b""

        def writable(self) -> bool:
            return True

        def write(self, content: Any) -> int:
            part = bytes(content)[:3]
            self.content += part
            return len(part)

    dribble = Dribble()
    retrograd.save([1, retrograd.ones(2)], dribble)
    assert retrograd.load(io.BytesIO(dribble.content))[1].tolist() == [1, 1]
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
        retrograd.save(1, 3)

    class NotCallable:
        write = 3

    with pytest.raises(TypeError, match="has no callable attribute 'write'"):
        retrograd.save(1, NotCallable())
    with pytest.raises(NotImplementedError, match="pickle_module=marshal"):
        retrograd.save(1, io.BytesIO(), pickle_module=__import__("marshal"))


def test_the_archive_is_a_plain_zip_file(tmp_path: Path) -> None:
    path = tmp_path / "modèle.v1.pt"
    retrograd.save([retrograd.ones(3), retrograd.zeros(5, dtype=retrograd.int8)], path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
    assert names == [
        f"modèle.v1/{name}" for name in ("data.pkl", "byteorder", "data/0", "data/1", "version")
    ]
    again = tmp_path / "again" / "modèle.v1.pt"
    again.parent.mkdir()
    retrograd.save([retrograd.ones(3), retrograd.zeros(5, dtype=retrograd.int8)], again)
    assert again.read_bytes() == path.read_bytes()  # the same content gives the same file


def test_large_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit into 32 bits, with a limit that is soon reached."""
    monkeypatch.setattr(archive_writer, "_LIMIT", 300)
    file = io.BytesIO()
    retrograd.save({"large": retrograd.arange(200.0), "small": retrograd.ones(2)}, file)
    assert b"PK\x06\x06" in file.getvalue()
    monkeypatch.undo()
    # the numbers in their 64 bit form are only looked for where the short ones are full
    content = file.getvalue().replace((300).to_bytes(4, "little"), b"\xff" * 4)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
    found = retrograd.load(io.BytesIO(content))
    assert found["large"].tolist() == list(range(200)) and found["small"].tolist() == [1, 1]


_KILLED = """
import os, signal, sys, retrograd
from retrograd.serialization import archive_writer
write = archive_writer.write_all
def write_and_die(file, content):
    write(file, content)
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
archive_writer.write_all = write_and_die
retrograd.save(retrograd.ones(3), sys.argv[1])
"""


@POSIX
def test_what_a_killed_save_left_goes_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    retrograd.save(1, path)
    for _ in range(2):
        died = subprocess.run([sys.executable, "-c", _KILLED, path], timeout=120, check=False)
        assert died.returncode == -9 and retrograd.load(path) == 1
        assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / ".model.pt.0123456789ab.tmp.txt").write_text("of someone else")
    retrograd.save(2, path)
    assert retrograd.load(path) == 2
    assert _only(tmp_path, "model.pt", ".model.pt.0123456789ab.tmp.txt")


@POSIX
def test_a_save_that_goes_on_elsewhere_keeps_its_file(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    with atomic.replacing(str(path)) as file:
        file.write(b"first")
        with atomic.replacing(str(path)) as other:
            other.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first" and _only(tmp_path, "model.pt")


def test_temporary_names_do_not_collide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(["same", "same", "other"])
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda count: next(numbers))
    (tmp_path / ".model.pt.same.tmp").write_bytes(b"of someone else")
    retrograd.save(1, tmp_path / "model.pt")
    assert (tmp_path / ".model.pt.same.tmp").read_bytes() == b"of someone else"
    assert _only(tmp_path, ".model.pt.same.tmp", "model.pt")
