"""Dropout: elements, or whole channels, set to zero at random.

Random numbers come from the default generator, drawn as PyTorch draws them: with the same seed the
same elements are dropped.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.above import above
from retrograd.backend import backend_of, kernels, xp_of
from retrograd.engine.slices import copy_with_strides
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.kinds import Array
from retrograd.ops.registry import OPS, RECORDED, attach, functional
from retrograd.random.discrete import bernoulli
from retrograd.random.layout import fill_, is_dense, new_like
from retrograd.random.mapping import batches, is_mapped
from retrograd.random.state import (
    Generator,
    Positions,
    generator_or_default,
    positions,
    replayed,
)
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor, wrap

_add_ = OPS["add"].in_place
_mul_ = OPS["mul"].in_place
assert _add_ is not None and _mul_ is not None


def _check_probability(p: float, kind: type[Exception]) -> None:
    if p < 0.0 or p > 1.0:
        raise kind(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(array: Array, keep: float, features: bool, plain: bool = False) -> Tensor:
    """What an input is multiplied with, one element per channel for `features`.

    plain  for dropout of elements, which devices may draw otherwise than `bernoulli_`
    """
    wanted = _feature_shape(array) if features else array
    if TRANSFORMS.active and is_mapped():

        def draw(shape: tuple[int, ...]) -> Tensor:
            return _noise(xp_of(array).empty(shape, array.dtype), keep, False, plain)

        return batches().by_shape(draw, wanted.shape)
    return wrap(_ones_and_zeros(wanted, keep, plain and not features))


def ones_kept(input: Tensor, keep: float) -> Tensor:
    """A one for each element that dropout keeps, else a zero."""
    return _noise(input._array, keep, False, True)


def _ones_and_zeros(array: Array, keep: float, plain: bool) -> Array:
    """An array like `array`, laid out as it is: one with probability `keep`, else zero."""
    backend = backend_of(array)
    source = generator_or_default(None, "dropout", backend)
    if plain and source.samplers is not None:
        return _kept(array, keep, source, backend.address(array))
    if array.flags.c_contiguous:
        return backend.drawn(_in_rows, source, array.shape, array.dtype, keep)
    return backend.drawn(_laid_out, source, array, keep)


def _in_rows(source: Generator, shape: tuple[int, ...], dtype: Any, keep: float) -> Array:
    made: Array | None = None
    if source.samplers is None:
        made = kernels.draw_ones(source, shape, dtype, keep)
    return bernoulli(source, math.prod(shape), keep, dtype).reshape(shape) if made is None else made


def _laid_out(source: Generator, array: Array, keep: float) -> Array:
    # a view of what is not contiguous is made anew without gaps
    return fill_(new_like(array), bernoulli(source, array.size, keep, array.dtype))


def _kept(array: Array, keep: float, source: Generator, address: int) -> Array:
    """Dropout's own draw on a device: a thread takes as many elements as it loads at once."""
    width = 16 // array.itemsize if is_dense(array) else 1
    while width > 1 and (array.size % width or address % (width * array.itemsize)):
        width //= 2
    flat = source.samplers.kept(array.size, keep, width).astype(array.dtype)
    if width == 1:  # by the index, where the others go by the place in memory
        drawn: Array = flat.reshape(array.shape)
        return drawn
    return fill_(new_like(array), flat)


def _check_type(array: Array) -> None:
    if array.dtype.kind in "biu":
        target = dtypes.from_numpy_dtype(array.dtype)
        raise errors.cannot_cast_result(dtypes.get_default_dtype(), target)


def _multiply(input: Tensor, noise: Tensor, inplace: bool) -> Tensor:
    multiply: Any = _mul_ if inplace else RECORDED.mul
    result: Tensor = multiply(input, noise)
    return result


def _feature_shape(array: Array) -> Array:
    """An array of one element per channel: shape (batch, channels, 1, ...)."""
    if array.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return xp_of(array).empty((*array.shape[:2], *(1,) * (array.ndim - 2)), array.dtype)


def _drop(input: Tensor, p: float, train: bool, inplace: bool, features: bool = False) -> Tensor:
    """Zeros with probability `p`; what is kept grows by ``1 / (1 - p)``."""
    array = input._array
    if p == 0 or not train or not array.size:
        return input
    if p == 1:
        return _multiply(input, wrap(xp_of(array).zeros((), array.dtype)), inplace)
    begin = None if STATE.draws is None else positions()
    noise = _noise(array, 1 - p, features, not inplace)
    _check_type(array)
    drawn = noise._elements()  # fresh: ours to write
    drawn /= 1 - p
    if STATE.draws is not None and begin is not None and not TRANSFORMS.active:
        again = _drawn_again(begin, array, 1 - p, features, not inplace)
        STATE.draws.drew(noise, again)
    return _multiply(input, noise, inplace)


def _drawn_again(
    begin: Positions, like: Array, keep: float, features: bool, plain: bool
) -> Callable[[], Array]:
    """A function that draws the same noise again, and leaves the generator as it is."""
    xp, shape, strides, dtype = xp_of(like), like.shape, like.strides, like.dtype

    def draw() -> Array:
        again = copy_with_strides(xp.empty(shape, dtype), strides)
        with replayed(begin):
            noise = _noise(again, keep, features, plain)._elements()
        noise /= keep
        return noise

    return draw


_ALPHA = 1.7580993408473766  # -scale * alpha of selu


def _drop_alpha(
    input: Tensor, p: float, train: bool, inplace: bool, features: bool = False
) -> Tensor:
    """Dropout to the negative saturation value of selu: mean and variance stay as they are."""
    array = input._array
    if p == 0 or not train or not array.size:
        return input
    if p == 1:
        return _multiply(input, wrap(xp_of(array).zeros((), array.dtype)), inplace)
    noise = _noise(array, 1 - p, features)
    _check_type(array)
    scale = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    drawn = noise._elements()  # fresh: ours to write
    shifts = drawn - 1
    shifts *= _ALPHA * scale
    shifts += _ALPHA * scale * p
    drawn *= scale
    shift = _wrapped_as(noise, shifts)
    if inplace:
        changed: Tensor = _add_(_mul_(input, noise), shift)
        return changed
    return RECORDED.add(RECORDED.mul(input, noise), shift)


@above
def rewrap(physical: Tensor, batch_dim: int, level: int) -> Tensor:
    """A tensor as a batch of a level of `vmap`."""
    raise NotImplementedError


def _wrapped_as(noise: Any, array: Array) -> Tensor:
    """An array as a tensor, batched as the noise is."""
    if not noise._level:
        return wrap(array)
    return rewrap(_wrapped_as(noise._physical, array), noise._batch_dim, noise._level)


def dropout_of(input: Tensor, p: float) -> Tensor:
    """Dropout in training, for other functions of the library."""
    _check_probability(p, RuntimeError)
    if TRANSFORMS.active and 0 < p < 1 and is_mapped():
        batches().check_batched(input)  # PyTorch's attention fills a mask in place
    return _drop(input, p, True, False)


# --------------------------------------------------------------------- torch.dropout and friends


def _publish(name: str, drop: Callable[..., Tensor], features: bool) -> None:
    """``torch.<name>(input, p, train)`` and its in-place twin."""

    def fresh(input: Tensor, p: float, train: bool) -> Tensor:
        _check_probability(p, RuntimeError)
        return drop(input, p, train, False, features)

    def inplace(input: Tensor, p: float, train: bool) -> Tensor:
        _check_probability(p, RuntimeError)
        return drop(input, p, train, True, features)

    for function, public in ((fresh, name), (inplace, f"{name}_")):
        function.__name__ = function.__qualname__ = public
        function.__doc__ = f"The function behind ``nn.functional``'s {name.replace('_', ' ')}."
        attach(function, public=(public,))


_publish("dropout", _drop, False)
_publish("feature_dropout", _drop, True)
_publish("alpha_dropout", _drop_alpha, False)
_publish("feature_alpha_dropout", _drop_alpha, True)

# -------------------------------------------------------------------------------- nn.functional


@functional(
    samples=lambda: [
        Sample(T(3, 4), 0.0),
        Sample(T(3, 4), 1.0),
        Sample(T(3, 4), training=False),
        Sample(T(0, 3)),
        Sample(T(3), 1.5),
        Sample(T(3), -0.5),
        *(Sample(T(3, dtype=name), grad=False) for name in ("int64", "bool", "complex64")),
    ]
)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to zero with probability `p`, the others divided by ``1 - p``.

    >>> torch.nn.functional.dropout(torch.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """
    _check_probability(p, ValueError)
    try:
        return _drop(input, p, training, inplace)
    except AttributeError:
        if isinstance(input, Tensor):
            raise
        raise errors.not_tensors("dropout", input=input) from None


@functional(samples=lambda: [Sample(T(3, 4), 1.0, True), Sample(T(3))])
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps the mean and variance of what selu makes."""
    _check_probability(p, ValueError)
    return _drop_alpha(input, p, training, inplace)


@functional(samples=lambda: [Sample(T(3, 4), 1.0, True), Sample(T(3))])
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Alpha dropout of whole channels."""
    _check_probability(p, ValueError)
    return _drop_alpha(input, p, training, inplace, True)


def _drop_channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if batched:
        return _drop(input, p, training, inplace, True)
    single = input.unsqueeze(0)
    return _drop(single, p, training, inplace, True).squeeze(0)


@functional(samples=lambda: [Sample(T(2, 3, 4), 0.0), Sample(T(2))])
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of a (N, C, L) or (C, L) input set to zero."""
    _check_probability(p, ValueError)
    rank = input.ndim
    if rank not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _drop_channels(input, p, training, inplace, rank == 3)


def _warn_rank(name: str, rank: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. "
        f"{spatial + 1}D or {spatial + 2}D inputs).",
        UserWarning,
        stacklevel=user_level(),
    )


@functional(samples=lambda: [Sample(T(2, 3, 4, 5), 0.0), Sample(T(2))])
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of a (N, C, H, W) input set to zero."""
    _check_probability(p, ValueError)
    rank = input.ndim
    if rank not in (3, 4):
        _warn_rank("dropout2d", rank, 2)
    if rank == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            UserWarning,
            stacklevel=user_level(),
        )
    return _drop(input, p, training, inplace, True)


@functional(samples=lambda: [Sample(T(2, 3, 4, 5, 1), 0.0), Sample(T(2), 1.0)])
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels of a (N, C, D, H, W) or (C, D, H, W) input set to zero."""
    _check_probability(p, ValueError)
    rank = input.ndim
    if rank not in (4, 5):
        _warn_rank("dropout3d", rank, 3)
    return _drop_channels(input, p, training, inplace, rank == 5)
