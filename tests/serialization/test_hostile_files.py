"""Damaged archives, archives that lie, and pickles that ask for too much: a clear error each."""

from __future__ import annotations

import io
import itertools
import pickle
import struct
import time
import zipfile
from pathlib import Path

import pytest

import retrograd
from tests.serialization.hostile import (
    archive,
    checkpoint,
    damaged,
    members,
    name,
    number,
    outcome,
    program,
    tensor,
    text,
)
from tests.serialization.objects import described, loaded

LONG = 300  # seconds: only what never ends takes so long
LEGACY = {"_use_new_zipfile_serialization": False}


def test_files_that_end_too_early() -> None:
    for options in ({}, LEGACY):
        content = checkpoint(**options)
        whole = outcome(content)
        assert not isinstance(whole, str)
        for length in range(len(content)):
            assert isinstance(outcome(content[:length]), str), length


@pytest.mark.parametrize("block", range(10))
def test_damaged_archives(block: int) -> None:
    """A file loads as it was saved, or not at all: every member has a checksum."""
    content = checkpoint()
    whole = outcome(content)
    for seed in range(block * 40, block * 40 + 40):
        found = outcome(damaged(content, seed))
        assert isinstance(found, str) or found == whole, seed


@pytest.mark.parametrize("block", range(10))
def test_damaged_pickles(block: int) -> None:
    """Behind a right checksum too: any value, or a documented exception."""
    parts = members(checkpoint())
    storages = {key[13:]: data for key, data in parts.items() if key.startswith("archive/data/")}
    assert storages
    for seed in range(block * 60, block * 60 + 60):
        begin = time.monotonic()
        outcome(archive(damaged(parts["archive/data.pkl"], seed), storages))
        assert time.monotonic() - begin < LONG, seed


@pytest.mark.parametrize("block", range(5))
def test_damaged_old_files(block: int) -> None:
    content = checkpoint(**LEGACY)
    for seed in range(block * 60, block * 60 + 60):
        outcome(damaged(content, seed))


# ---------------------------------------------------------------------------- archives that lie


def _refused(content: bytes, message: str) -> None:
    with pytest.raises(RuntimeError, match=message) as caught:
        loaded(retrograd, content)
    assert str(caught.value).startswith("PytorchStreamReader failed")


def test_names_are_only_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for key, data in members(checkpoint()).items():
            target.writestr(key, data)
        for key in ("../../outside", "/absolute", "archive/../up", "archive/data/../../x"):
            target.writestr(key, b"content")
    assert outcome(file.getvalue()) == outcome(checkpoint())
    assert not list(tmp_path.iterdir()) and not (tmp_path.parent.parent / "outside").exists()


def test_names_that_occur_twice() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for key, data in members(checkpoint()).items():
            target.writestr(key, data)
        with pytest.warns(UserWarning, match="Duplicate name"):
            target.writestr("archive/data.pkl", program(b"N"))
    _refused(file.getvalue(), "'archive/data.pkl' is twice")


def test_names_that_are_not_text() -> None:
    content = checkpoint().replace(b"archive/data/1", b"archive/\xff\xfe\xfd\xfc/1")
    _refused(content, "the name of a member is not UTF-8")


def test_an_archive_without_a_folder() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("data.pkl", program(b"N"))
    with pytest.raises(RuntimeError, match=r"^file in archive is not in a subdirectory: data.pkl"):
        loaded(retrograd, file.getvalue())


def test_an_archive_without_a_pickle() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("archive/version", b"3\n")
    _refused(file.getvalue(), "failed locating file data.pkl: file not found")
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w"):
        pass
    _refused(b"PK\x03\x04" + empty.getvalue(), "archive has no files")


def _entry(content: bytes, name: bytes) -> int:
    """Where the entry of a member stands in the list of members."""
    return content.index(name, content.index(b"PK\x01\x02")) - 46


def _with(content: bytes, place: int, form: str, *values: int) -> bytes:
    changed = bytearray(content)
    struct.pack_into(form, changed, place, *values)
    return bytes(changed)


def test_headers_that_lie() -> None:
    content = checkpoint()
    entry = _entry(content, b"archive/data/0")
    header = struct.unpack_from("<I", content, entry + 42)[0]
    first = struct.unpack_from("<I", content, _entry(content, b"archive/data.pkl") + 42)[0]
    size = struct.unpack_from("<I", content, entry + 24)[0]
    assert size == 24
    _refused(_with(content, entry + 20, "<II", 1 << 30, 1 << 30), "content is too large")
    _refused(_with(content, entry + 24, "<I", 20), "two sizes")
    _refused(_with(content, entry + 16, "<I", 12345), "two sizes|checksum")
    _refused(_with(content, entry + 42, "<I", first), "another name in its header")
    _refused(_with(content, entry + 42, "<I", len(content) - 3), "behind the central directory")
    _refused(_with(content, entry + 42, "<I", header + 1), "invalid header")
    _refused(_with(content, entry + 8, "<H", 0x801), "is encrypted")
    _refused(_with(content, entry + 10, "<H", 12), "packed in an unknown way")
    end = content.rindex(b"PK\x05\x06")
    _refused(_with(content, end + 12, "<I", 1 << 31), "corrupted")
    _refused(_with(content, end + 16, "<I", 1 << 31), "corrupted")
    _refused(_with(content, end + 16, "<I", 0xFFFFFFFF), "corrupted|outside of the file")


def test_a_wrong_checksum() -> None:
    content = bytearray(checkpoint())
    place = content.index(struct.pack("<f", 5.0))
    content[place] ^= 1
    _refused(bytes(content), r"reading file data/0: its checksum is wrong")


def test_members_that_overlap() -> None:
    """Many entries that all point to one member would multiply it."""
    content = checkpoint()
    entry = _entry(content, b"archive/data/1")
    target = struct.unpack_from("<I", content, _entry(content, b"archive/data/0") + 42)[0]
    changed = _with(content, entry + 42, "<I", target)
    _refused(changed, "another name in its header")
    local = struct.unpack_from("<I", content, entry + 42)[0]
    longer = bytearray(changed)
    name_place = longer.index(b"archive/data/0")
    longer[name_place : name_place + 14] = b"archive/data/1"
    assert local != target
    with pytest.raises(RuntimeError):
        loaded(retrograd, bytes(longer))


def test_compressed_members() -> None:
    parts = members(checkpoint())
    storages = {key[13:]: data for key, data in parts.items() if key.startswith("archive/data/")}
    packed = archive(parts["archive/data.pkl"], storages, zipfile.ZIP_DEFLATED)
    assert outcome(packed) == outcome(checkpoint())
    bomb = archive(program(tensor((1 << 20,), count=1 << 20)), {"0": bytes(4 << 20)}, 8)
    assert len(bomb) < 10_000
    _refused(bomb, "its content is too large")
    _refused(archive(program(b"N"), {"0": b"ab"}, zipfile.ZIP_BZIP2), "packed in an unknown way")


def test_compressed_members_of_another_size() -> None:
    content = archive(program(tensor((2,), count=2)), {"0": b"\1\2\3\4\5\6\7\x08"}, 8)
    entry = _entry(content, b"archive/data/0")
    header = struct.unpack_from("<I", content, entry + 42)[0]
    for size in (4, 80):
        changed = _with(content, entry + 24, "<I", size)
        changed = _with(changed, header + 22, "<I", size)
        with pytest.raises(RuntimeError, match=r"its size is not the one it names|record size"):
            loaded(retrograd, changed)


# ------------------------------------------------------------------------- pickles that ask much


def _quick(content: bytes, message: str) -> None:
    begin = time.monotonic()
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match=message):
        loaded(retrograd, content)
    assert time.monotonic() - begin < LONG


def test_lists_of_lists_of_lists() -> None:
    laughs = b"]q\x00" + b"".join(
        b"](" + b"h" + bytes([i]) * 1 + (b"h" + bytes([i])) * 9 + b"eq" + bytes([i + 1])
        for i in range(100)
    )
    found = loaded(retrograd, archive(program(laughs)))
    assert type(found) is list and len(found) == 10  # ten times the same list: no copies
    tuples = b")q\x000" + b"".join(b"h%ch%c\x86q%c0" % (i, i, i + 1) for i in range(100))
    tuples += b"h\x64"
    for use in (b"}" + tuples + b"Ns", name("builtins", "set") + b"](" + tuples + b"e\x85R"):
        _quick(archive(program(use)), "a key of a dict is too large")
    for misuse in (b"Q", b")R", b"K\x01K\x02s", b"}b"):  # and the message does not print it
        with pytest.raises(pickle.UnpicklingError) as caught:
            loaded(retrograd, archive(program(laughs + misuse)))
        assert len(str(caught.value)) < 2000


def test_depth() -> None:
    deep = b")" + b"\x85" * 200_000
    found = loaded(retrograd, archive(program(deep)))
    assert type(found) is tuple
    _quick(archive(program(b"}" + deep + b"Ns")), "a key of a dict is too large")
    _quick(archive(program(b"(" * 200_000)), "pop from empty|damaged")


def test_keys_with_the_same_hash() -> None:
    keys = [number(((1 << 61) - 1) * factor) for factor in range(1, 40_000)]
    assert len({hash(((1 << 61) - 1) * factor) for factor in range(1, 100)}) == 1
    pairs = b"".join(key + b"N" for key in keys)
    wrapped = b"".join(key + b"\x85N" for key in keys)
    one_by_one = b"".join(key + b"Ns" for key in keys)
    listed = name("builtins", "set") + b"](" + b"".join(keys) + b"e\x85R"
    for body in (b"}(" + pairs + b"u", b"}(" + wrapped + b"u", b"}" + one_by_one, listed):
        _quick(archive(program(body)), "too many keys of dicts have the same hash")


def _pairs_with_one_hash(count: int) -> list[tuple[int, int]]:
    """Tuples of usual numbers that Python's hash of tuples (xxHash) maps to one number."""
    modulus, first = 1 << 64, 11400714785074694791
    second, start = 14029467366897019727, 2870177450012600261
    inverse = pow(second, -1, modulus)
    found: list[tuple[int, int]] = []
    for a in itertools.count(1):
        mixed = (start + a * second) % modulus
        mixed = ((mixed << 31) | (mixed >> 33)) % modulus * first % modulus
        b = (123456789 - mixed) * inverse % modulus
        b -= modulus * (b >= 1 << 63)
        if abs(b) < (1 << 60) - 1 and b != -1:
            found.append((a, b))
        if len(found) == count:
            return found
    raise AssertionError


def test_tuples_of_usual_numbers_with_the_same_hash() -> None:
    keys = _pairs_with_one_hash(20_000)
    if len(set(map(hash, keys[:100]))) > 1:
        pytest.skip("this Python computes the hash of a tuple in another way")
    pairs = b"".join(number(a) + number(b) + b"\x86N" for a, b in keys)
    _quick(archive(program(b"}(" + pairs + b"u")), "too many keys of dicts have the same hash")


def test_the_same_keys_in_many_dicts_are_no_collision() -> None:
    many = [{0: 1, -1: 2, -2: 3, (1, 2): 4, 2.5: 5} for _ in range(1_500)]
    file = io.BytesIO()
    retrograd.save(many, file)
    file.seek(0)
    assert retrograd.load(file) == many


def test_copies_of_one_thing() -> None:
    content = text("x" * 200_000) + b"q\x00"
    copies = (name("_codecs", "encode") + b"h\x00" + text("latin1") + b"\x86R") * 2000
    _quick(archive(program(b"](" + content + copies + b"e")), "more memory than a file of its size")
    sets = b"\x8f" * 600_000
    _quick(archive(program(b"(" + sets + b"t")), "more memory than a file of its size")


def test_the_checkpoint_itself_is_right() -> None:
    """What the damaged files are compared with."""
    assert described(loaded(retrograd, checkpoint()))[1][0] == (["str", "'epoch'"], ["int", "3"])
