"""Normal numbers: ``randn``, ``normal_``, ``normal``.

There are two algorithms. Sixteen or more numbers for a contiguous array are made in groups of 16
(see ``box_muller``). All others are made one by one, in float64 whatever the dtype, in pairs whose
second half waits in the generator for the next such number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from retrograd.backend import kernels
from retrograd.notices import runtime_error
from retrograd.random.arguments import COMPLEX, FLOATS, not_implemented, number
from retrograd.random.arithmetic import (
    HALVES,
    CLibrary,
    cast,
    fma32,
    fma64,
    near_float32_tie,
)
from retrograd.random.box_muller import box_muller32, box_muller64
from retrograd.random.generator import Array, Generator, chunks
from retrograd.random.layout import fill_

__all__ = ["map_serial_normals", "normal", "normal_", "normal_from_arrays", "serial_normals"]

_FLOAT64 = np.dtype(np.float64)
_GROUP = 16
_FEW = 64  # pairs: below, a Python loop is faster than arrays
_MANY = 128  # pairs: above, NumPy's vector functions are faster in spite of the checks they need
_HUGE = 1e30  # parameters: above, float32 may overflow


def normal(
    generator: Generator,
    count: int,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: npt.DTypeLike = np.float32,
    contiguous: bool = True,
) -> Array:
    """``count`` normal numbers, for a target that is contiguous or not.

    >>> normal(Generator().manual_seed(0), 2)
    array([ 1.5409961, -0.2934289], dtype=float32)
    """
    kind = np.dtype(dtype)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {number(std)}")
    if count == 0:
        return np.empty(0, kind)
    if kind in COMPLEX:
        parts = normal(generator, 2 * count, mean, std / math.sqrt(2), COMPLEX[kind], contiguous)
        return parts.view(kind)
    if kind not in FLOATS:
        raise not_implemented("normal_kernel_cpu", kind)
    if generator.samplers is not None:
        drawn: Array = generator.samplers.of_reals("normal", count, mean, std, kind)
        return drawn
    if count >= _GROUP and contiguous:
        return _in_groups(generator, count, mean, std, kind)
    return serial_normals(generator, count, mean, std, kind)


def normal_(generator: Generator, target: Array, mean: float = 0.0, std: float = 1.0) -> Array:
    """Fill ``target`` with normal numbers, and return it.

    >>> normal_(Generator().manual_seed(0), np.empty((1, 2)))
    array([[ 1.54099611, -0.29342891]])
    """
    made = kernels.draw_normal(generator, target, target.dtype, mean, std)
    if made is not None:
        return made
    contiguous = target.flags.c_contiguous
    return fill_(target, normal(generator, target.size, mean, std, target.dtype, contiguous))


def _in_groups(generator: Generator, count: int, mean: float, std: float, dtype: np.dtype) -> Array:
    wide = dtype == _FLOAT64
    draw = generator.float64s if wide else generator.float32s
    transform = box_muller64 if wide else box_muller32
    rest = count % _GROUP
    whole = count - rest
    made = kernels.draw_normal(generator, (count,), dtype, float(mean), float(std))
    if made is not None:
        return made
    with generator.lock:
        if rest == 0:
            values = transform(draw(count))
        else:
            # The last 16 values are made anew from 16 fresh uniforms. float32 and float64 draw the
            # uniforms of the incomplete group all the same, the 16-bit types do not.
            uniforms = draw(whole if dtype in HALVES else count)[:whole]
            groups = transform(np.concatenate([uniforms, draw(16)]))
            values = np.concatenate([groups[: count - 16], groups[whole:]])
    return cast(_scale(values, mean, std), dtype)


def _scale(values: Array, mean: float, std: float) -> Array:
    """fma(values, std, mean) in the dtype of values, which may be overwritten."""
    if (mean != 0 and std != 1) or max(std, abs(mean)) > _HUGE:
        return (fma64 if values.dtype == _FLOAT64 else fma32)(values, std, mean)
    if std != 1:
        values *= std
    values += mean  # also with 0, as -0.0 becomes 0.0
    return values


# ---- one by one


def serial_normals(
    generator: Generator,
    count: int,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """``count`` normal numbers made one by one; an odd one out stays in the generator.

    >>> generator = Generator().manual_seed(0)
    >>> a, b = serial_normals(generator, 1), serial_normals(generator, 1)
    >>> np.array_equal(np.append(a, b), serial_normals(Generator().manual_seed(0), 2))
    True
    """
    kind = np.dtype(dtype)
    standard = mean == 0 and std == 1
    if count < _GROUP:
        made = kernels.draw_normal(generator, (count,), kind if standard else _FLOAT64)
        if made is not None:
            return made if standard else cast(fma64(made, std, mean), kind)

    def finish(values: Array, library: object) -> Array:
        return values if standard else fma64(values, std, mean)

    return map_serial_normals(generator, count, finish, kind, mean)


def map_serial_normals(
    generator: Generator,
    count: int,
    finish: Callable[[Array, ModuleType | type[CLibrary]], Array],
    dtype: np.dtype,
    addend: float = 0.0,
) -> Array:
    """``finish(z, library)`` of ``count`` serial normals z, rounded to ``dtype``.

    ``library`` is NumPy for a first try, whose doubtful values are then remade with the C library's
    functions; ``addend`` is what finish adds (see ``near_float32_tie``).
    """
    with generator.lock:
        cached = generator.cached_normal if count else None
        start = int(cached is not None)
        pairs = (count - start + 1) // 2
        exact = dtype == _FLOAT64 or pairs <= _MANY
        out = np.empty(start + 2 * pairs, dtype)
        if cached is not None:
            out[0] = cast(finish(np.array([cached]), CLibrary), dtype)[0]
            generator.cached_normal = None
        for part in chunks(pairs):
            uniforms = generator.float64s(2 * (part.stop - part.start)).reshape(-1, 2)
            if exact:
                made = _pairs(uniforms, CLibrary)
                values = finish(made, CLibrary)
            else:
                made = _pairs(uniforms, np)
                values = finish(made, np)
                doubtful = np.asarray(near_float32_tie(values, addend).any(axis=1))
                doubtful[-1] = True  # one of these may go to the generator, with all its bits
                made[doubtful] = _pairs(uniforms[doubtful], CLibrary)
                values[doubtful] = finish(made[doubtful], CLibrary)
            out[start + 2 * part.start : start + 2 * part.stop] = cast(values, dtype).reshape(-1)
        if out.size > count:
            generator.cached_normal = float(made[-1, 1])
    return out[:count]


def _pairs(uniforms: Array, library: Any) -> Array:
    """Two normals from two uniforms, in every row."""
    out = np.empty_like(uniforms)
    if len(uniforms) <= _FEW:
        for i, (turn, tail) in enumerate(uniforms.tolist()):
            radius = math.sqrt(-2.0 * math.log1p(-tail))
            angle = 2.0 * math.pi * turn
            out[i] = radius * math.cos(angle), radius * math.sin(angle)
        return out
    radius = np.sqrt(-2.0 * library.log1p(-uniforms[:, 1]))
    angle = (2.0 * math.pi) * uniforms[:, 0]
    np.multiply(radius, library.cos(angle), out=out[:, 0])
    np.multiply(radius, library.sin(angle), out=out[:, 1])
    return out


# ---- arrays of parameters


def normal_from_arrays(generator: Generator, mean: Array | float, std: Array | float) -> Array:
    """Normal numbers with a mean and a standard deviation each; one of the two may be a number.

    >>> normal_from_arrays(Generator().manual_seed(0), np.array([10.0, 20.0]), np.array([1.0, 0.0]))
    array([11.54099611, 20.        ])
    """
    if generator.samplers is not None:
        return _from_arrays_on_device(generator, mean, std)
    if not isinstance(std, np.ndarray):
        assert isinstance(mean, np.ndarray)
        values = normal(generator, mean.size, 0.0, std, mean.dtype).reshape(mean.shape)
        return np.asarray(values + mean)
    if isinstance(mean, np.ndarray) and mean.shape == std.shape and mean.dtype == std.dtype:
        # the smallest is nan where it is not known at once
        fair = mean.flags.c_contiguous and kernels.extremes(std)[0] >= 0
        made = kernels.draw_normal(generator, mean.shape, mean.dtype) if fair else None
        if made is not None:
            return kernels.add(kernels.multiply(made, std), mean)
    if std.dtype in COMPLEX:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.size and not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    shape = _common_shape(np.shape(mean), std.shape)
    if std.dtype not in FLOATS:
        std = std.astype(COMPLEX.get(dtype, dtype))
    elif std.ndim == 0 and shape and dtype.name not in ("float64", "complex128"):
        std = std.astype(np.float32)  # a number does not widen the arithmetic of an array
    values = normal(generator, math.prod(shape), 0.0, 1.0, dtype).reshape(shape)
    # Product and sum are rounded to the dtype of the result, each on its own.
    return np.asarray(cast(values * std, dtype) + np.asarray(mean, dtype))


def _from_arrays_on_device(generator: Generator, mean: Any, std: Any) -> Array:
    """The same where mean and standard deviation lie on another device."""
    if isinstance(std, (int, float)):
        values = normal(generator, mean.size, 0.0, std, mean.dtype).reshape(mean.shape)
        made: Array = values + mean
        return made
    if std.dtype in COMPLEX:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.size and not bool((std >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    number = isinstance(mean, (int, float))
    dtype = std.dtype if number else mean.dtype
    shape = _common_shape(() if number else mean.shape, std.shape)
    values = normal(generator, math.prod(shape), 0.0, 1.0, dtype).reshape(shape)
    made = (values * std).astype(dtype) + mean
    return made


def _common_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        sizes = zip(reversed(a), reversed(b), strict=False)
        axis = next(i for i, (m, n) in enumerate(sizes) if m != n and 1 not in (m, n))
        raise runtime_error(
            f"The size of tensor a ({a[-1 - axis]}) must match the size of tensor b "
            f"({b[-1 - axis]}) at non-singleton dimension {max(len(a), len(b)) - 1 - axis}",
            code="RG201",
        ) from None
