"""Methods that overwrite a tensor with random numbers: `uniform_`, `normal_`, `bernoulli_` ...

A write counts as any other: it bumps the version, and inside a graph it leaves a node whose
gradient is zero. Memory is filled in PyTorch's order, whatever the strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from retrograd import core
from retrograd.backend import backend_of, kernels, xp_of
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.engine.views import bump, check_writable, refresh
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.making.arguments import as_integer
from retrograd.ops.registry import OPS, op
from retrograd.random import continuous, discrete, integers
from retrograd.random.layout import fill_, in_fill_order
from retrograd.random.mapping import batches, is_mapped
from retrograd.random.normal import normal_ as normal_array_
from retrograd.random.state import Generator, default_generator, generator_or_default
from retrograd.random.uniform import uniform_ as uniform_array_
from retrograd.signatures import forms
from retrograd.tensor import Tensor, tensor_method

_Method = TypeVar("_Method", bound=Callable[..., Tensor])


def _declare(name: str, node_name: str, writer: str, aten: str | None = None) -> None:
    """An op that replaces a tensor by given values: its gradient is zero."""

    def kernel(xp: Namespace, input: Array, values: Any) -> Array:
        result: Array = values
        return result

    kernel.__name__ = name
    op(
        input=lambda m, g: m.zeros_like(g),
        half="move",
        inplace=writer,
        node_name=node_name,
        aten_inplace=aten,
    )(kernel)


for _writer, _node_name in (
    ("uniform_", "UniformBackward0"),
    ("normal_", "NormalBackward0"),
    ("random_", "RandomBackward0"),
    ("exponential_", "ExponentialBackward0"),
    ("geometric_", "GeometricBackward0"),
    ("cauchy_", "CauchyBackward0"),
    ("log_normal_", "LogNormalBackward0"),
):
    _declare(f"_overwrite_{_writer}", _node_name, _writer)
_declare("_overwrite_bernoulli_", "BernoulliBackward2", "bernoulli_", "bernoulli_.float")
_declare("_overwrite_random_to", "RandomBackward1", "random_", "random_.to")
_declare("_overwrite_random_full", "RandomBackward2", "random_", "random_.from")


@op(
    input=lambda m, g: m.zeros_like(g),
    p=lambda m, g, p_shape: m.zeros_like(m.sum_to_size(g, p_shape)),
    half="move",
    inplace="bernoulli_",
    node_name="BernoulliBackward1",
    aten_inplace="bernoulli_.Tensor",
)
def _overwrite_bernoulli_array(xp: Namespace, input: Array, p: Array, values: Any) -> Array:
    result: Array = values
    return result


def _write(
    tensor: Tensor, writer: str, fill: Callable[[Array], Array], name: str | None = None, *more: Any
) -> Tensor:
    """Fill a tensor's array in place, or through an op where a graph must hear of it."""
    if TRANSFORMS.active and is_mapped():
        return batches().in_place(lambda t: _write(t, writer, fill, name, *more), tensor)
    if tensor._view is not None:
        refresh(tensor)
    check_writable(tensor, writer)
    recorded = STATE.grad_enabled and (tensor.requires_grad or any(x.requires_grad for x in more))
    if TRANSFORMS.dual_levels and TRANSFORMS.has_tangents((tensor, *more)):
        recorded = True
    if recorded:
        values = backend_of(tensor._array).drawn(fill, _same_geometry(tensor._array))
        operation = OPS[name or f"_overwrite_{writer}"].in_place
        operation(tensor, *more, values)
    else:
        backend_of(tensor._array).drawn(fill, tensor._array)
        bump(tensor, writer)
    return tensor


def _same_geometry(array: Array) -> Array:
    """Uninitialised memory of the same shape and strides: both decide which number goes where."""
    xp = xp_of(array)
    if array.flags.c_contiguous:
        return xp.empty(array.shape, array.dtype)
    extent = 1 + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    memory = xp.empty(-(-extent // array.itemsize), array.dtype)
    found: Array = xp.strided(memory, array.shape, array.strides)
    return found


def _shortened(
    kernel: Callable[..., Array | None], method: str, **defaults: float
) -> Callable[[_Method], _Method]:
    """Gives a method the compiled way to a kernel that draws into an array; its numbers by name."""
    names, numbers = tuple(defaults), tuple(defaults.values())
    return core.shortcut("draw_into", kernel, default_generator, method, names, numbers)


def _number(function: str, name: str, value: object) -> float:
    if isinstance(value, Tensor) and value._array.size == 1:
        return float(value._array.reshape(()))
    if isinstance(value, (bool, int, float, np.number)):
        return float(value)
    raise TypeError(f"{function}(): argument '{name}' must be float, not {type(value).__name__}")


def _bounds(
    function: str, args: tuple[object, ...], named: dict[str, object], defaults: tuple[Any, Any]
) -> list[Any]:
    """The arguments `from` and `to`; the first is a Python keyword, so it arrives by name only."""
    if len(args) > 2:
        raise TypeError(
            f"{function}() takes from 0 to 2 positional arguments but {len(args)} were given"
        )
    found = [*args, *defaults[len(args) :]]
    for position, name in enumerate(("from", "to")):
        if name in named:
            found[position] = named.pop(name)
    if named:
        raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(named))}'")
    return found


@tensor_method
@forms(
    "(self: Tensor, from_: float = 0.0, to: float = 1.0, /, *, generator: Generator | None = "
    "None) -> Tensor",
    "(self: Tensor, *, to: float, generator: Generator | None = None) -> Tensor",
)
@_shortened(kernels.draw_uniform, "uniform_", **{"from": 0.0, "to": 1.0})
def uniform_(
    self: Tensor, *bounds: Any, generator: Generator | None = None, **named: Any
) -> Tensor:
    """Overwrite with uniform numbers in [from, to), by default [0, 1).

    >>> torch.zeros(2).uniform_(generator=torch.Generator().manual_seed(0))
    tensor([0.4963, 0.7682])
    """
    low, high = _bounds("uniform_", bounds, named, (0.0, 1.0))
    low, high = _number("uniform_", "from", low), _number("uniform_", "to", high)
    source = generator_or_default(generator, "uniform_", backend_of(self._array))
    return _write(self, "uniform_", lambda a: uniform_array_(source, a, low, high))


@tensor_method
@_shortened(kernels.draw_normal, "normal_", mean=0.0, std=1.0)
def normal_(
    self: Tensor,
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Overwrite with normal numbers."""
    centre, width = _number("normal_", "mean", mean), _number("normal_", "std", std)
    source = generator_or_default(generator, "normal_", backend_of(self._array))
    return _write(self, "normal_", lambda a: normal_array_(source, a, centre, width))


@tensor_method
@forms(
    "(self: Tensor, *, generator: Generator | None = None) -> Tensor",
    "(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor",
    "(self: Tensor, from_: int, to: int | None, /, *, generator: Generator | None = None) -> "
    "Tensor",
)
@core.shortcut("draw_whole", kernels.draw_integers, default_generator, "random_")
def random_(self: Tensor, *bounds: Any, generator: Generator | None = None, **named: Any) -> Tensor:
    """Overwrite with whole numbers: of the dtype's range, in [0, to), or in [from, to).

    >>> torch.zeros(3).random_(10, generator=torch.Generator().manual_seed(0))
    tensor([4., 9., 3.])
    """
    source = generator_or_default(generator, "random_", backend_of(self._array))
    if not bounds and not named:
        return _write(
            self,
            "random_",
            lambda a: fill_(a, integers.random_full(source, a.size, a.dtype)),
            "_overwrite_random_full",
        )
    one = len(bounds) + len(named) == 1 and "from" not in named
    if one and bounds:
        named, bounds = {"to": bounds[0]}, ()
    low, high = _bounds("random_", bounds, named, (0, None))
    low = as_integer("random_", "from", 1, low)
    if high is None:
        return _write(
            self, "random_", lambda a: fill_(a, integers.random_from(source, a.size, low, a.dtype))
        )
    end = as_integer("random_", "to", 2, high)
    return _write(
        self,
        "random_",
        lambda a: integers.randint_(source, a, low, end),
        "_overwrite_random_to" if one else None,
    )


@tensor_method
@_shortened(kernels.draw_ones, "bernoulli_", p=0.5)
def bernoulli_(
    self: Tensor, p: float | Tensor | None = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Overwrite with ones, with probability `p` (a number or a tensor), and zeros."""
    source = generator_or_default(generator, "bernoulli_", backend_of(self._array))
    if not isinstance(p, Tensor):
        chance = _number("bernoulli_", "p", p)
        return _write(self, "bernoulli_", lambda a: discrete.bernoulli_(source, a, chance))
    if TRANSFORMS.active and is_mapped():
        return batches().bernoulli_in_place(
            lambda made, wide: bernoulli_(made, wide, generator=source), self, p
        )
    chances: Array = p.detach().expand(self._array.shape)._array

    def fill(a: Array) -> Array:
        if source.samplers is not None:
            return _fill_in_shared_order(source, a, chances)
        flat = in_fill_order(chances, a)
        return fill_(a, discrete.bernoulli_from_array(source, flat, a.dtype))

    return _write(self, "bernoulli_", fill, "_overwrite_bernoulli_array", p)


def _fill_in_shared_order(source: Generator, target: Array, chances: Array) -> Array:
    """Choices on a device: PyTorch turns two axes where both arrays have the faster one first."""
    axes = list(range(target.ndim))
    for i in range(target.ndim):
        for j in range(i + 1, target.ndim):
            if target.shape[axes[i]] == 1 or target.shape[axes[j]] == 1:
                continue
            steps = [(x.strides[axes[i]], x.strides[axes[j]]) for x in (target, chances)]
            if any(a < b for a, b in steps) and not any(a > b for a, b in steps):
                axes[i], axes[j] = axes[j], axes[i]
    turned = chances.transpose(axes)
    drawn = discrete.bernoulli_from_array(source, turned.reshape(-1), target.dtype)
    target.transpose(axes)[...] = drawn.reshape(turned.shape)
    return target


@tensor_method
@_shortened(kernels.draw_exponential, "exponential_", lambd=1.0)
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Overwrite with exponential numbers of rate `lambd`."""
    rate = _number("exponential_", "lambd", lambd)
    source = generator_or_default(generator, "exponential_", backend_of(self._array))
    return _write(self, "exponential_", lambda a: continuous.exponential_(source, a, rate))


@tensor_method
@_shortened(kernels.draw_geometric, "geometric_", p=math.nan)  # nan: no number, which must be given
def geometric_(
    self: Tensor, p: float | Tensor | None, *, generator: Generator | None = None
) -> Tensor:
    """Overwrite with the numbers of trials until a success of probability `p`."""
    chance = _number("geometric_", "p", p)
    source = generator_or_default(generator, "geometric_", backend_of(self._array))
    return _write(self, "geometric_", lambda a: discrete.geometric_(source, a, chance))


@tensor_method
@_shortened(kernels.draw_cauchy, "cauchy_", median=0.0, sigma=1.0)
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Overwrite with Cauchy numbers."""
    centre, width = _number("cauchy_", "median", median), _number("cauchy_", "sigma", sigma)
    source = generator_or_default(generator, "cauchy_", backend_of(self._array))
    return _write(
        self,
        "cauchy_",
        lambda a: continuous.cauchy_(source, a, centre, width),
    )


@tensor_method
@_shortened(kernels.draw_log_normal, "log_normal_", mean=1.0, std=2.0)
def log_normal_(
    self: Tensor,
    mean: Tensor | float = 1.0,
    std: Tensor | float = 2.0,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Overwrite with exponentials of normal numbers."""
    centre, width = _number("log_normal_", "mean", mean), _number("log_normal_", "std", std)
    source = generator_or_default(generator, "log_normal_", backend_of(self._array))
    return _write(
        self,
        "log_normal_",
        lambda a: continuous.log_normal_(source, a, centre, width),
    )
