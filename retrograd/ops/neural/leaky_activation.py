"""Leaky rectifiers: leaky_relu, and prelu and rrelu with a slope that is learned or random."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.engine.state import TRANSFORMS
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.neural.activation import CORNERS, shapes
from retrograd.ops.neural.operand_checks import floating_only, is_floating
from retrograd.ops.registry import (
    RECORDED,
    Table,
    attach,
    composite,
    function_only,
    functional,
    inner_op,
    inplace_twin,
    op,
)
from retrograd.random.mapping import is_mapped
from retrograd.random.state import Generator, generator_or_default
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_EVERY = (*FLOATS, *HALVES)

# ----------------------------------------------------------------------------------- leaky_relu


@op(
    grad=lambda m, g, input, negative_slope: m._leaky_relu_gradient(g, input, negative_slope),
    input=lambda m, g: m.zeros_like(g),
    saved_names={"self": "input"},
    elementwise=True,
)
def _leaky_relu_gradient(xp: Namespace, grad: Array, input: Array, negative_slope: float) -> Array:
    """`grad` where `input` is positive, else `grad` times the slope."""
    return xp.where(input > 0, grad, xp.multiply(grad, negative_slope))


def _leaky_kernel(xp: Namespace, input: Array, negative_slope: float) -> Array:
    scaled = xp.multiply(input, negative_slope)
    if 0 < negative_slope <= 1:
        return xp.maximum(input, scaled, out=scaled)
    return xp.where(input > 0, input, scaled)


@inner_op(
    input=lambda m, g, input, negative_slope: m._leaky_relu_gradient(g, input, negative_slope),
    check=floating_only("leaky_relu_cpu"),
    elementwise=True,
)
def leaky_relu(xp: Namespace, input: Array, negative_slope: float = 0.01) -> Array:
    """The input where positive, else a fraction of it."""
    return _leaky_kernel(xp, input, negative_slope)


compiled_first(
    "leaky_relu",
    lambda input, negative_slope=0.01: rows.leaky_relu(input, negative_slope),
    short=True,
)


def _leaky_rule_of_result(m: Table, g: Tensor, out: Tensor, negative_slope: float) -> Tensor:
    if negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is "
            "not supported. This is caused by calling in-place forward function with a negative "
            "slope, please call out-of-place version instead. File an issue at "
            "https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
            "backward calculation with negative slope"
        )
    return m._leaky_relu_gradient(g, out, negative_slope)


@op(
    input=_leaky_rule_of_result,
    check=floating_only("leaky_relu_cpu"),
    inplace="leaky_relu_",
    node_name="LeakyReluBackward1",
    elementwise=True,
    aten_inplace="leaky_relu_.default",
)
def _leaky_relu_in_place(xp: Namespace, input: Array, negative_slope: float = 0.01) -> Array:
    return _leaky_kernel(xp, input, negative_slope)


leaky_relu_ = inplace_twin("_leaky_relu_in_place", namespaces=("nn.functional",))


@functional(
    samples=lambda: [
        *shapes(),
        *(sample for slope in (0.2, 0.0, -0.5, 2) for sample in shapes(slope, integers=False)),
        Sample(T(3, grad=False), 0.1, True),
    ]
)
def _leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The input where positive, else a fraction of it.

    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return (leaky_relu_ if inplace else RECORDED.leaky_relu)(input, negative_slope)


# ----------------------------------------------------------------------------- prelu and rrelu


@op(
    grad=lambda m, g, input: m._keep_not_positive(g, input),
    input=lambda m, g: m.zeros_like(g),
    node_name="PreluKernelBackwardBackward0",
    elementwise=True,
)
def _keep_not_positive(xp: Namespace, grad: Array, input: Array) -> Array:
    """`grad` where `input` is not positive, else zero."""
    return xp.keep_where(grad, xp.logical_not(input > 0))


@op(
    grad=lambda m, g, input, weight: m._prelu_gradient(g, input, weight),
    input=lambda m, g: m.zeros_like(g),
    weight=lambda m, g, grad, input: m._keep_not_positive(m.mul(g, grad), input),
    saved_names={"grad_output": "grad", "self": "input"},
    forward="elementwise",
    aten="_prelu_kernel_backward",
)
def _prelu_gradient(xp: Namespace, grad: Array, input: Array, weight: Array) -> Array:
    return xp.where(input > 0, grad, xp.multiply(grad, weight))


@op(
    input=lambda m, g, input, weight: m._prelu_gradient(g, input, weight),
    weight=lambda m, g, input: m._keep_not_positive(m.mul(g, input), input),
    forward="elementwise",
    aten="_prelu_kernel",
)
def _prelu_kernel(xp: Namespace, input: Array, weight: Array) -> Array:
    return xp.where(input > 0, input, xp.multiply(input, weight))


def _prelu_samples() -> list[Sample]:
    return [
        Sample(T(3, 4), T(1), dtypes=_EVERY),
        Sample(T(3, 4), T(4), dtypes=_EVERY),
        Sample(T(2, 3, 4), T(3)),
        Sample(T(5), T(1)),
        Sample(T(5), T()),
        Sample(T(), T(1)),
        Sample(T(0, 3), T(3)),
        Sample(CORNERS, T(1), second=False),
        Sample(T(3, 4), T(3)),
        Sample(T(3), T(3)),
        Sample(T(), T(3)),
        Sample(T(3, 4), T(2, 2)),
        Sample(T(3, 4), T(1, dtype="int64")),
        Sample(T(3, 4, dtype="int64"), T(1, dtype="int64"), grad=False),
    ]


@composite(samples=_prelu_samples, autocast="lower")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input where positive, else times a learned weight, one for all or one per channel.

    >>> torch.prelu(torch.tensor([-1.0, 2.0]), torch.tensor(0.25))
    tensor([-0.2500,  2.0000])
    """
    array, slopes = input._array, weight._array
    if array.dtype is not slopes.dtype:
        ours, theirs = input.dtype.type_name, weight.dtype.type_name
        raise RuntimeError(f"prelu: Type promoting not supported. Got {ours} and {theirs}")
    if slopes.size != 1:
        if not array.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = array.shape[1] if array.ndim > 1 else 1
        if channels != slopes.size:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{slopes.size} and channel size = {channels}."
            )
    if slopes.ndim > 1:
        raise errors.runtime_error(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {slopes.ndim}",
            code="RG210",
        )
    floating_only("prelu_cpu")(array)
    if slopes.ndim != array.ndim:
        shape = [1] * array.ndim
        if array.ndim > 1:
            shape[1] = slopes.size
        weight = weight.view(tuple(shape))
    return RECORDED._prelu_kernel(input, weight)


attach(prelu, namespace="nn.functional", public=("prelu",))


def _rrelu_kernel(
    xp: Namespace, input: Array, noise: Array | None, lower: float, upper: float
) -> Array:
    if noise is not None:
        return xp.multiply(input, noise)
    return _leaky_kernel(xp, input, (lower + upper) / 2)


def _rrelu_rule(
    m: Table, g: Tensor, value: Tensor, noise: Tensor, lower: float, upper: float
) -> Tensor:
    if noise is not None:
        return m.mul(g, noise)
    return m._leaky_relu_gradient(g, value, (lower + upper) / 2)


@op(
    input=lambda m, g, input, noise, lower, upper: _rrelu_rule(m, g, input, noise, lower, upper),
    check=floating_only("leaky_relu_cpu"),
    forward="elementwise",
    aten="rrelu_with_noise",
)
def _rrelu_with_noise(
    xp: Namespace, input: Array, noise: Array | None, lower: float, upper: float
) -> Array:
    return _rrelu_kernel(xp, input, noise, lower, upper)


@op(
    input=lambda m, g, out, noise, lower, upper: _rrelu_rule(m, g, out, noise, lower, upper),
    check=floating_only("leaky_relu_cpu"),
    inplace="_rrelu_with_noise_",
    node_name="RreluWithNoiseBackward1",
    forward="elementwise",
    aten_inplace="rrelu_with_noise_.default",
)
def _rrelu_with_noise_in_place(
    xp: Namespace, input: Array, noise: Array | None, lower: float, upper: float
) -> Array:
    return _rrelu_kernel(xp, input, noise, lower, upper)


_rrelu_write = inplace_twin("_rrelu_with_noise_in_place")


def _random_slopes(array: Array, lower: float, upper: float) -> Array:
    """One where an element is positive, else a random slope; drawn in the order of the elements."""
    if not is_floating(array) or array.dtype is dtypes.F16:
        raise errors.not_implemented_for("rrelu_with_noise_out_cpu", array.dtype)
    backend = backend_of(array)
    xp = backend.xp
    noise: Array = xp.ones(array.shape, array.dtype)
    leaking = array <= 0
    source = generator_or_default(None, "rrelu", backend)
    if source.samplers is not None:  # drawn for all elements
        wide = dtypes.F64 if array.dtype is dtypes.F64 else dtypes.F32
        drawn = source.samplers.of_reals("units", array.size, wide).reshape(array.shape)
        slopes = drawn.astype(dtypes.F64) * (upper - lower) + lower
        return xp.where(leaking, slopes.astype(array.dtype), noise)
    uniform = source.float64s(int(xp.count_nonzero(leaking)))
    if array.dtype is not dtypes.F64:
        lower, upper = float(dtypes.F32.type(lower)), float(dtypes.F32.type(upper))
    noise[leaking] = backend.from_numpy(uniform) * (upper - lower) + lower
    return noise


def _refuse_vmap(name: str) -> None:
    if is_mapped():
        raise RuntimeError(f"vmap: we do not yet support aten::{name}. Please file an issue")


def _rrelu_of(input: Tensor, lower: float, upper: float, training: bool, inplace: bool) -> Tensor:
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if TRANSFORMS.active:
        _refuse_vmap("rrelu_" if inplace else "rrelu")
    noise = wrap(_random_slopes(input._array, lower, upper)) if training else None
    chosen = _rrelu_write if inplace else RECORDED._rrelu_with_noise
    return chosen(input, noise, lower, upper)


@functional(samples=lambda: [*shapes(), *shapes(0.1, 0.3), Sample(T(3), 0.5, 0.1)])
def _rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """A leaky relu whose slope is random in training, and in the middle otherwise."""
    return _rrelu_of(input, lower, upper, training, inplace)


@function_only(samples=lambda: [Sample(T(3, 4), 0.1, 0.3)])
def _torch_rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """A leaky relu whose slope is random in training, and in the middle otherwise."""
    return _rrelu_of(input, lower, upper, training, False)


def _rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """In-place version of `rrelu`."""
    return _rrelu_of(input, lower, upper, training, True)


_rrelu_.__name__ = "rrelu_"
attach(_rrelu_, public=("rrelu_",))
attach(_rrelu_, namespace="nn.functional", public=("rrelu_",))
