"""NVIDIA's run-time compiler by ctypes: it compiles for a device without one being there."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from typing import Any

VERSION = "13.5.37"
ARCHITECTURES = ("compute_80", "compute_90")


@cache
def library() -> Any:
    """The compiler of the wheel, or None where it is not installed."""
    try:
        found = files("nvidia-cuda-nvrtc") or []
    except PackageNotFoundError:
        return None
    place = next((f.locate() for f in found if f.name.startswith("libnvrtc.so")), None)
    return None if place is None else ctypes.CDLL(str(place))


def problems(source: str, architecture: str = ARCHITECTURES[-1]) -> str:
    """What the compiler has to say against a source; nothing where it compiles."""
    nvrtc = library()
    program = ctypes.c_void_p()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    assert made == 0, made
    try:
        options = [b"-std=c++17", f"--gpu-architecture={architecture}".encode()]
        given = (ctypes.c_char_p * len(options))(*options)
        status = nvrtc.nvrtcCompileProgram(program, len(options), given)
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        text = log.value.decode(errors="replace").strip()
        return text if status else ""
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
