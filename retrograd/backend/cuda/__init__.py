"""NVIDIA's devices, by CuPy: looked for when a program first asks for one.

Without CuPy, or without a device, `cuda_backend` gives None and `why_missing` says the reason.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.backend.cuda.backend import CudaBackend

SUPPORTED = (14, 2)
"""The version of CuPy that the functions here were written for; later ones of the same major
version are taken."""

NOT_BUILT = "Torch not compiled with CUDA enabled"
NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed "
    "a driver from http://www.nvidia.com/Download/index.aspx"
)
NO_DEVICE = "No CUDA GPUs are available"


class Missing(Exception):
    """There is no device: PyTorch's error for it, and what to do."""

    def __init__(self, kind: type[Exception], text: str, advice: str) -> None:
        super().__init__(text)
        self.kind, self.text, self.advice = kind, text, advice

    def error(self) -> Exception:
        """The error that PyTorch raises."""
        return self.kind(self.text)


def _library() -> Any:
    """CuPy, in a version that is supported."""
    try:
        cupy: Any = importlib.import_module("cupy")
    except ImportError as error:
        raise Missing(
            AssertionError,
            NOT_BUILT,
            f"CuPy cannot be imported ({error}): pip install 'retrograd[cuda]'",
        ) from error
    found = tuple(int(part) for part in cupy.__version__.split(".")[:2])
    if found[0] != SUPPORTED[0] or found < SUPPORTED:
        wanted = ".".join(map(str, SUPPORTED))
        raise Missing(
            AssertionError,
            NOT_BUILT,
            f"CuPy {cupy.__version__} is installed; {wanted} or a later {SUPPORTED[0]}.x is needed",
        )
    return cupy


@functools.cache
def _found() -> CudaBackend | Missing:
    try:
        cupy = _library()
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            lacks = NO_DRIVER if "cudaErrorInsufficientDriver" in str(error) else NO_DEVICE
            raise Missing(RuntimeError, lacks, str(error)) from error
    except Missing as missing:
        return missing
    if count == 0:
        return Missing(RuntimeError, NO_DEVICE, "the driver knows of no device")
    from retrograd.backend.cuda import overrides
    from retrograd.backend.cuda.backend import CudaBackend
    from retrograd.backend.device import register

    backend = register(CudaBackend(cupy, count))
    try:
        overrides.install(backend)
    except Exception as error:  # kernels make things quicker: without them all is right, and slow
        warnings.warn(f"the kernels for CUDA devices cannot be used: {error!r}", stacklevel=3)
    return backend


def cuda_backend() -> CudaBackend | None:
    """The backend of CUDA's devices; None if there is no device."""
    found = _found()
    return None if isinstance(found, Missing) else found


def why_missing() -> Missing | None:
    """Why `cuda_backend` gives None."""
    found = _found()
    return found if isinstance(found, Missing) else None


def forget_what_was_found() -> None:
    """Look again when a device is asked for next."""
    _found.cache_clear()
