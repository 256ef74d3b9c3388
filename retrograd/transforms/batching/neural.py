"""Batching rules of layers: convolution, pooling, padding, resizing, normalisation."""

from __future__ import annotations

from typing import Any

from retrograd.ops.neural.normalization import Layout
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.batching.elementwise import elementwise
from retrograd.transforms.batching.rules import IMAGES, BatchedCall, batching, call_op, loop

batching("_prelu_kernel", "_prelu_gradient")(elementwise)


def joined(tensor: Tensor) -> Tensor:
    """The first two dimensions, the batch and that of an example, as one."""
    shape = tensor._array.shape
    return RECORDED.reshape(tensor, (shape[0] * shape[1], *shape[2:]))


def parted(call: BatchedCall, tensor: Tensor) -> Tensor:
    """The other way round."""
    first, *rest = tensor._array.shape
    return RECORDED.reshape(tensor, (call.size, first // call.size if call.size else 0, *rest))


# --------------------------------------------------------------------- images in any number


@batching(IMAGES)
def _images(call: BatchedCall) -> list[Tensor]:
    full = call.op.images
    names = call.op.plan.tensor_names
    ranks = {call.rank(name) for name in names}
    tensors = {name: call.expanded(name) for name in names}
    if not call.size or len(ranks) > 1:
        return loop(call)
    rank = ranks.pop()
    if rank + 1 == full:
        return call.run(**tensors)
    if rank != full:
        return loop(call)  # raises
    found = call.run(**{name: joined(tensor) for name, tensor in tensors.items()})
    return [parted(call, result) for result in found]


@batching("pixel_shuffle", "pixel_unshuffle", "_circular_pad")
def _any_number(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input")) if call.rank("input") > 2 else loop(call)


@batching("_circular_pad_gradient")
def _unpad(call: BatchedCall) -> list[Tensor]:
    return call.run(gradient=call.front("gradient"))


@batching("constant_pad_nd")
def _pad(call: BatchedCall) -> list[Tensor]:
    if len(call["pad"]) // 2 > call.rank("input"):
        return loop(call)  # raises
    return call.run(input=call.front("input"))


# ---------------------------------------------------------------------------------- convolution


def _channels(tensor: Tensor) -> Tensor:
    """(batch, images, channels, ...) as images with the channels of all examples."""
    size, images, channels, *rest = tensor._array.shape
    order = (1, 0, *range(2, tensor._array.ndim))
    return RECORDED.reshape(RECORDED.permute(tensor, order), (images, size * channels, *rest))


def _examples_of(call: BatchedCall, tensor: Tensor) -> Tensor:
    """The other way round."""
    images, channels, *rest = tensor._array.shape
    shape = (images, call.size, channels // call.size, *rest)
    wide = RECORDED.reshape(tensor, shape)
    return RECORDED.permute(wide, (1, 0, *range(2, len(shape))))


@batching("convolution")
def _convolution(call: BatchedCall) -> list[Tensor]:
    if not call.size:
        return loop(call)
    if not call.is_batched("weight") and not call.is_batched("bias"):
        found = call.run(input=joined(call.front("input")))[0]
        return [parted(call, found)]
    # each example has its own weight: all of them are groups of one convolution
    bias = call["bias"]
    if bias is not None:
        bias = RECORDED.reshape(call.expanded("bias"), (call.size * call.shape("bias")[0],))
    found = call.run(
        input=_channels(call.expanded("input")),
        weight=joined(call.expanded("weight")),
        bias=bias,
        groups=call["groups"] * call.size,
    )[0]
    return [_examples_of(call, found)]


@batching("_convolution_input_gradient", "_convolution_at")
def _convolution_back(call: BatchedCall) -> list[Tensor]:
    if not call.size:
        return loop(call)
    name = "gradient" if "gradient" in call.places else "input"
    changed: dict[str, object] = {}
    shared = not call.is_batched("weight")
    if "input_shape" in call.places:
        images, channels, *rest = call["input_shape"]
        many = (images * call.size, channels) if shared else (images, channels * call.size)
        changed["input_shape"] = (*many, *rest)
    if shared:
        found = call.run(**{name: joined(call.front(name))}, **changed)[0]
        return [parted(call, found)]
    changed["weight"] = joined(call.expanded("weight"))
    changed["groups"] = call["groups"] * call.size
    found = call.run(**{name: _channels(call.expanded(name))}, **changed)[0]
    return [_examples_of(call, found)]


@batching("_convolution_weight_gradient")
def _convolution_weight(call: BatchedCall) -> list[Tensor]:
    if not call.size:
        return loop(call)
    out, *rest = call["weight_shape"]
    found = call.run(
        gradient=_channels(call.expanded("gradient")),
        input=_channels(call.expanded("input")),
        weight_shape=(out * call.size, *rest),
        groups=call["groups"] * call.size,
    )[0]
    return [RECORDED.reshape(found, (call.size, out, *rest))]


# -------------------------------------------------------------------------------- normalisation


def _wider(call: BatchedCall) -> Layout:
    """The layout of all examples together: each adds rows of its own."""
    layout: Layout = call["layout"]
    one, rows, inner = layout.grouped
    first, *others = layout.scaled
    return Layout((one, rows * call.size, inner), (first * call.size, *others), layout.weight)


def _statistics(call: BatchedCall, name: str) -> Tensor:
    """Means or deviations of all examples, one row each."""
    value = call.expanded(name)
    return RECORDED.reshape(value, (1, value._array.size, 1))


def _own_statistics(call: BatchedCall, value: Tensor) -> Tensor:
    return RECORDED.reshape(value, (call.size, *call["layout"].grouped[:2], 1))


@batching("_layer_norm", "_group_norm")
def _norm(call: BatchedCall) -> list[Tensor]:
    layout: Layout = call["layout"]
    if not call.size:
        return loop(call)
    x, wide = call.expanded("input"), _wider(call)
    own = [name for name in ("weight", "bias") if call.is_batched(name)]
    plain = {name: None if own else call[name] for name in ("weight", "bias")}
    result, mean, inverse = call.run(input=x, layout=wide, **plain)
    if own:  # each example has its own weight: applied outside
        half = result._array.dtype
        seen = RECORDED.reshape(result, (call.size, *layout.scaled))
        shape = (call.size, *(1,) * (len(layout.scaled) - len(layout.weight)), *layout.weight)
        for name, function in (("weight", RECORDED.mul), ("bias", RECORDED.add)):
            if call[name] is not None:
                seen = function(seen, RECORDED.reshape(call.expanded(name), shape))
        if seen._array.dtype is not half:
            return loop(call)
        result = RECORDED.reshape(seen, tuple(x._array.shape))
    return [result, _own_statistics(call, mean), _own_statistics(call, inverse)]


@batching("_layer_norm_gradient", "_group_norm_gradient", "_batch_norm_gradient", "_standardize")
def _norm_gradient(call: BatchedCall) -> list[Tensor]:
    return _normalized(call, gives_statistics=False)


@batching("_inverse_deviation")
def _inverse_deviation(call: BatchedCall) -> list[Tensor]:
    return _normalized(call, gives_statistics=True)


def _normalized(call: BatchedCall, gives_statistics: bool) -> list[Tensor]:
    if not call.size:
        return loop(call)
    if call["layout"].grouped[0] != 1:
        return _batch_norm_gradient(call, gives_statistics)
    changed: dict[str, object] = {"input": call.expanded("input"), "layout": _wider(call)}
    if "grad" in call.places:
        changed["grad"] = call.expanded("grad")
    for name in ("mean", "inverse"):
        changed[name] = _statistics(call, name)
    found = call.run(**changed)[0]
    return [_own_statistics(call, found) if gives_statistics else found]


def _more_channels(call: BatchedCall) -> Layout:
    """The layout of all examples together: each adds channels of its own."""
    images, channels, inner = call["layout"].grouped
    shape = (images, channels * call.size, inner)
    return Layout(shape, shape, (channels * call.size, 1))


def _by_channel(call: BatchedCall, name: str) -> Tensor:
    """A tensor of the input's shape as (images, channels of all examples, inner)."""
    return _channels(RECORDED.reshape(call.expanded(name), (call.size, *call["layout"].grouped)))


def _from_channels(call: BatchedCall, result: Tensor) -> Tensor:
    shape = (call.size, *call.shape("input"))
    return RECORDED.reshape(_examples_of(call, result), shape)


@batching("_batch_norm")
def _batch_norm(call: BatchedCall) -> list[Tensor]:
    if not call.size:
        return loop(call)
    changed: dict[str, object] = {}
    for name in ("weight", "bias", "running_mean", "running_var"):
        if call[name] is not None:
            changed[name] = joined(call.expanded(name))
    x, layout = _by_channel(call, "input"), _more_channels(call)
    result, *statistics = call.run(input=x, layout=layout, **changed)
    channels = call["layout"].grouped[1]
    own = (call.size, 1, channels, 1) if call["training"] else (call.size, channels, 1)
    return [_from_channels(call, result), *[RECORDED.reshape(s, own) for s in statistics]]


def _batch_norm_gradient(call: BatchedCall, gives_statistics: bool) -> list[Tensor]:
    """The rules above where several images share their statistics."""
    changed: dict[str, object] = {"layout": _more_channels(call)}
    for name in ("input", "grad"):
        if name in call.places:
            changed[name] = _by_channel(call, name)
    for name in ("mean", "inverse"):
        changed[name] = _statistics(call, name)
    found = call.run(**changed)[0]
    if gives_statistics:
        return [RECORDED.reshape(found, (call.size, *call.shape("inverse")))]
    return [_from_channels(call, found)]


# -------------------------------------------------------------------------------------- others


@batching("_fft_c2c", "_fft_r2c", "_fft_c2r")
def _fft(call: BatchedCall) -> list[Tensor]:
    rank = call.rank("input")
    dims = tuple([dim % rank + 1 for dim in call["dim"]]) if rank else ()
    if not dims:
        return loop(call)
    return call.run(input=call.front("input"), dim=dims)


@batching("_contiguous_copy")
def _contiguous_copy(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input"))


@batching("_only_row")
def _only_row(call: BatchedCall) -> list[Tensor]:
    return [RECORDED.select(call.front("input"), 1, 0)]


@batching("_clone_with_strides")
def _clone_with_strides(call: BatchedCall) -> list[Tensor]:
    strides = tuple(call["strides"])
    x, shape = call.front("input"), call.shape("input")
    reach = sum([(size - 1) * step for size, step in zip(shape, strides, strict=True) if size])
    return call.run(input=x, strides=(reach + x._array.itemsize, *strides))


@batching("_zeros", "_zeros_of")
def _zeros(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input"), shape=(call.size, *call["shape"]))


@batching("_embedding_bag")
def _embedding_bag(call: BatchedCall) -> list[Tensor]:
    """Once for each example, each with a list of its own for what it keeps."""
    place = call.places["kept"]

    def run(values: list[Any]) -> list[Tensor]:
        values[place] = []
        return call_op(call.op, values)

    return loop(call, run)
