"""Continuous distributions: ``exponential_``, ``cauchy_``, ``log_normal_``, gamma and Dirichlet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
import numpy.typing as npt

from retrograd.backend import kernels
from retrograd.random.arguments import FLOATS, not_implemented, number, spelled
from retrograd.random.arithmetic import CLibrary, cast, fma64, near_float32_tie
from retrograd.random.generator import Array, Generator, chunks
from retrograd.random.layout import fill_
from retrograd.random.normal import map_serial_normals

__all__ = [
    "cauchy",
    "cauchy_",
    "dirichlet",
    "exponential",
    "exponential_",
    "log_normal",
    "log_normal_",
    "standard_gamma",
]

_FLOAT64 = np.dtype(np.float64)
_FEW = 256  # values: below, the C library's functions are called at once


def _from_uniforms(
    generator: Generator,
    count: int,
    formula: Callable[[Array, ModuleType | type[CLibrary]], Array],
    dtype: np.dtype,
    addend: float = 0.0,
) -> Array:
    """``formula(u, library)`` of ``count`` float64 uniforms u, rounded to ``dtype``.

    For a dtype of 32 bits or fewer NumPy's functions do, except where the last bits could matter.
    """
    out = np.empty(count, dtype)
    exact = dtype == _FLOAT64 or count <= _FEW
    with generator.lock:
        for part in chunks(count):
            uniforms = generator.float64s(part.stop - part.start)
            values = formula(uniforms, CLibrary if exact else np)
            if not exact:
                doubtful = near_float32_tie(values, addend)
                values[doubtful] = formula(uniforms[doubtful], CLibrary)
            out[part] = cast(values, dtype)
    return out


def exponential(
    generator: Generator, count: int, rate: float = 1.0, dtype: npt.DTypeLike = np.float32
) -> Array:
    """``count`` exponential numbers of the given rate (``lambd``).

    >>> exponential(Generator().manual_seed(0), 2)
    array([3.5083263, 1.2303847], dtype=float32)
    """
    kind = np.dtype(dtype)
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={number(rate)}")
    if count == 0:
        return np.empty(0, kind)
    if kind not in FLOATS:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {spelled(kind)}"
        )
    if generator.samplers is not None:
        made: Array = generator.samplers.of_reals("exponential", count, rate, kind)
        return made
    scale = -1.0 / rate
    return _from_uniforms(generator, count, lambda u, library: scale * library.log1p(-u), kind)


def exponential_(generator: Generator, target: Array, rate: float) -> Array:
    """Fill ``target`` with exponential numbers, and return it."""
    made = kernels.draw_exponential(generator, target, target.dtype, rate)
    if made is not None:
        return made
    return fill_(target, exponential(generator, target.size, rate, target.dtype))


def cauchy(
    generator: Generator,
    count: int,
    median: float = 0.0,
    sigma: float = 1.0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """``count`` Cauchy numbers.

    >>> cauchy(Generator().manual_seed(0), 2)
    array([10.59773  ,  0.7647673], dtype=float32)
    """
    kind = np.dtype(dtype)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={number(sigma)}")
    if kind not in FLOATS:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {spelled(kind, cpp=True)}"
        )
    if generator.samplers is not None:
        made: Array = generator.samplers.of_reals("cauchy", count, median, sigma, kind)
        return made

    def formula(u: Array, library: ModuleType | type[CLibrary]) -> Array:
        return fma64(library.tan(math.pi * (u - 0.5)), sigma, median)

    return _from_uniforms(generator, count, formula, kind, median)


def cauchy_(generator: Generator, target: Array, median: float, sigma: float) -> Array:
    """Fill ``target`` with Cauchy numbers, and return it."""
    made = kernels.draw_cauchy(generator, target, target.dtype, median, sigma)
    if made is not None:
        return made
    return fill_(target, cauchy(generator, target.size, median, sigma, target.dtype))


def log_normal(
    generator: Generator,
    count: int,
    mean: float = 1.0,
    std: float = 2.0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """``count`` exponentials of normal numbers with ``mean`` and ``std``.

    >>> log_normal(Generator().manual_seed(0), 2)
    array([59.263416,  1.51156 ], dtype=float32)
    """
    kind = np.dtype(dtype)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={number(std)}")
    if count == 0:
        return np.empty(0, kind)
    if kind not in FLOATS:
        raise not_implemented("log_normal_cpu", kind)
    if generator.samplers is not None:
        made: Array = generator.samplers.of_reals("log_normal", count, mean, std, kind)
        return made
    # The error of an exponent grows with it: beyond moderate ones only the exact functions do.
    moderate = abs(mean) <= 64 and std <= 16

    def finish(z: Array, library: ModuleType | type[CLibrary]) -> Array:
        with np.errstate(over="ignore"):
            exponents = fma64(z, std, mean)
            return np.asarray((library if moderate else CLibrary).exp(exponents))

    return map_serial_normals(generator, count, finish, kind)


def log_normal_(generator: Generator, target: Array, mean: float, std: float) -> Array:
    """Fill ``target`` with exponentials of normal numbers, and return it."""
    made = kernels.draw_log_normal(generator, target, target.dtype, mean, std)
    if made is not None:
        return made
    return fill_(target, log_normal(generator, target.size, mean, std, target.dtype))


# ---- gamma and Dirichlet: one value after the other


def standard_gamma(generator: Generator, shape: Array) -> Array:
    """A gamma number (of scale 1) for every shape parameter.

    >>> standard_gamma(Generator().manual_seed(0), np.array([2.0, 20.0]))
    array([ 4.55262281, 18.39388327])
    """
    if shape.dtype not in FLOATS or shape.dtype.itemsize < 4:
        raise not_implemented("gamma_cpu", shape.dtype)
    if generator.samplers is not None:
        drawn: Array = generator.samplers.on_host(10, standard_gamma, shape)
        return drawn
    values = cast(np.array(_gammas(generator, shape)), shape.dtype)
    # Written as in C: a NaN gives the smallest number too.
    tiny = np.finfo(shape.dtype).tiny
    return np.where(values > tiny, values, tiny).astype(shape.dtype).reshape(shape.shape)


def dirichlet(generator: Generator, concentration: Array) -> Array:
    """Rows of positive numbers that add up to 1, one for every row of ``concentration``.

    >>> float(dirichlet(Generator().manual_seed(0), np.array([1.0, 2.0, 3.0])).sum())
    1.0
    """
    dtype = concentration.dtype
    if dtype not in FLOATS or dtype.itemsize < 4:
        raise not_implemented("dirichlet", dtype)
    if generator.samplers is not None:
        drawn: Array = generator.samplers.on_host(10, dirichlet, concentration)
        return drawn
    gammas = standard_gamma(generator, concentration.astype(np.float64))
    if concentration.ndim:
        gammas /= _row_sums(gammas)[..., None]
    else:
        gammas /= gammas
    values = gammas.astype(dtype)
    one = dtype.type(1)
    return np.asarray(np.clip(values, np.finfo(dtype).tiny, np.nextafter(one, dtype.type(0))))


def _row_sums(rows: Array) -> Array:
    """float64 sums over the last axis, added up in PyTorch's order.

    Four vectors of four numbers are summed side by side. To the first sum come the vectors that are
    left, then the other sums; and to the sum of the numbers that fill no vector, its four lanes.
    """
    width = rows.shape[-1] // 4 * 4
    vectors = rows[..., :width].reshape(*rows.shape[:-1], width // 4, 4)
    whole = vectors.shape[-2] // 4 * 4
    sums = [_cascade(vectors[..., k:whole:4, :]) for k in range(4)]
    lanes = sums[0]
    for i in range(whole, vectors.shape[-2]):
        lanes = lanes + vectors[..., i, :]
    for other in sums[1:]:
        lanes = lanes + other
    total = np.zeros(rows.shape[:-1])
    for i in range(width, rows.shape[-1]):
        total = total + rows[..., i]
    for lane in range(4):
        total = total + lanes[..., lane]
    return total


def _cascade(terms: Array) -> Array:
    """Sums over the last axis but one: of runs of 16 or more, of runs of runs, four levels up."""
    count = terms.shape[-2]
    power = max(4, (max(count, 1) - 1).bit_length() // 4)
    run = 1 << power
    levels = [np.zeros(terms.shape[:-2] + terms.shape[-1:]) for _ in range(4)]
    for i in range(count):
        levels[0] = levels[0] + terms[..., i, :]
        done = i + 1
        level = 1
        while level < 4 and done % run == 0:
            levels[level] = levels[level] + levels[level - 1]
            levels[level - 1] = np.zeros_like(levels[0])
            done //= run
            level += 1
    return ((levels[0] + levels[1]) + levels[2]) + levels[3]


_SQUEEZE = float(np.float32(0.0331))


def _gammas(generator: Generator, shape: Array) -> list[float]:
    with generator.lock:
        uniform = generator.each_float64().__next__
        return [
            _gamma(generator, boost, d, c, uniform) if boost is not None else 0.0
            for boost, d, c in _gamma_terms(shape)
        ]


def _gamma_terms(shape: Array) -> Iterator[tuple[float | None, float, float]]:
    """For every shape the exponent that lifts it above 1 (None for shape 0), and d and c.

    The exponent and d are computed in the dtype of the shapes, c in float64.
    """
    real = shape.dtype.type
    flat = shape.ravel()
    small = flat < 1
    with np.errstate(all="ignore"):
        boost = np.where(small, real(1) / flat, 0).tolist()
        d = np.where(small, flat + real(1), flat) - real(np.float32(1) / np.float32(3))
        d = d.astype(np.float64)
        c = 1.0 / np.sqrt(9.0 * d)
    exponents = (None if zero else b for zero, b in zip((flat == 0).tolist(), boost, strict=True))
    return zip(exponents, d.tolist(), c.tolist(), strict=True)


def _gamma(
    generator: Generator, boost: float, d: float, c: float, uniform: Callable[[], float]
) -> float:
    """The method of Marsaglia and Tsang (2000)."""
    scale = 1.0
    if boost:
        try:
            scale = math.pow(1.0 - uniform(), boost)
        except OverflowError:
            scale = math.inf
    while True:
        x = _one_normal(generator, uniform)
        y = 1.0 + c * x
        while y <= 0:
            x = _one_normal(generator, uniform)
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - uniform()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + (math.log(v) if v > 0 else math.nan)):
            return scale * d * v


def _one_normal(generator: Generator, uniform: Callable[[], float]) -> float:
    """The next serial normal."""
    cached = generator.cached_normal
    if cached is not None:
        generator.cached_normal = None
        return cached
    turn, tail = uniform(), uniform()
    radius = math.sqrt(-2.0 * math.log1p(-tail))
    angle = 2.0 * math.pi * turn
    generator.cached_normal = radius * math.sin(angle)
    return radius * math.cos(angle)
