"""CUDA sources, compiled once for each process, and the launch of their functions.

A source is a file of `sources/`, or text that was written for one case; NVRTC compiles it through
CuPy, which keeps the results of earlier processes in its cache on disk. A launch goes to CuPy's
current stream and waits for nothing.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from retrograd.backend.device import Backend
from retrograd.backend.kernels.built import check_sources

FOLDER = Path(__file__).parent / "sources"
OPTIONS = ("-std=c++17",)
THREADS = 256
_MOST_BLOCKS = 132 * 32  # what is more is done in turns: no device has room for more at a time


def text_of(*files: str, definitions: str = "") -> str:
    """The prelude, definitions of macros, and the texts of source files."""
    prelude, *others = [(FOLDER / f"{file}.cu").read_text("utf-8") for file in ("prelude", *files)]
    return "\n".join([prelude, definitions, *others]) if others else prelude


class Function:
    """A compiled function on the device, and where the driver finds it."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.address: int = kernel.kernel.ptr

    def __call__(self, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
        """Launch it as CuPy does: structures are bytes."""
        given = [np.void(value) if type(value) is bytes else value for value in arguments]
        self.kernel((blocks,), (threads,), tuple(given))


@cache
def function_of(source: str, name: str) -> Any:
    """A function of a source text, compiled when first asked for, for the current device."""
    return Function(_module(source).get_function(name))


@cache
def _module(source: str) -> Any:
    cupy: Any = importlib.import_module("cupy")
    return cupy.RawModule(code=source, options=OPTIONS)


def blocks_for(count: int, threads: int = THREADS) -> int:
    """How many blocks do `count` things, each thread one at a time."""
    return min(-(-count // threads), _MOST_BLOCKS)


class Quick:
    """The compiled launcher, once `connect` has found the driver; CuPy launches without it."""

    module: Any = None
    stream: Any = None  # gives the current stream


def stream_of(cupy: Any) -> Callable[[], int]:
    """What gives the address of the current stream."""
    current = cupy.cuda.get_current_stream

    def address() -> int:
        found: int = current().ptr
        return found

    return address


def connect(cupy: Any) -> None:
    """Launch by the driver's own function from here on, where there is one device."""
    try:
        module: Any = importlib.import_module("retrograd.backend.cuda._launch")
        check_sources(module, "launching")
        driver = ctypes.CDLL("libcuda.so.1")
    except (ImportError, OSError):
        return
    # CuPy compiles anew for each device, and knows which is the current one
    if cupy.cuda.runtime.getDeviceCount() == 1:
        module.given_driver(ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p).value)
        Quick.stream = stream_of(cupy)
        Quick.module = module


def install(backend: Backend) -> None:
    """Find the driver before kernels are registered: some of them are called by the launcher."""
    connect(backend.xp._library)


def launch(function: Any, blocks: int, arguments: tuple[Any, ...], threads: int = THREADS) -> None:
    """Run a function: integers and pointers take eight bytes, floats are doubles."""
    quick = Quick.module
    if quick is None or quick.launch(
        function.address, blocks, threads, Quick.stream(), arguments
    ):  # a status that is not zero: CuPy makes a context for a new thread, or says what is wrong
        function(blocks, threads, arguments)


class Source:
    """The functions of a source file, by their names.

    definitions  text that follows it
    macros       what the file reads: REAL (the type in memory), WIDE (what is computed with) ...

    >>> rows = Source("softmax", REAL="double", WIDE="double")
    """

    def __init__(self, file: str, definitions: str = "", **macros: str) -> None:
        self.file = file
        self.definitions = definitions
        self.macros = "\n".join([f"#define {name} {value}" for name, value in macros.items()])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        text = text_of(self.file, definitions=self.macros) + self.definitions
        found = function_of(text, name)
        self.__dict__[name] = found
        return found
