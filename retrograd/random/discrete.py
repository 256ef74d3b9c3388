"""Counts and choices: ``bernoulli``, ``geometric_``, ``poisson``, ``binomial``, ``multinomial``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from retrograd.backend import kernels
from retrograd.notices import explained, runtime_error
from retrograd.random.arguments import COMPLEX, FLOATS, not_implemented, number, spelled
from retrograd.random.arithmetic import CLibrary, cast, lgamma, to_int64
from retrograd.random.generator import Array, Generator, chunks
from retrograd.random.layout import fill_

__all__ = [
    "bernoulli",
    "bernoulli_",
    "bernoulli_from_array",
    "binomial",
    "geometric",
    "geometric_",
    "poisson",
]

_FLOAT64 = np.dtype(np.float64)
_FEW = 256  # values: below, the C library's functions are called at once


def bernoulli(
    generator: Generator, count: int, p: float = 0.5, dtype: npt.DTypeLike = np.float32
) -> Array:
    """``count`` ones with probability ``p``, else zeros.

    >>> bernoulli(Generator().manual_seed(0), 4, 0.5)
    array([0., 0., 1., 0.], dtype=float32)
    """
    kind = np.dtype(dtype)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={number(p)}")
    if count == 0:
        return np.empty(0, kind)
    if kind in COMPLEX or kind.name in ("uint16", "uint32", "uint64"):
        raise not_implemented("bernoulli_scalar_cpu_", kind)
    if generator.samplers is not None:
        drawn: Array = generator.samplers.of_reals("choices", count, p, kind)
        return drawn
    made = kernels.draw_ones(generator, (count,), kind, float(p))
    return (generator.float64s(count) < p).astype(kind) if made is None else made


def bernoulli_(generator: Generator, target: Array, p: float) -> Array:
    """Fill ``target`` with ones and zeros, and return it."""
    made = kernels.draw_ones(generator, target, target.dtype, p)
    if made is not None:
        return made
    return fill_(target, bernoulli(generator, target.size, p, target.dtype))


def bernoulli_from_array(
    generator: Generator, p: Array, dtype: npt.DTypeLike | None = None
) -> Array:
    """A one with probability ``p[i]`` for every i of the flat array ``p``, else a zero.

    >>> bernoulli_from_array(Generator().manual_seed(0), np.array([0.0, 1.0, 0.5]))
    array([0., 1., 1.])
    """
    kind = np.dtype(p.dtype if dtype is None else dtype)
    if p.dtype not in FLOATS:
        raise not_implemented("bernoulli_tensor_cpu_p_", p.dtype)
    if kind in COMPLEX or kind.name in ("uint16", "uint32", "uint64"):
        raise not_implemented("bernoulli_tensor_cpu_self_", kind)
    if generator.samplers is not None:
        made: Array = generator.samplers.choices_of(p, kind)
        return made
    draw = generator.float64s if p.dtype == _FLOAT64 else generator.float32s
    valid = (p >= 0) & (p <= 1)
    if not valid.all():
        draw(int(valid.argmin()))  # the values before the first wrong one are made
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message "
            "be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    uniforms = draw(p.size)
    return (uniforms < p.astype(uniforms.dtype, copy=False)).astype(kind)


def geometric(
    generator: Generator, count: int, p: float, dtype: npt.DTypeLike = np.float32
) -> Array:
    """``count`` numbers of trials until the first success, each with probability ``p``.

    >>> geometric(Generator().manual_seed(0), 3, 0.5)
    array([1., 1., 2.], dtype=float32)
    """
    kind = np.dtype(dtype)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={number(p)}")
    if count == 0:
        return np.empty(0, kind)
    if kind in COMPLEX or kind.name in ("bool", "uint16", "uint32", "uint64"):
        raise not_implemented("geometric_cpu", kind)
    if generator.samplers is not None:
        made: Array = generator.samplers.of_reals("geometric", count, p, kind)
        return made
    scale = math.log1p(-p)
    out = np.empty(count, kind)
    with generator.lock, np.errstate(divide="ignore", invalid="ignore"):
        for part in chunks(count):
            uniforms = generator.float64s(part.stop - part.start)
            if count <= _FEW:
                trials = CLibrary.log(uniforms) / scale
            else:
                trials = np.log(uniforms) / scale
                # Only next to a whole number can the last bits of the logarithm decide.
                doubtful = np.abs(trials - np.rint(trials)) <= trials * 2.0**-40
                trials[doubtful] = CLibrary.log(uniforms[doubtful]) / scale
            trials = np.ceil(trials, out=trials)
            if kind in FLOATS:
                out[part] = cast(trials, kind)
            elif kind.itemsize < 4:
                out[part] = trials.astype(np.int32)  # what does not fit wraps around
            else:
                out[part] = trials.astype(kind)
    return out


def geometric_(generator: Generator, target: Array, p: float) -> Array:
    """Fill ``target`` with numbers of trials, and return it."""
    made = kernels.draw_geometric(generator, target, target.dtype, p)
    if made is not None:
        return made
    return fill_(target, geometric(generator, target.size, p, target.dtype))


# ---- rejection samplers: one value after the other


def poisson(generator: Generator, rate: Array) -> Array:
    """A Poisson number for every entry of ``rate``.

    >>> poisson(Generator().manual_seed(0), np.array([0.0, 3.0, 1000.0]))
    array([  0.,   6., 986.])
    """
    if rate.dtype not in FLOATS:
        raise not_implemented("poisson_cpu", rate.dtype)
    if generator.samplers is not None:
        drawn: Array = generator.samplers.on_host(20, poisson, rate)
        return drawn
    with generator.lock:
        uniform = generator.each_float64().__next__
        counts = [_poisson(value, uniform) for value in rate.astype(np.float64).ravel().tolist()]
    return cast(np.array(counts, np.float64), rate.dtype).reshape(rate.shape)


def _poisson(rate: float, uniform: Callable[[], float]) -> float:
    if not rate >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if rate == 0:
        return 0
    if rate < 10:  # how many uniforms multiply to exp(-rate)
        limit, product, count = math.exp(-rate), uniform(), 0
        while product > limit:
            product *= uniform()
            count += 1
        return count
    # Transformed rejection (W. Hoermann, 1993).
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = (2 * a / us + b) * u + rate + 0.43
        if math.isfinite(k):
            k = math.floor(k)
        if us >= 0.07 and v <= squeeze:
            return to_int64(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = (math.log(v) if v else -math.inf) + math.log(inverse_alpha)
        left -= math.log(a / (us * us) + b)
        if left <= -rate + k * log_rate - lgamma(k + 1.0):
            return to_int64(k)


def binomial(generator: Generator, count: Array, probability: Array) -> Array:
    """The number of successes in ``count`` trials, for every pair of entries (arrays of one shape).

    >>> binomial(Generator().manual_seed(0), np.array([10.0, 100.0]), np.array([0.5, 0.5]))
    array([ 7., 51.])
    """
    if count.dtype not in FLOATS:
        raise explained(
            ValueError(
                "binomial only supports floating-point dtypes for count, got: "
                f"{spelled(count.dtype)}"
            ),
            code="RG304",
        )
    if probability.dtype != count.dtype:
        raise runtime_error(
            f"Found dtype {spelled(probability.dtype)} but expected {spelled(count.dtype)}",
            code="RG301",
        )
    if count.dtype.itemsize < 4:
        raise not_implemented("binomial_cpu", count.dtype)
    if generator.samplers is not None:
        drawn: Array = generator.samplers.on_host(42, binomial, count, probability)
        return drawn
    real = count.dtype.type
    with generator.lock, np.errstate(all="ignore"):
        uniform = generator.each_float64().__next__
        results = [
            _binomial(trials, chance, uniform, real)
            for trials, chance in zip(count.ravel(), probability.ravel(), strict=True)
        ]
    return np.array(results, count.dtype).reshape(count.shape)


def _binomial(count: Any, chance: Any, uniform: Callable[[], float], real: Any) -> float:
    """count and chance are NumPy scalars of type ``real``, in which a part is computed."""
    if count <= 0 or chance <= 0:
        return 0.0
    if chance >= 1:
        return float(count)
    if math.isnan(chance):
        return math.nan
    if math.isnan(count):
        raise RuntimeError("binomial expects a count that is not NaN")
    if chance > 0.5:
        return float(count) - _binomial(count, real(1.0 - float(chance)), uniform, real)
    if float(count * chance) < 10.0:
        return _binomial_inversion(float(count), float(np.log1p(-chance)), uniform)
    return _binomial_rejection(count, chance, uniform, real)


def _binomial_inversion(count: float, log_failure: float, uniform: Callable[[], float]) -> int:
    """Add up the trials from one success to the next until they exceed count."""
    total, successes = 0.0, 0
    while True:
        u = uniform()
        total += math.ceil(math.log(u) / log_failure) if u else math.inf
        if total > count:
            return successes
        successes += 1


def _binomial_rejection(count: Any, chance: Any, uniform: Callable[[], float], real: Any) -> float:
    """Transformed rejection with squeeze, BTRS (W. Hoermann, 1993)."""
    one = real(1)
    spread = float(np.sqrt(count * chance * (one - chance)))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * float(chance)
    c = float(count * chance) + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = float(chance / (one - chance))
    alpha = (2.83 + 5.1 / b) * spread
    mode = float(np.floor((count + one) * chance))
    n = float(count)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = (2 * a / us + b) * u + c
        if math.isfinite(k):
            k = math.floor(k)
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= squeeze:
            return k
        v = v * alpha / (a / (us * us) + b)
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )
        if (math.log(v) if v > 0 else -math.inf) <= bound:
            return k


_STIRLING_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: float) -> float:
    """What Stirling's approximation of log(k!) leaves out."""
    if k < 10:
        return _STIRLING_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
