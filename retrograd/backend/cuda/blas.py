"""Products of matrices by cuBLAS, called directly.

CuPy's own calls refuse a stream that is captured, and take longer. Each stream has a handle with a
workspace of its own, so that work on two streams, or a graph and eager work, never share one.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from typing import Any

from retrograd.backend.arrays import Array
from retrograd.backend.precision import PRECISION

_WORKSPACE = 32 << 20  # bytes, as PyTorch has for the devices of the Hopper kind
_SMALL_WORKSPACE = 4 << 20
_VERSIONS = (13, 12)
_N, _T = 0, 1  # how a factor lies: by columns, or transposed
_COMPUTE_32, _COMPUTE_TF32, _COMPUTE_64 = 68, 77, 70
# by the dtype's name: cuBLAS's number for it, how it is computed, and what the factors' scale is
_TYPES: dict[str, tuple[int, int, Any]] = {
    "float32": (0, _COMPUTE_32, ctypes.c_float * 1),
    "float64": (1, _COMPUTE_64, ctypes.c_double * 1),
    "float16": (2, _COMPUTE_32, ctypes.c_float * 1),
    "bfloat16": (14, _COMPUTE_32, ctypes.c_float * 1),
    "complex64": (4, _COMPUTE_32, ctypes.c_float * 2),
    "complex128": (5, _COMPUTE_64, ctypes.c_double * 2),
}
_LONG, _INT, _POINTER = ctypes.c_longlong, ctypes.c_int, ctypes.c_void_p
_FACTOR: list[Any] = [_POINTER, _INT, _INT]
_FACTOR_OF_MANY: list[Any] = [*_FACTOR, _LONG]
_BEGINNING: list[Any] = [_POINTER, _INT, _INT, _INT, _INT, _INT, _POINTER]


class CublasError(RuntimeError):
    """cuBLAS refused a call."""


class Cublas:
    """cuBLAS for CuPy's arrays: `matmul` as NumPy has it.

    other  takes what is not of one floating type
    """

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self.other: Callable[[Any, Any], Array] = cupy.matmul
        self._handles: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._library: Any = None
        self._broken = False
        self._kinds = {
            self._dtype(name): (number, compute, scale(1), scale(0))
            for name, (number, compute, scale) in _TYPES.items()
        }

    def _dtype(self, name: str) -> Any:
        if name != "bfloat16":
            return self._cupy.dtype(name)
        import ml_dtypes

        return self._cupy.dtype(ml_dtypes.bfloat16)

    def _open(self) -> Any:
        """The library that CuPy has loaded."""
        self._cupy.cuda.device.get_cublas_handle()  # loads it
        library = next(filter(None, map(_loaded, _VERSIONS)), None)
        if library is None:
            raise CublasError(f"found no libcublas.so of the versions {_VERSIONS}")
        many = _FACTOR_OF_MANY
        library.cublasGemmEx.argtypes = _BEGINNING + _FACTOR * 2 + [_POINTER, *_FACTOR, _INT, _INT]
        library.cublasGemmStridedBatchedEx.argtypes = (
            _BEGINNING + many * 2 + [_POINTER, *many, _INT, _INT, _INT]
        )
        library.cublasSetWorkspace_v2.argtypes = [_POINTER, _POINTER, ctypes.c_size_t]
        library.cublasSetStream_v2.argtypes = [_POINTER, _POINTER]
        return library

    def usable(self) -> bool:
        """Whether cuBLAS can be called; where it cannot, CuPy does, and a warning says why."""
        if self._library is None and not self._broken:
            try:
                self._library = self._open()
            except Exception as error:
                self._broken = True
                warnings.warn(
                    f"cuBLAS cannot be called directly, so CuPy makes products: {error}",
                    stacklevel=2,
                )
        return not self._broken

    def handle(self) -> Any:
        """The handle of the current stream, made when first asked for."""
        cuda = self._cupy.cuda
        key = (cuda.runtime.getDevice(), cuda.get_current_stream().ptr)
        found = self._handles.get(key)
        if found is None:
            found = self._handles[key] = self._made(key[1])
        return found[0]

    def _made(self, stream: int) -> tuple[Any, Any]:
        handle = _POINTER()
        self._check(self._library.cublasCreate_v2(ctypes.byref(handle)))
        self._check(self._library.cublasSetStream_v2(handle, stream))
        large = int(self._cupy.cuda.Device().compute_capability) >= 90
        size = _WORKSPACE if large else _SMALL_WORKSPACE
        workspace = self._cupy.cuda.alloc(size)
        self._check(self._library.cublasSetWorkspace_v2(handle, workspace.ptr, size))
        return handle, workspace

    def _check(self, status: int) -> None:
        if status:
            raise CublasError(f"cuBLAS refused a call: status {status}")

    # ------------------------------------------------------------------------------ products

    def matmul(self, a: Any, b: Any) -> Array:
        """The product of two arrays, as NumPy defines it."""
        kind = self._kinds.get(a.dtype) if self.usable() else None
        if kind is None or b.dtype != a.dtype or not a.ndim or not b.ndim:
            return self.other(a, b)
        if b.ndim == 1:
            return self.matmul(a, b[:, None])[..., 0]
        if a.ndim == 1:
            return self.matmul(a[None], b)[..., 0, :]
        if a.shape[-1] != b.shape[-2]:
            return self.other(a, b)  # raises
        if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous:
            rows = a.reshape(-1, a.shape[-1])
            made: Array = self._plain(rows, b, kind).reshape(*a.shape[:-1], b.shape[-1])
            return made
        if a.ndim == 2 and b.ndim == 2:
            return self._plain(a, b, kind)
        return self._batched(a, b, kind)

    def add_product(self, target: Any, a: Any, b: Any) -> bool:
        """Add the product of two matrices to a third that lies row by row; whether it was done.

        What is added up is rounded once, also in half precision.
        """
        kind = self._kinds.get(a.dtype) if self.usable() else None
        if kind is None or b.dtype != a.dtype or target.dtype != a.dtype:
            return False
        if not target.flags.c_contiguous or target.shape != (a.shape[0], b.shape[1]):
            return False
        self._plain(a, b, kind, target)
        return True

    def _plain(self, a: Any, b: Any, kind: Any, target: Any = None) -> Array:
        """The product, or what `target` is when it was added."""
        made = self._cupy.ndarray((a.shape[0], b.shape[1]), a.dtype) if target is None else target
        if not made.size:
            return made  # type: ignore[no-any-return]
        if not a.shape[1]:
            if target is None:
                made.fill(0)
            return made  # type: ignore[no-any-return]
        number, compute, one, zero = kind
        if compute == _COMPUTE_32 and number == 0 and PRECISION.tf32:
            compute = _COMPUTE_TF32
        a, a_way, a_step = self._lies(a)
        b, b_way, b_step = self._lies(b)
        # cuBLAS sees matrices by columns, ours transposed: so the factors change places
        handle = self.handle()
        status = self._library.cublasGemmEx(
            handle, b_way, a_way, b.shape[1], a.shape[0], a.shape[1], one,
            b.data.ptr, number, b_step, a.data.ptr, number, a_step,
            zero if target is None else one, made.data.ptr, number, made.shape[1], compute, -1,
        )  # fmt: skip
        self._check(status)
        return made  # type: ignore[no-any-return]

    def repeated(
        self, rows: int, right: Any, kept: Any, *, add: bool = False
    ) -> Callable[[int, int], None]:
        """A product that is made many times, with one matrix, into memory that is there.

        The function takes addresses: of `rows` rows without gaps, which are of the type of `right`,
        and of the result, of type `kept`: that of `right`, or float32 for half precision.

        add  to what is there already
        """
        number, compute, one, zero = self._kinds[right.dtype]
        made = self._kinds[kept][0]
        if compute == _COMPUTE_32 and number == 0 and PRECISION.tf32:
            compute = _COMPUTE_TF32
        inner, columns = right.shape
        right, way, step = self._lies(right)
        handle, product, factor = self.handle(), self._library.cublasGemmEx, one if add else zero
        address = right.data.ptr

        def run(left: int, result: int, held: Any = right) -> None:
            status = product(
                handle, way, _N, columns, rows, inner, one, address, number, step,
                left, number, inner, factor, result, made, columns, compute, -1,
            )  # fmt: skip
            if status:
                self._check(status)

        return run

    def _lies(self, matrix: Any) -> tuple[Any, int, int]:
        """A matrix as cuBLAS takes it, whether it lies by columns, and the step between lines."""
        unit = matrix.itemsize
        (rows, columns), (down, across) = matrix.shape[-2:], matrix.strides[-2:]
        if (across == unit or columns == 1) and (down >= unit * columns or rows == 1):
            if down % unit == 0:
                return matrix, _N, max(down // unit if rows > 1 else 0, columns)
        if (down == unit or rows == 1) and (across >= unit * rows or columns == 1):
            if across % unit == 0:
                return matrix, _T, max(across // unit if columns > 1 else 0, rows)
        return self._cupy.ascontiguousarray(matrix), _N, columns

    def _batched(self, a: Any, b: Any, kind: Any) -> Array:
        cupy = self._cupy
        lead = _common(a.shape[:-2], b.shape[:-2])
        if lead is None:
            return self.other(a, b)  # raises
        count = 1
        for size in lead:
            count *= size
        made = cupy.ndarray((*lead, a.shape[-2], b.shape[-1]), a.dtype)
        if not made.size:
            return made  # type: ignore[no-any-return]
        if not a.shape[-1]:
            made.fill(0)
            return made  # type: ignore[no-any-return]
        number, compute, one, zero = kind
        if compute == _COMPUTE_32 and number == 0 and PRECISION.tf32:
            compute = _COMPUTE_TF32
        a, a_way, a_step, a_next = self._lies_in_batch(a, lead)
        b, b_way, b_step, b_next = self._lies_in_batch(b, lead)
        rows, columns = made.shape[-2:]
        handle = self.handle()
        status = self._library.cublasGemmStridedBatchedEx(
            handle, b_way, a_way, columns, rows, a.shape[-1], one,
            b.data.ptr, number, b_step, b_next, a.data.ptr, number, a_step, a_next,
            zero, made.data.ptr, number, columns, rows * columns, count, compute, -1,
        )  # fmt: skip
        self._check(status)
        return made  # type: ignore[no-any-return]

    def _lies_in_batch(self, array: Any, lead: tuple[int, ...]) -> tuple[Any, int, int, int]:
        """The same for a batch, and the step from one matrix to the next: one for all of them."""
        array = self._cupy.broadcast_to(array, (*lead, *array.shape[-2:]))
        unit = array.itemsize
        step = _even_step(lead, array.strides[:-2])
        if step is None or step % unit:
            array = self._cupy.ascontiguousarray(array)
            step = array.shape[-2] * array.shape[-1] * unit
        whole = array
        array, way, lines = self._lies(array)
        if array is not whole:
            step = array.shape[-2] * array.shape[-1] * unit
        return array, way, lines, step // unit


def _loaded(version: int) -> Any:
    try:
        return ctypes.CDLL(f"libcublas.so.{version}")
    except OSError:
        return None


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that two shapes are broadcast to; None if there is none."""
    if len(a) < len(b):
        a, b = b, a
    b = (1,) * (len(a) - len(b)) + b
    if any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
        return None
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def _even_step(shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """The step between neighbours in the order of the indices; None if it is not one step."""
    step: int | None = None
    span = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if step is None:
            step = stride
        elif stride != step * span:
            return None
        span *= size
    return 0 if step is None else step


def functions(cupy: Any) -> tuple[Cublas, dict[str, Callable[..., Array]]]:
    """The library, and the functions that kernels call."""
    own = Cublas(cupy)

    def dot(a: Any, b: Any) -> Array:
        return own.matmul(a, b) if a.ndim and b.ndim and b.ndim <= 2 else cupy.dot(a, b)

    return own, {"matmul": own.matmul, "matmul2d": own.matmul, "dot": dot}
