"""Files that were made to do harm, or that were damaged on the way."""

from __future__ import annotations

import io
import pickle
import random
import struct
import zipfile
from typing import Any

import retrograd
from tests.serialization.objects import described, loaded

# What `load` may raise for a file that is not as it should be.
DOCUMENTED = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)


def archive(
    pickled: bytes, storages: dict[str, bytes] | None = None, kind: int = zipfile.ZIP_STORED
) -> bytes:
    """A file with this pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as target:
        target.writestr("archive/data.pkl", pickled)
        target.writestr("archive/byteorder", "little")
        for name, data in (storages or {}).items():
            target.writestr(f"archive/data/{name}", data)
        target.writestr("archive/version", "3\n")
    return file.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    """The members of a file."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        return {name: source.read(name) for name in source.namelist()}


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


def number(value: int) -> bytes:
    data = value.to_bytes(16, "little", signed=True)
    return b"\x8a\x10" + data


def numbers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def storage(
    key: str = "0", count: int = 4, kind: str = "FloatStorage", place: str = "cpu"
) -> bytes:
    described_storage = text("storage") + name("torch", kind) + text(key) + text(place)
    return b"(" + described_storage + number(count) + b"tQ"


def tensor(size: Any = (4,), stride: Any = (1,), offset: int = 0, **options: Any) -> bytes:
    """A pickled tensor."""
    arguments = storage(**options) + number(offset) + numbers(size) + numbers(stride)
    hooks = name("collections", "OrderedDict") + b")R"
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + arguments + b"\x89" + hooks + b"tR"


def program(*parts: bytes) -> bytes:
    return b"\x80\x02" + b"".join(parts) + b"."


def checkpoint(**options: Any) -> bytes:
    """A small file of the usual kind."""
    file = io.BytesIO()
    value = {
        "epoch": 3,
        "weight": retrograd.arange(6.0).reshape(2, 3),
        "half": retrograd.ones(3, dtype=retrograd.float16),
        "nested": [{"bias": retrograd.nn.Parameter(retrograd.zeros(2))}, (1, "two", None)],
    }
    retrograd.save(value, file, **options)
    return file.getvalue()


def outcome(content: bytes) -> Any:
    """What loading gives: a description of the value, or the name of a documented exception."""
    try:
        return described(loaded(retrograd, content))
    except DOCUMENTED as error:
        assert str(error), f"{type(error).__name__} without a message"
        return type(error).__name__


def damaged(content: bytes, seed: int) -> bytes:
    """The content with a few bytes changed, cut out, or put in."""
    chance = random.Random(seed)
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(len(changed))
        action = chance.random()
        if action < 0.7:
            changed[place] = chance.randrange(256)
        elif action < 0.8:
            changed[place] ^= 1 << chance.randrange(8)
        elif action < 0.9:
            del changed[place : place + chance.randrange(1, 20)]
        else:
            changed[place:place] = chance.randbytes(chance.randrange(1, 20))
    return bytes(changed)
