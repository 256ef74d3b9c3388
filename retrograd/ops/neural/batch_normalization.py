"""batch_norm, instance_norm, rms_norm and local_response_norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from retrograd import dtypes
from retrograd.backend import xp_of
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.backend.neutral.arrangement import arranged
from retrograd.backend.quiet import quiet
from retrograd.engine.state import TRANSFORMS
from retrograd.engine.views import bump
from retrograd.notices import explained, runtime_error
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Gradients, Namespace
from retrograd.ops.neural.normalization import (
    Layout,
    Shape,
    check_batch,
    check_normalized_shape,
    check_parameters,
    compiled_norm_gradients,
    normalized,
    normalized_planes,
    scaled,
    shape_argument,
    times_weight,
    to_weight,
)
from retrograd.ops.neural.operand_checks import floating_only, no_backward
from retrograd.ops.registry import RECORDED, Table, function_only, functional, op, table_entry
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, cell_of, wrap

_EVERY = (*FLOATS, *HALVES)

# ---------------------------------------------------------------------------------- batch_norm


def _fixed_gradients(
    m: Table,
    g: Tensor,
    needs: tuple[bool, ...],
    input: Tensor,
    weight: Tensor,
    bias_shape: Shape,
    mean: Tensor,
    inverse: Tensor,
    layout: Layout,
    name: str,
) -> Gradients:
    """`_norm_gradients` where the statistics are constants."""
    of_input = of_weight = of_bias = None
    if needs[0]:
        weighted = m.reshape(times_weight(m, g, weight, layout), layout.grouped)
        of_input = m.reshape(m.mul(weighted, inverse), tuple(input.shape))
    if needs[1]:
        standard = m.mul(m.sub(m.reshape(input, layout.grouped), mean), inverse)
        products = m.mul(m.reshape(g, layout.grouped), standard)
        of_weight = to_weight(m, products, layout, tuple(weight.shape))
    if needs[2]:
        of_bias = to_weight(m, g, layout, bias_shape)
    return of_input, of_weight, of_bias


def _recorded_fixed_gradients(*arguments: Any) -> Gradients:
    return _fixed_gradients(RECORDED, *arguments)


table_entry(
    "_fixed_gradients",
    lambda xp, *arguments: _fixed_gradients(xp.raw, *arguments),
    _recorded_fixed_gradients,
)
compiled_first("_fixed_gradients", partial(compiled_norm_gradients, fixed=True))


_check_floating = floating_only("batch_norm")


def _batch_gradients(
    m: Table,
    g: Sequence[Tensor],
    needs: tuple[bool, ...],
    input: Tensor,
    weight: Tensor,
    bias_shape: Shape,
    running_mean: Tensor,
    running_var: Tensor,
    out1: Tensor,
    out2: Tensor,
    training: bool,
    layout: Layout,
    eps: float,
) -> Gradients:
    """In training as for layer_norm, otherwise the statistics are constants.

    They are saved, as in PyTorch: writing to them before backward is a mistake that is found.
    """
    rule = m._norm_gradients if training else m._fixed_gradients
    name = "_batch_norm_gradient"
    return rule(g[0], needs, input, weight, bias_shape, out1, out2, layout, name)


@op(
    gradients=_batch_gradients,
    differentiable=("input", "weight", "bias"),
    outputs=4,
    nondifferentiable=(1, 2, 3),
    saved_names={"result1": "out1", "result2": "out2", "input": "input", "self": ""},
    check=_check_floating,
    node_name="NativeBatchNormBackward0",
    aten="native_batch_norm",
    event="batch_norm",
)
def _batch_norm(
    xp: Namespace,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    layout: Layout,
    eps: float,
) -> tuple[Array, Array, Array, Array]:
    """The function itself, and its statistics: mean, one over deviation, variance."""
    if training:
        result, mean, inverse, variance = normalized(xp, input, weight, bias, layout, eps)
        return arranged(xp, result, input), mean, inverse, variance
    assert running_mean is not None and running_var is not None
    mean = running_mean.reshape(-1, 1)
    inverse = xp.divide(1, xp.sqrt(xp.add(running_var.reshape(-1, 1), eps)))
    result = xp.subtract(input.reshape(layout.grouped), mean)
    result *= inverse
    result = scaled(xp, result, layout, weight, bias, input.shape)
    return arranged(xp, result, input), mean.copy(), inverse, running_var.reshape(-1, 1).copy()


def _compiled_batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    layout: Layout,
    eps: float,
) -> tuple[Array, Array, Array, Array] | None:
    given = (None, None) if training else (running_mean, running_var)
    found: tuple[Array, Array, Array, Array] | None
    found = rows.channel_norm(input, weight, bias, *given, layout.scaled, eps)
    return found or (normalized_planes(input, weight, bias, layout, eps) if training else None)


compiled_first("_batch_norm", _compiled_batch_norm)


def _update(
    running_mean: Tensor,
    running_var: Tensor,
    mean: Array,
    variance: Array,
    momentum: float,
    factor: float,
) -> None:
    """Move the running statistics towards those of a batch; no version counts it.

    factor  makes an unbiased variance of this one
    """
    targets = running_mean._array, running_var._array
    if rows is None or not rows.follow(*targets, mean, variance, momentum, factor):
        unbiased = xp_of(variance).multiply(variance, factor)
        _follow(targets[0], mean, momentum)
        _follow(targets[1], unbiased, momentum)


def _follow(target: Array, value: Array, momentum: float) -> None:
    """``target = (1 - momentum) * target + momentum * value``"""
    xp = xp_of(target)
    share = xp.multiply(value.reshape(-1), momentum)
    if target.dtype is value.dtype:
        target[...] = xp.add(xp.multiply(target, 1 - momentum), share)
        return
    with quiet():  # casts say what they lose
        target[...] = xp.add(xp.multiply(target.astype(value.dtype), 1 - momentum), share)


def _update_batch(running: Tensor, value: Tensor, momentum: float) -> None:
    """The same inside of vmap, where every example has statistics of its own."""
    if running._level < value._level:
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which "
            "will be updated in place, were not batched."
        )
    now = value.detach().reshape(-1)
    _overwrite(running, running.detach() * (1 - momentum) + now * momentum)


def _overwrite(running: Tensor, value: Tensor) -> None:
    """Write into a batch of statistics without a new version."""
    running.detach().copy_(value)
    cell_of(running).version -= 1


def _empty_batch(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Without elements there are no statistics, but weight and bias stay in the graph."""
    result = input.clone()
    if weight is not None:
        result = result * weight[0]
    return result if bias is None else result + bias[0]


Operands = tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]


def _are_usual(array: Array, operands: Operands) -> bool:
    """Whether nothing can be wrong: all is there, of the input's dtype, an element a channel."""
    dtype = array.dtype
    if array.ndim < 2 or not array.size or (dtype is not dtypes.F32 and dtype is not dtypes.F64):
        return False
    channels = array.shape[1]
    for operand in operands:
        if operand is None:
            return False
        other = operand._array
        if other.dtype is not dtype or other.size != channels:
            return False
    return True


def _channels(array: Array) -> int:
    return array.shape[1] if array.ndim > 1 else 0  # PyTorch's sample of no channels


def _check_sizes(array: Array, operands: Operands, training: bool) -> None:
    if not array.ndim:
        raise errors.dimension_range(1, 0)
    channels = _channels(array)
    names = "running_mean", "running_var", "weight", "bias"
    for name, value in zip(names, operands, strict=True):
        if value is None:
            if not training and name.startswith("running"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif value._array.size != channels:
            raise runtime_error(
                f"{name} should contain {channels} elements not {value._array.size}", code="RG210"
            )


def _are_batched(weight: Tensor | None, bias: Tensor | None, level: int) -> bool:
    """Whether weight or bias is a batch under vmap at a deeper level than `level`."""
    return (weight is not None and weight._level > level) or (
        bias is not None and bias._level > level
    )


def batch_norm_of(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """batch_norm after the checks that only ``nn.functional`` makes."""
    array = input._array
    operands = running_mean, running_var, weight, bias
    if not _are_usual(array, operands):
        _check_sizes(array, operands, training)
        if array.ndim < 2:
            raise errors.dimension_range(1, array.ndim)
        if not array.size:
            return _empty_batch(input, weight, bias)
        _check_floating(array)
        check_parameters(array, weight, bias, running_mean, running_var)
    channels = _channels(array)
    no_backward("native_batch_norm", running_mean=running_mean, running_var=running_var)
    if TRANSFORMS.dual_levels and not training and TRANSFORMS.has_tangents([input]):
        if TRANSFORMS.has_tangents([running_mean, running_var]):
            raise RuntimeError(
                "batch_norm is not differentiable wrt running_mean and running_var, they cannot "
                "have forward grad defined"
            )
    result: Tensor
    if training and running_mean is not None and _are_batched(weight, bias, input._level):
        # Many weights for one batch under vmap: the statistics are those of the one batch.
        result = batch_norm_of(
            input, running_mean, running_var, None, None, training, momentum, eps
        )
        places = (1, channels) + (1,) * (array.ndim - 2)
        result = result if weight is None else result * weight.view(places)
        return result if bias is None else result + bias.view(places)
    shape = (array.shape[0], channels, math.prod(array.shape[2:]))
    layout = Layout(shape, shape, (channels, 1))
    result, mean, _, variance = RECORDED._batch_norm(
        input, weight, bias, running_mean, running_var, training, layout, eps
    )
    if training and running_mean is not None:
        assert running_var is not None
        count = shape[0] * shape[2]
        if running_mean._level or running_var._level or mean._level:
            _update_batch(running_mean, mean, momentum)
            _update_batch(running_var, variance * (count / max(count - 1, 1)), momentum)
            return result
        factor = count / max(count - 1, 1)
        _update(running_mean, running_var, mean._array, variance._array, momentum, factor)
    return result


def _batch_samples() -> list[Sample]:
    def mean(n: int = 4) -> T:
        return T(n, grad=False)

    def var(n: int = 4) -> T:
        return T(n, low=0.5, high=2, grad=False)

    return [
        Sample(T(3, 4), None, None, training=True, dtypes=FLOATS),
        Sample(T(3, 4), mean(), var(), T(4), T(4), True, dtypes=_EVERY),
        Sample(T(3, 4), mean(), var(), T(4), T(4), dtypes=_EVERY),
        Sample(T(3, 4), mean(), var(), second=False),
        Sample(T(3, 4), mean(), var(), T(4)),
        Sample(T(3, 4), mean(), var(), bias=T(4), second=False),
        Sample(T(2, 4, 5), mean(), var(), T(4), T(4), True, 0.3, 1e-2),
        Sample(T(2, 4, 5), mean(), var(), T(4), T(4), False, 0.3, 1e-2),
        Sample(T(2, 3, 2, 2), mean(3), var(3), T(3), T(3), True),
        Sample(T(2, 3, 2, 2), None, None, T(3), T(3, grad=False), True),
        Sample(T(2, 3, 2, 1, 2), mean(3), var(3), None, T(3), False, second=False),
        Sample(T(2, 1, 3), mean(1), var(1), T(1), T(1), True),
        Sample(T(3, 4, grad=False), mean(), var(), T(4), T(4), True, second=False),
        Sample(T(0, 4), None, None, T(4), T(4), True),
        Sample(T(0, 4), mean(), var(), T(4), T(4)),
        Sample(T(1, 4, 2), None, None, training=True),
        Sample(T(3, 4), None, None),
        Sample(T(3, 4), mean(), None),
        Sample(T(3, 4), mean(), None, training=True),
        Sample(T(3, 4), mean(3), var(3)),
        Sample(T(3, 4), mean(), var(), T(3)),
        Sample(T(3, 4), mean(), var(), T(4), T(3)),
        Sample(T(1, 4), mean(), var(), training=True),
        Sample(T(1, 4, 1), None, None, training=True),
        Sample(T(4), None, None, training=True),
        Sample(T(), None, None, training=True),
        Sample(T(3, 4), None, None, training=True, eps=0.0),
        Sample(T(3, 4), mean(), var(), eps=-1.0),
        Sample(T(3, 4), mean(), var(), T(4, dtype="float16")),
        Sample(T(3, 4, dtype="int64"), mean(), var(), grad=False),
    ]


@functional(samples=_batch_samples)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean zero and variance one for each channel over the batch, then times weight plus bias.

    In training the statistics are the batch's own, and the running ones move towards them.

    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        check_batch(input.shape)
        if (running_mean is None) is not (running_var is None):
            raise ValueError(
                "running_mean and running_var must either both be None or neither be None"
            )
    if eps <= 0.0 and (training or eps < 0.0):
        allowed = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {allowed}, but got {eps}")
    return batch_norm_of(input, running_mean, running_var, weight, bias, training, momentum, eps)


@function_only(samples=lambda: [Sample(T(3, 4), T(4), T(4), None, None, True, 0.1, 1e-5, False)])
def _torch_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Mean zero and variance one for each channel over the batch, then times weight plus bias."""
    return batch_norm_of(input, running_mean, running_var, weight, bias, training, momentum, eps)


# ------------------------------------------------------------------------------- instance_norm


def _instance_samples() -> list[Sample]:
    def mean(n: int = 4) -> T:
        return T(n, grad=False)

    def var(n: int = 4) -> T:
        return T(n, low=0.5, high=2, grad=False)

    return [
        Sample(T(2, 4, 5), dtypes=_EVERY),
        Sample(T(2, 4, 5), None, None, T(4), T(4), dtypes=_EVERY),
        Sample(T(2, 4, 5), mean(), var(), T(4), T(4)),
        Sample(T(2, 4, 5), mean(), var(), T(4), None, False),
        Sample(T(2, 3, 2, 2), None, None, None, T(3), True, 0.3, 0.1, second=False),
        Sample(T(2, 4), mean(), var(), use_input_stats=False, second=False),
        Sample(T(3, 4)),
        Sample(T(2, 4, 1)),
        Sample(T(2, 4, 5), use_input_stats=False),
        Sample(T(4)),
        Sample(T(2, 4, 5), mean(3), var(3)),
        Sample(T(2, 4, 5), weight=T(3)),
    ]


def instance_norm_of(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """batch_norm of all channels of all samples side by side, as PyTorch composes it."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    shape = input._array.shape
    batch, channels = shape[:2]
    side_by_side = input.contiguous().view((1, batch * channels, *shape[2:]))
    means, variances = (
        None if value is None else value.repeat(batch) for value in (running_mean, running_var)
    )
    scale, shift = (None if value is None else value.repeat(batch) for value in (weight, bias))
    result = batch_norm_of(
        side_by_side, means, variances, scale, shift, use_input_stats, momentum, eps
    )
    for value, repeated in ((running_mean, means), (running_var, variances)):
        if use_input_stats and value is not None and repeated is not None:
            if repeated._level:
                _overwrite(value, repeated.detach().reshape((batch, channels)).mean(0))
                continue
            average = repeated._array.reshape(batch, channels)
            with quiet():
                value._array[...] = average.sum(axis=0, dtype=dtypes.F64) / batch
            bump(value, "instance_norm")
    return result.view(shape)


@functional(samples=_instance_samples)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean zero and variance one for each channel of each sample."""
    if use_input_stats and math.prod(input._array.shape[2:]) == 1:
        raise explained(
            ValueError(
                f"Expected more than 1 spatial element when training, got input size {input.shape}"
            ),
            code="RG210",
        )
    return instance_norm_of(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
    )


@function_only(samples=lambda: [Sample(T(2, 3, 4), T(3), T(3), None, None, True, 0.1, 1e-5, False)])
def _torch_instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Mean zero and variance one for each channel of each sample."""
    return instance_norm_of(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
    )


# ------------------------------------------------------------------------------------ rms_norm


def _rms_samples() -> list[Sample]:
    return [
        Sample(T(3, 4), (4,), dtypes=(*_EVERY, *COMPLEX)),
        Sample(T(3, 4), (4,), T(4), dtypes=_EVERY),
        Sample(T(2, 3, 4), [3, 4], T(3, 4), 0.1),
        Sample(T(0, 4), (4,), T(4)),
        Sample(T(3, 4), (3,)),
        Sample(T(3, 4), (4,), T(3)),
        Sample(T(3, 4), 4),
        Sample(T(3, 4, dtype="int64"), (4,), grad=False),
    ]


@functional(samples=_rms_samples)
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """The input over the root of its mean square in the last dimensions, times `weight`.

    >>> torch.nn.functional.rms_norm(torch.tensor([3.0, 4.0, 0.0, 0.0]), (4,))
    tensor([1.2000, 1.6000, 0.0000, 0.0000])
    """
    try:
        array = input._array
    except AttributeError:
        raise errors.not_tensors("rms_norm", input=input) from None
    wanted = shape_argument("rms_norm", normalized_shape)
    check_normalized_shape(array.shape, wanted, "*", weight)
    floating_only("rms_norm", complex_too=True)(array)
    half = array.dtype in dtypes.HALF_TYPES
    wide = input.to(dtypes.float32) if half else input
    if eps is None:
        eps = dtypes.finfo(wide.dtype.to_real()).eps
    dims = tuple(range(-len(wanted), 0))
    mean = wide.pow(2).mean(dims, keepdim=True)
    result = wide * (mean + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result.to(input.dtype)


@function_only(samples=lambda: [Sample(T(3, 4), (4,), T(4))])
def _torch_rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """The input over the root of its mean square in the last dimensions, times `weight`."""
    return rms_norm(input, normalized_shape, weight, eps)


@functional(
    samples=lambda: [
        *(Sample(T(2, 5, 3), size) for size in (1, 2, 3, 4)),
        Sample(T(2, 5, 3, 2), 3, 0.1, 0.5, 2.0),
        Sample(T(2, 2, 3, 2, 1), 5, alpha=1.0),
        Sample(T(0, 5, 3), 2),
        Sample(T(1, 4, 3, dtype="int64"), 3, grad=False),
        Sample(T(2, 5, 3), 0),
        Sample(T(2, 5, 3, 2), 0),
        Sample(T(2, 3), 2),
    ]
)
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """The input over a power of the mean square of `size` neighbouring channels."""
    shape = input._array.shape
    if len(shape) < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{len(shape)} dimensions)"
        )
    if not input._array.size:
        return input
    if size <= 0:
        names = ("kH", "kW") if len(shape) == 3 else ("kT", "kH", "kW")
        numbers = zip(names, (size, 1, 1), strict=False)
        shown = " ".join(f"{name}: {number}" for name, number in numbers)
        raise RuntimeError(f"kernel size should be greater than zero, but got {shown}")
    squares = input * input
    before, after = (
        wrap(xp_of(input._array).zeros((shape[0], count, *shape[2:]), input._array.dtype))
        for count in (size // 2, (size - 1) // 2)
    )
    windows = RECORDED.cat([before, squares, after], 1).unfold(1, size, 1)
    if input.is_floating_point() or input.is_complex():
        mean = windows.mean(-1)
    else:  # PyTorch's average pooling of integers rounds towards zero
        mean = windows.sum(-1).div(size, rounding_mode="trunc")
    return input / (mean * alpha + k).pow(beta)
