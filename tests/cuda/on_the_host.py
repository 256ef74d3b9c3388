"""CUDA kernels on the CPU: their text, compiled by the C++ compiler of the host.

Blocks run one after the other, and the threads of a block take turns: one runs until it waits for
others at a barrier (`host/threads.h`). So results can be tested where there is no device, on small
arrays.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

SOURCES = Path(__file__).with_name("host")
COMPILE = ["g++", "-O1", "-w", "-ffp-contract=off", "-std=c++20", "-nostdinc++", "-fPIC"]
LIBRARIES = ["-nostdlib", "-lm", "-lc", "-lgcc"]  # looking through those of C++ takes long
FOLDER = Path(tempfile.gettempdir()) / f"retrograd-kernels-{os.getuid()}"
STUCK = 2  # what `launched` says of threads that wait for ever


class Trapped(Exception):
    """A kernel stopped the program, as an assertion on the device does."""


def host_text(source: str, name: str) -> str:
    """A source with what is NVIDIA's own replaced, and the function that runs one kernel."""
    source = re.sub(r'asm\("cvt.f32.f16.*?\);\n', "found = float_of_half(value.bits);\n", source)
    source = re.sub(r'asm\("cvt.rn.f16.f32.*?\);\n', "found.bits = half_of_float(value);\n", source)
    source = source.replace('extern "C" __global__', "__global__")
    return f"{source}\n#define KERNEL_NAME {name}\n{(SOURCES / 'launched.h').read_text()}"


def made(name: str, text: str, options: list[str], libraries: list[str]) -> Path:
    """The file of that ending that the compiler makes of a text, once for all who ask."""
    asked = "\0".join([*COMPILE, *options, *libraries, text])
    target = FOLDER / f"{hashlib.sha256(asked.encode()).hexdigest()[:20]}{name}"
    if not target.exists():
        FOLDER.mkdir(exist_ok=True)
        code = target.with_suffix(f".{os.getpid()}.cpp")
        code.write_text(text)
        unfinished = target.with_suffix(f".{os.getpid()}.made")
        command = [*COMPILE, *options, code, *libraries, "-o", unfinished]
        subprocess.run(command, check=True, timeout=120)
        code.unlink()
        unfinished.rename(target)
    return target


@cache
def header() -> Path:
    """What comes before every kernel. It is read by the compiler once: that takes the most time."""
    text = "".join([(SOURCES / name).read_text() for name in ("cuda.h", "threads.h")])
    compiled = made(".h.gch", text, ["-x", "c++-header"], [])
    readable = compiled.with_suffix("")
    if not readable.exists():
        unfinished = readable.with_suffix(f".{os.getpid()}.made")
        unfinished.write_text(text)
        unfinished.rename(readable)
    return readable


class HostFunction:
    """A kernel that runs on the CPU."""

    def __init__(self, source: str, name: str) -> None:
        options = ["-shared", "-include", str(header())]
        library = made(".so", host_text(source, name), options, LIBRARIES)
        self.library = ctypes.CDLL(str(library))

    def __call__(self, blocks, threads, arguments) -> None:
        assert len(arguments) == self.library.arguments(), (arguments, self.library.arguments())
        held = [
            ctypes.create_string_buffer(value, len(value))
            if isinstance(value, bytes)
            else (ctypes.c_double if isinstance(value, float) else ctypes.c_longlong)(value)
            for value in arguments
        ]
        given = (ctypes.c_void_p * len(held))(*[ctypes.addressof(value) for value in held])
        status = self.library.launched(blocks, threads, given)
        assert status != STUCK, "threads of a block wait at a barrier for others that do not come"
        if status:
            raise Trapped


class Address(NamedTuple):
    """What CuPy's arrays have in place of a pointer."""

    ptr: int


class HostArray:
    """An array as the overrides use it: shape, strides, dtype, address, and how it is made."""

    def __init__(self, shape, dtype) -> None:
        self._take(np.full(shape, 77, dtype))

    def _take(self, held) -> None:
        self.held = held
        self.shape, self.strides, self.dtype = held.shape, held.strides, held.dtype
        self.ndim = held.ndim
        self._c_contiguous = held.flags.c_contiguous
        self.data = Address(held.ctypes.data)

    size = property(lambda self: self.held.size)

    @classmethod
    def of(cls, held):
        array = cls.__new__(cls)
        array._take(held)
        return array

    def transpose(self, axes):
        return self.of(self.held.transpose(axes))

    def reshape(self, *shape):
        return self.of(self.held.reshape(*shape))

    def astype(self, dtype):
        return self.of(self.held.astype(dtype))

    def view(self):
        return self.of(self.held.view())

    def copy(self):
        return self.of(self.held.copy())
