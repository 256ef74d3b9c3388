"""Special functions piece by piece: flat arrays, evaluation in float64, regions.

Kernels work on flat contiguous arrays, so masks and scratch buffers stay simple; the helpers here
bring an array of any shape and memory layout into that form and back.
"""

from collections.abc import Callable
from functools import wraps

from retrograd.backend.arrays import Array as Array
from retrograd.backend.arrays import DType
from retrograd.backend.namespace import Namespace
from retrograd.backend.quiet import quiet

# A kernel, and every function handed to a helper here, takes `xp` first.
Kernel = Callable[[Namespace, Array], Array]

CHUNK = 32768  # elements: two scratch buffers of this length stay in a second-level cache
PIECE = 16384  # elements, for kernels with many temporaries


def apply_flat(kernel: Callable[[Array], Array], x: Array) -> Array:
    """Run ``kernel`` on the elements of ``x`` as a flat array; the result has ``x``'s layout."""
    if x.flags.c_contiguous:
        return kernel(x.reshape(-1)).reshape(x.shape)
    axes = _memory_order(x)
    moved = x.transpose(axes)
    return kernel(moved.reshape(-1)).reshape(moved.shape).transpose(_inverse(axes))


def _memory_order(x: Array) -> list[int]:
    """The axes of ``x`` from the slowest in memory to the fastest."""
    return sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))


def _inverse(axes: list[int]) -> list[int]:
    return sorted(range(len(axes)), key=axes.__getitem__)


def in_chunks(xp: Namespace, kernel: Callable[[Namespace, Array, Array], None], x: Array) -> Array:
    """Run ``kernel(source, out)`` over cache-sized pieces of ``x``.

    A small ``x`` goes to the kernel as it is; the pieces of a large one are flat.
    """
    if x.size <= CHUNK:
        out = xp.empty_like(x)
        kernel(xp, x, out)
        return out

    def run(flat: Array) -> Array:
        out = xp.empty_like(flat)
        for start in range(0, flat.size, CHUNK):
            stop = start + CHUNK
            kernel(xp, flat[start:stop], out[start:stop])
        return out

    return apply_flat(run, x)


def elementwise(kernel: Kernel) -> Kernel:
    """Turn a kernel on flat arrays into a function on any array, without NumPy's warnings."""

    @wraps(kernel)
    def function(xp: Namespace, x: Array) -> Array:
        with quiet():
            return apply_flat(lambda flat: _in_pieces(xp, kernel, flat, dtype=x.dtype), x)

    return function


def elementwise_in_float64(kernel: Kernel) -> Kernel:
    """Like ``elementwise``; the kernel sees float64, the result is rounded to ``x``'s dtype."""

    def in_float64(xp: Namespace, flat: Array) -> Array:
        return kernel(xp, flat.astype(xp.float64, copy=False))

    return wraps(kernel)(elementwise(in_float64))


def apply_pair(
    xp: Namespace,
    kernel: Callable[[Namespace, Array, Array], Array],
    x: Array,
    y: Array,
    piece: int = PIECE,
) -> Array:
    """Broadcast two arrays, run ``kernel`` on both as flat arrays, without NumPy's warnings."""
    if x.shape != y.shape:
        x, y = xp.broadcast_arrays(x, y)
    axes = list(range(x.ndim))
    if x.strides == y.strides and not x.flags.c_contiguous:
        axes = _memory_order(x)
        x, y = x.transpose(axes), y.transpose(axes)
    dtype = xp.result_type(x, y)
    with quiet():
        flat = _in_pieces(xp, kernel, x.reshape(-1), y.reshape(-1), dtype=dtype, piece=piece)
    shaped = flat.reshape(x.shape)
    return shaped.transpose(_inverse(axes)) if axes != sorted(axes) else shaped


def _in_pieces(
    xp: Namespace,
    kernel: Callable[..., Array],
    *inputs: Array,
    dtype: DType,
    piece: int = PIECE,
) -> Array:
    """Run ``kernel`` piece by piece: its temporaries then stay in the cache."""
    size = inputs[0].size
    if size <= piece:
        return kernel(xp, *inputs).astype(dtype, copy=False)
    out = xp.empty(size, dtype)
    for start in range(0, size, piece):
        stop = start + piece
        out[start:stop] = kernel(xp, *(values[start:stop] for values in inputs))
    return out


def fill_region(
    xp: Namespace, out: Array, region: Array, function: Callable[..., Array], *inputs: Array
) -> None:
    """Write ``function`` of the inputs into ``out`` where ``region`` holds; compute only there."""
    index = xp.flatnonzero(region)
    if index.size == out.size:
        out[...] = function(xp, *inputs)
    elif index.size:
        out[index] = function(xp, *(values[index] for values in inputs))
