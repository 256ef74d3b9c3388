"""Activations that are straight lines piece by piece: relu, hardtanh, leaky_relu and the like."""

from __future__ import annotations

from typing import Any

from retrograd import dtypes, samples
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.notices import explained
from retrograd.ops.kinds import Array, DType, Namespace, Operand
from retrograd.ops.making.arguments import as_element, check_limits
from retrograd.ops.neural.operand_checks import floating_only
from retrograd.ops.registry import RECORDED, Table, attach, functional, inner_op, inplace_twin, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES)
_NAN, _INF = float("nan"), float("inf")
# all points where some function of this file changes its slope
CORNERS = T(values=[0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0, _INF, -_INF, _NAN])


def shapes(*options: Any, integers: bool = True, **named: Any) -> list[Sample]:
    """Samples of a function of one tensor, with options."""
    found = [
        Sample(T(*shape, low=-4, high=4), *options, dtypes=_EVERY, **named)
        for shape in ((), (5,), (3, 4), (0, 3))
    ]
    found.append(Sample(CORNERS, *options, **(named | {"second": False})))
    if integers:
        found += [
            Sample(T(3, dtype=name), *options, grad=False, **named)
            for name in ("int64", "uint8", "bool", "complex64")
        ]
    return found


# ---------------------------------------------------------------------------------------- relu


@op(
    grad=lambda m, g, output: m._relu_gradient(g, output),
    output=lambda m, g: m.zeros_like(g),
    saved_names={"self": "output"},
    elementwise=True,
    aten="threshold_backward",
)
def _relu_gradient(xp: Namespace, grad: Array, output: Array) -> Array:
    """`grad` where `output`, which is never negative, is not zero."""
    return xp.keep_where(grad, xp.not_equal(output, 0))


def _check_relu(input: Array) -> None:
    if input.dtype is dtypes.B8:
        raise RuntimeError("Boolean inputs not supported for relu")
    if input.dtype in dtypes.COMPLEX_TYPES:
        raise explained(
            NotImplementedError("clamp is not supported for complex types"), code="RG304"
        )


@op(
    input=lambda m, g, out: m._relu_gradient(g, out),
    check=_check_relu,
    inplace=True,
    samples=lambda: [*samples.unary()(), *shapes()],
    elementwise=True,
)
def relu(xp: Namespace, input: Array) -> Array:
    """``max(input, 0)``, elementwise.

    >>> torch.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return xp.not_below_zero(input)


relu_ = inplace_twin("relu", method=True, namespaces=("torch", "nn.functional"))


@functional(samples=lambda: [Sample(T(3, 4)), Sample(T(3, grad=False), inplace=True)])
def _relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``, elementwise.

    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    result: Tensor = relu_(input) if inplace else relu(input)
    return result


# ------------------------------------------------------------------------------------ threshold


@op(
    grad=lambda m, g, input, threshold: m._threshold_gradient(g, input, threshold),
    input=lambda m, g: m.zeros_like(g),
    saved_names={"self": "input"},
    elementwise=True,
)
def _threshold_gradient(xp: Namespace, grad: Array, input: Array, threshold: float) -> Array:
    """`grad` where `input` is above the threshold (or nan), else zero."""
    return xp.keep_where(grad, xp.logical_not(input <= threshold))


def _as_element(xp: Namespace, value: float, kind: DType) -> Operand:
    """A number for an array of a dtype: with integers a whole one, which wraps around."""
    return xp.asarray(int(value)).astype(kind) if kind.kind in "iu" else value


def _threshold_kernel(xp: Namespace, input: Array, threshold: float, value: float) -> Array:
    check_limits(input, threshold, value)
    low, other = (_as_element(xp, x, input.dtype) for x in (threshold, value))
    return xp.where(input <= low, xp.asarray(other, input.dtype), input)


def _check_threshold(input: Array, threshold: float, value: float) -> None:
    if input.dtype.kind not in "iu":
        floating_only("threshold_cpu")(input)


def _threshold_rule(m: Table, g: Tensor, input: Tensor, threshold: float) -> Tensor:
    return m._threshold_gradient(g, input, threshold)


@inner_op(input=_threshold_rule, check=_check_threshold, elementwise=True)
def threshold(xp: Namespace, input: Array, threshold: float, value: float) -> Array:
    """`input` where it is above the threshold, else `value`."""
    return _threshold_kernel(xp, input, threshold, value)


@op(
    input=_threshold_rule,
    check=_check_threshold,
    inplace="threshold_",
    node_name="ThresholdBackward1",
    elementwise=True,
    aten_inplace="threshold_.default",
)
def _threshold_in_place(xp: Namespace, input: Array, threshold: float, value: float) -> Array:
    return _threshold_kernel(xp, input, threshold, value)


threshold_ = inplace_twin("_threshold_in_place", namespaces=("torch", "nn.functional"))


def _threshold_samples() -> list[Sample]:
    return [
        *shapes(0.5, 7.0),
        *shapes(-1, 2),
        Sample(T(values=[1, 2, 3], dtype="int64"), 1.5, 2.7, grad=False),
        Sample(T(3), 1.0),
    ]


@functional(
    samples=lambda: [*_threshold_samples(), Sample(T(3, grad=False), 0.1, 20, inplace=True)]
)
def _threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`input` where it is above the threshold, else `value`."""
    chosen = threshold_ if inplace else RECORDED.threshold
    return chosen(input, threshold, value)


attach(RECORDED.threshold, public=("threshold",))

# ----------------------------------------------------------------------------- hardtanh, relu6


@op(
    grad=lambda m, g, input, min_val, max_val: m._hardtanh_gradient(g, input, min_val, max_val),
    input=lambda m, g: m.zeros_like(g),
    saved_names={"self": "input"},
    elementwise=True,
)
def _hardtanh_gradient(
    xp: Namespace, grad: Array, input: Array, min_val: float, max_val: float
) -> Array:
    """`grad` strictly between the limits, else zero."""
    outside = xp.logical_or(input <= min_val, input >= max_val)
    return xp.keep_where(grad, xp.logical_not(outside))


compiled_first("_hardtanh_gradient", "limited_gradient", short=True)


def _check_hardtanh(input: Array, min_val: float, max_val: float) -> None:
    if input.dtype is dtypes.B8:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.dtype.kind == "c":
        raise explained(
            NotImplementedError("clamp is not supported for complex types"), code="RG304"
        )
    if input.dtype.kind == "u" and int(min_val) < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    for limit in (min_val, max_val):
        as_element(limit, dtypes.from_numpy_dtype(input.dtype))


@inner_op(
    input=lambda m, g, input, min_val, max_val: m._hardtanh_gradient(g, input, min_val, max_val),
    check=_check_hardtanh,
    inplace=True,
    elementwise=True,
)
def hardtanh(xp: Namespace, input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """The input limited to an interval."""
    check_limits(input, min_val, max_val)
    low, high = (_as_element(xp, value, input.dtype) for value in (min_val, max_val))
    return xp.minimum(high, xp.maximum(low, input))  # a zero keeps its sign


def _compiled_hardtanh(input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array | None:
    check_limits(input, min_val, max_val)
    found: Array | None = rows.limited(input, min_val, max_val)
    return found


compiled_first("hardtanh", _compiled_hardtanh, short=True)
hardtanh_ = inplace_twin("hardtanh", namespaces=("nn.functional",))


@functional(
    samples=lambda: [
        *shapes(),
        *shapes(-0.5, 2.5),
        Sample(T(3, grad=False), inplace=True),
        Sample(T(values=[1, 2, 3], dtype="uint8"), 0, 2, grad=False),
        Sample(T(3), 2.0, 1.0),
        Sample(T(3), -1.0, 1e300, error=(RuntimeError, "value cannot be converted to type float")),
    ]
)
def _hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """The input limited to an interval.

    >>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (hardtanh_ if inplace else RECORDED.hardtanh)(input, min_val, max_val)


@functional(samples=lambda: [*shapes(), Sample(T(3, grad=False), inplace=True)])
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The input limited to [0, 6]."""
    return (hardtanh_ if inplace else RECORDED.hardtanh)(input, 0.0, 6.0)


# ------------------------------------------------------------------------------- shrinking ones


@op(
    grad=lambda m, g, input, lambd: m._shrink_gradient(g, input, lambd),
    input=lambda m, g: m.zeros_like(g),
    half="steps",
    node_name="HardshrinkBackwardBackward0",
    saved_names={"self": "input"},
    elementwise=True,
    event="retrograd::shrink_gradient",
)
def _shrink_gradient(xp: Namespace, grad: Array, input: Array, lambd: float) -> Array:
    """`grad` outside of [-lambd, lambd], else zero."""
    bound = xp.asarray(lambd, input.dtype)
    inside = xp.logical_and(input >= -bound, input <= bound)
    return xp.keep_where(grad, xp.logical_not(inside))


def _check_hardshrink(input: Array, lambd: float) -> None:
    floating_only("hardshrink_cpu")(input)
    as_element(lambd, dtypes.from_numpy_dtype(input.dtype))


@op(
    input=lambda m, g, input, lambd: m._shrink_gradient(g, input, lambd),
    check=_check_hardshrink,
    half="steps",
    samples=lambda: [*shapes(), *shapes(1.0), Sample(T(3), lambd=0.0)],
    elementwise=True,
)
def hardshrink(xp: Namespace, input: Array, lambd: float = 0.5) -> Array:
    """Zero in [-lambd, lambd], else the input.

    >>> torch.hardshrink(torch.tensor([0.2, 2.0]))
    tensor([0., 2.])
    """
    bound = xp.asarray(lambd, input.dtype)
    inside = xp.logical_and(input >= -bound, input <= bound)
    return xp.keep_where(input, xp.logical_not(inside))


attach(hardshrink, namespace="nn.functional", public=("hardshrink",))


def _check_softshrink(input: Array, lambd: float) -> None:
    floating_only("softshrink_check")(input)
    _check_lambd(input, lambd)


def _check_lambd(input: Array, lambd: float) -> None:
    if 0 <= lambd <= 65504:
        return  # as far as any dtype goes
    kind = dtypes.from_numpy_dtype(input.dtype)
    largest = dtypes.finfo(kind).max
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {kind.type_name}, but "
            f"found {lambd:g}"
        )


@op(
    input=lambda m, g, input, lambd: m._shrink_gradient(g, input, lambd),
    check=_check_softshrink,
    namespace="nn.functional",
    samples=lambda: [*shapes(), *shapes(1.0), Sample(T(3), -1.0), Sample(T(3), lambd=0.0)],
    elementwise=True,
)
def softshrink(xp: Namespace, input: Array, lambd: float = 0.5) -> Array:
    """The input moved towards zero by `lambd`, and zero where it would cross."""
    _check_lambd(input, lambd)
    return xp.subtract(input, xp.minimum(xp.maximum(input, -lambd), lambd))


# --------------------------------------------------------------------- hardswish, hardsigmoid


@op(
    grad=lambda m, g, input: m._hardswish_gradient(g, input),
    input=lambda m, g, grad, input: m.mul(
        m.div(m.mul(g, grad), 3), m.logical_and(m.gt(input, -3), m.lt(input, 3))
    ),
    saved_names={"grad_output": "grad", "self": "input"},
    elementwise=True,
)
def _hardswish_gradient(xp: Namespace, grad: Array, input: Array) -> Array:
    inside = xp.multiply(xp.add(xp.divide(input, 3), 0.5), grad)
    rising = xp.where(input < 3, inside, grad)
    return xp.keep_where(rising, xp.logical_not(input <= -3))


@inner_op(
    input=lambda m, g, input: m._hardswish_gradient(g, input),
    check=floating_only("hardswish_cpu"),
    inplace=True,
    elementwise=True,
)
def hardswish(xp: Namespace, input: Array) -> Array:
    """``input * relu6(input + 3) / 6``."""
    ramp = xp.minimum(xp.maximum(xp.add(input, 3), 0), 6)
    return xp.divide(xp.multiply(input, ramp), 6)


compiled_first("hardswish", "hardswish", short=True)
_hardswish_write = inplace_twin("hardswish")


@functional(samples=lambda: [*shapes(), Sample(T(3, grad=False), inplace=True)])
def _hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``."""
    return (_hardswish_write if inplace else RECORDED.hardswish)(input)


_SIXTH = float(dtypes.F32.type(1 / 6))  # PyTorch's constant has this precision in all dtypes


@op(
    grad=lambda m, g, input: m._hardsigmoid_gradient(g, input),
    input=lambda m, g: m.zeros_like(g),
    saved_names={"self": "input"},
    elementwise=True,
)
def _hardsigmoid_gradient(xp: Namespace, grad: Array, input: Array) -> Array:
    inside = xp.logical_and(input > -3, input < 3)
    return xp.keep_where(xp.multiply(grad, _SIXTH), inside)


@inner_op(
    input=lambda m, g, input: m._hardsigmoid_gradient(g, input),
    check=floating_only("hardsigmoid_cpu"),
    inplace=True,
    elementwise=True,
)
def hardsigmoid(xp: Namespace, input: Array) -> Array:
    """``relu6(input + 3) / 6``."""
    return xp.divide(xp.minimum(xp.maximum(xp.add(input, 3), 0), 6), 6)


compiled_first("hardsigmoid", "hardsigmoid", short=True)
_hardsigmoid_write = inplace_twin("hardsigmoid")


@functional(samples=lambda: [*shapes(second=False), Sample(T(3, grad=False), inplace=True)])
def _hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``."""
    return (_hardsigmoid_write if inplace else RECORDED.hardsigmoid)(input)
