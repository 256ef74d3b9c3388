"""Smooth activations: gelu, silu, mish, softplus, elu and the like."""

from __future__ import annotations

import math
from typing import Any

from retrograd import dtypes
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.ops.kinds import Array, Namespace, wrap_dim
from retrograd.ops.neural.operand_checks import floating_only
from retrograd.ops.registry import (
    RECORDED,
    Table,
    attach,
    function_only,
    functional,
    inner_op,
    inplace_twin,
    op,
    table_entry,
)
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES)
_NAN, _INF = float("nan"), float("inf")


def _shapes(*options: Any, points: bool = True, **named: Any) -> list[Sample]:
    """Samples of a function of one tensor, with options."""
    found = [
        Sample(T(*shape, low=-4, high=4), *options, dtypes=_EVERY, **named)
        for shape in ((), (5,), (3, 4), (0, 3))
    ]
    found += [
        Sample(T(3, dtype=name), *options, grad=False, **named)
        for name in ("int64", "bool", "complex64")
    ]
    if points:
        values = [0.0, 0.5, -0.5, 25.0, -25.0, 100.0, -100.0]
        found.append(Sample(T(values=values), *options, second=False, **named))
        found.append(Sample(T(values=[_NAN, 1.0]), *options, second=False, **named))
    return found


# ---------------------------------------------------------------------------------------- gelu

_HALF_ROOT = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)
_BETA = math.sqrt(2 / math.pi)
_KAPPA = 0.044715


def _gelu_curvature(m: Table, g: Tensor, grad: Tensor, input: Tensor, approximate: str) -> Tensor:
    """The second derivative of gelu, times both gradients."""
    square = input * input
    both = g * grad
    if approximate == "none":
        return both * m.exp(square * -0.5) * (2 - square) * _DENSITY
    inner = m.tanh(input * (square * _KAPPA + 1) * _BETA)
    slope = (square * (3 * _KAPPA) + 1) * _BETA
    bend = input * (6 * _KAPPA * _BETA)
    change = slope + input * bend * 0.5 - input * inner * slope * slope
    return both * (1 - inner * inner) * change


@op(
    grad=lambda m, g, input, approximate: m._gelu_gradient(g, input, approximate),
    input=_gelu_curvature,
    saved_names={"grad_output": "grad", "self": "input"},
    elementwise=True,
)
def _gelu_gradient(xp: Namespace, grad: Array, input: Array, approximate: str) -> Array:
    square = xp.multiply(input, input)
    if approximate == "none":
        density = xp.exp(xp.multiply(square, -0.5))
        density *= _DENSITY
        density *= input
        result = xp.erf(xp.multiply(input, _HALF_ROOT))
        result += 1
        result *= 0.5
        result += density
    else:
        inner = xp.tanh(input * (square * _KAPPA + 1) * _BETA)
        slope = (square * (3 * _KAPPA) + 1) * _BETA
        result = (1 - inner * inner) * slope * input * 0.5 + (inner + 1) * 0.5
    return xp.multiply(result, grad)


@op(
    input=lambda m, g, input, approximate: m._gelu_gradient(g, input, approximate),
    check=floating_only("GeluKernelImpl"),
    namespace="nn.functional",
    samples=lambda: [
        *_shapes(points=False),
        *_shapes(approximate="tanh", points=False),
        Sample(T(values=[0.0, 0.5, -0.5, 25.0, -25.0])),
        Sample(T(3), approximate="fast"),
        Sample(T(3), "tanh"),
    ],
    elementwise=True,
)
def gelu(xp: Namespace, input: Array, *, approximate: str = "none") -> Array:
    """The input times the normal distribution function of it.

    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 1.0]))
    tensor([-0.1587,  0.8413])
    """
    if approximate == "none":
        result = xp.erf(xp.multiply(input, _HALF_ROOT))
    elif approximate == "tanh":
        result = xp.tanh(input * (input * input * _KAPPA + 1) * _BETA)
    else:
        raise RuntimeError("approximate argument must be either none or tanh.")
    result += 1
    result *= input
    result *= 0.5
    return result


_FORMS = {"none": "gelu", "tanh": "gelu_tanh"}


def _gelu_by_rows(input: Array, *, approximate: str = "none") -> Array | None:
    run: Any = getattr(rows, _FORMS.get(approximate, ""), None)
    return None if run is None else run(input)


def _gelu_gradient_by_rows(grad: Array, input: Array, approximate: str) -> Array | None:
    found: Array | None = getattr(rows, f"{_FORMS[approximate]}_gradient")(grad, input)
    return found


compiled_first("gelu", _gelu_by_rows)
compiled_first("_gelu_gradient", _gelu_gradient_by_rows)

# --------------------------------------------------------------------------------- silu, mish


def _silu_gradient(xp: Namespace, grad: Array, input: Array) -> Array:
    gate = xp.raw.sigmoid(input)
    found: Array = grad * gate * (input * (1 - gate) + 1)
    return found


def _recorded_silu_gradient(grad: Tensor, input: Tensor) -> Tensor:
    gate = RECORDED.sigmoid(input)
    return grad * gate * (input * (1 - gate) + 1)


table_entry("_silu_gradient", _silu_gradient, _recorded_silu_gradient)
compiled_first("_silu_gradient", "silu_gradient")


@inner_op(
    input=lambda m, g, input: m._silu_gradient(g, input),
    check=floating_only("silu_cpu", complex_too=True),
    inplace=True,
    elementwise=True,
)
def silu(xp: Namespace, input: Array) -> Array:
    """``input * sigmoid(input)``."""
    if input.dtype.kind == "c":
        return xp.divide(input, 1 + xp.exp(-input))
    return xp.multiply(input, xp.expit(input))


compiled_first("silu", "silu")
_silu_write = inplace_twin("silu")


@functional(
    samples=lambda: [
        *_shapes(),
        Sample(T(3, 4), dtypes=COMPLEX, grad=False),
        Sample(T(3, grad=False), inplace=True),
    ]
)
def _silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``.

    >>> torch.nn.functional.silu(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    return (_silu_write if inplace else RECORDED.silu)(input)


def _mish_rule(m: Table, g: Tensor, input: Tensor) -> Tensor:
    bounded = m.tanh(m.softplus(input, 1.0, 20.0))
    return g * (bounded + input * m.sigmoid(input) * (1 - bounded * bounded))


@inner_op(input=_mish_rule, check=floating_only("mish_cpu"), inplace=True, elementwise=True)
def mish(xp: Namespace, input: Array) -> Array:
    """``input * tanh(softplus(input))``."""
    result = xp.softplus(input)
    xp.tanh(result, result)
    return xp.multiply(result, input, result)


_mish_write = inplace_twin("mish")


@functional(samples=lambda: [*_shapes(), Sample(T(3, grad=False), inplace=True)])
def _mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return (_mish_write if inplace else RECORDED.mish)(input)


# ------------------------------------------------------------------------ softplus, logsigmoid


def _softplus_curvature(
    m: Table, g: Tensor, grad: Tensor, input: Tensor, beta: float, threshold: float
) -> Tensor:
    scaled = input * beta
    gate = m.sigmoid(scaled)
    return m._sigmoid_gradient(g * grad, gate) * m.lt(scaled, threshold) * beta


@op(
    grad=lambda m, g, input, beta, threshold: m._softplus_gradient(g, input, beta, threshold),
    input=_softplus_curvature,
    saved_names={"grad_output": "grad", "self": "input"},
    elementwise=True,
)
def _softplus_gradient(
    xp: Namespace, grad: Array, input: Array, beta: float, threshold: float
) -> Array:
    scaled = xp.multiply(input, beta)
    result = xp.multiply(xp.expit(scaled), grad)
    return xp.where(scaled > threshold, grad, result)


compiled_first(
    "_softplus_gradient",
    lambda grad, input, beta, threshold: (
        rows.softplus_gradient(grad, input) if beta == 1 and threshold == 20 else None
    ),
)


@op(
    input=lambda m, g, input, beta, threshold: m._softplus_gradient(g, input, beta, threshold),
    check=floating_only("softplus_cpu"),
    namespace="nn.functional",
    samples=lambda: [
        *_shapes(),
        *_shapes(2, 1.0),
        *_shapes(beta=0.5, threshold=3),
    ],
    out=True,
    elementwise=True,
)
def softplus(xp: Namespace, input: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """``log(1 + exp(beta * input)) / beta``, and the input itself above the threshold.

    >>> torch.nn.functional.softplus(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    return xp.softplus(input, float(beta), float(threshold))


def _logsigmoid_curvature(m: Table, g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    gate = m.sigmoid(input)
    return g * grad * (gate - 1) * gate


@op(
    grad=lambda m, g, input: m._logsigmoid_gradient(g, input),
    input=_logsigmoid_curvature,
    saved_names={"grad_output": "grad", "self": "input"},
    elementwise=True,
    aten="log_sigmoid_backward",
)
def _logsigmoid_gradient(xp: Namespace, grad: Array, input: Array) -> Array:
    return xp.multiply(xp.expit(xp.negative(input)), grad)


@op(
    input=lambda m, g, input: m._logsigmoid_gradient(g, input),
    check=floating_only("log_sigmoid_cpu"),
    namespace="nn.functional",
    samples=lambda: [*_shapes(), Sample(T(values=[_INF, -_INF]), second=False)],
    elementwise=True,
    aten="log_sigmoid_forward",
    event="log_sigmoid",
)
def logsigmoid(xp: Namespace, input: Array) -> Array:
    """The logarithm of the sigmoid."""
    return xp.log_sigmoid(input)


# ------------------------------------------------------------------------------------- elu


def _elu_curvature(
    m: Table,
    g: Tensor,
    grad: Tensor,
    value: Tensor,
    alpha: float,
    scale: float,
    input_scale: float,
    is_result: bool,
) -> Tensor:
    both = g * grad * input_scale
    below = m.lt(value, 0)
    if is_result:
        return both * below
    return m._elu_gradient(both, value, alpha, scale, input_scale, False) * below


@op(
    grad=lambda m, g, value, alpha, scale, input_scale, is_result: m._elu_gradient(
        g, value, alpha, scale, input_scale, is_result
    ),
    value=_elu_curvature,
    saved_names={"grad_output": "grad", "self_or_result": "value"},
    elementwise=True,
)
def _elu_gradient(
    xp: Namespace,
    grad: Array,
    value: Array,
    alpha: float,
    scale: float,
    input_scale: float,
    is_result: bool,
) -> Array:
    """The gradient of elu from its input or, after an in-place call, from its result."""
    if is_result:
        slope = (value + alpha * scale) * input_scale
    else:
        slope = xp.exp(value * input_scale) * (input_scale * alpha * scale)
    return xp.multiply(xp.where(value <= 0, slope, xp.asarray(scale, value.dtype)), grad)


def _elu_kernel(
    xp: Namespace, input: Array, alpha: float, scale: float, input_scale: float
) -> Array:
    below = xp.expm1(input * input_scale) * (alpha * scale)
    return xp.where(input < 0, below, input if scale == 1 else input * scale)


def _elu_rule(
    m: Table, g: Tensor, input: Tensor, alpha: float, scale: float, input_scale: float
) -> Tensor:
    return m._elu_gradient(g, input, alpha, scale, input_scale, False)


def _elu_rule_of_result(
    m: Table, g: Tensor, out: Tensor, alpha: float, scale: float, input_scale: float
) -> Tensor:
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not "
            "supported. This is caused by calling in-place forward function with a negative "
            "slope, please call out-of-place version instead."
        )
    return m._elu_gradient(g, out, alpha, scale, input_scale, True)


@inner_op(input=_elu_rule, check=floating_only("elu_cpu"), elementwise=True)
def elu(
    xp: Namespace, input: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> Array:
    """The input where positive, else ``alpha * (exp(input) - 1)``."""
    return _elu_kernel(xp, input, alpha, scale, input_scale)


@op(
    input=_elu_rule_of_result,
    check=floating_only("elu_cpu"),
    inplace="elu_",
    node_name="EluBackward1",
    elementwise=True,
    aten_inplace="elu_.default",
)
def _elu_in_place(
    xp: Namespace, input: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> Array:
    return _elu_kernel(xp, input, alpha, scale, input_scale)


def _inverse(alpha: float) -> float:
    """``1 / alpha`` as PyTorch's gradient of celu has it: from a float32."""
    return 1.0 / float(dtypes.F32.type(alpha))


@inner_op(
    input=lambda m, g, input, alpha: _elu_rule(m, g, input, alpha, 1.0, _inverse(alpha)),
    check=floating_only("elu_cpu"),
    elementwise=True,
)
def celu(xp: Namespace, input: Array, alpha: float = 1.0) -> Array:
    """The input where positive, else ``alpha * (exp(input / alpha) - 1)``."""
    return _elu_kernel(xp, input, alpha, 1.0, 1.0 / alpha)


@op(
    input=lambda m, g, out, alpha: _elu_rule_of_result(m, g, out, alpha, 1.0, _inverse(alpha)),
    check=floating_only("elu_cpu"),
    inplace="celu_",
    node_name="CeluBackward1",
    elementwise=True,
    aten_inplace="celu_.default",
)
def _celu_in_place(xp: Namespace, input: Array, alpha: float = 1.0) -> Array:
    return _elu_kernel(xp, input, alpha, 1.0, 1.0 / alpha)


elu_ = inplace_twin("_elu_in_place", namespaces=("nn.functional",))
_celu_write = inplace_twin("_celu_in_place")
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@functional(
    samples=lambda: [
        *_shapes(),
        *_shapes(0.3),
        *_shapes(-1.0),
        Sample(T(3, grad=False), 2.0, True),
    ]
)
def _elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where positive, else ``alpha * (exp(input) - 1)``.

    >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return (elu_ if inplace else RECORDED.elu)(input, alpha)


@functional(samples=lambda: [*_shapes(), Sample(T(3, grad=False), inplace=True)])
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """A scaled elu that keeps mean zero and variance one."""
    return (elu_ if inplace else RECORDED.elu)(input, _SELU_ALPHA, _SELU_SCALE, 1.0)


@function_only(samples=lambda: [Sample(T(3, 4))])
def _torch_selu(input: Tensor) -> Tensor:
    """A scaled elu that keeps mean zero and variance one."""
    return selu(input)


def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`."""
    return selu(input, True)


def _check_alpha(alpha: float) -> None:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


@functional(
    samples=lambda: [
        *_shapes(),
        *_shapes(0.3),
        Sample(T(3), 0.0),
        Sample(T(3, grad=False), 2.0, True),
    ]
)
def _celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where positive, else ``alpha * (exp(input / alpha) - 1)``."""
    _check_alpha(alpha)
    return (_celu_write if inplace else RECORDED.celu)(input, alpha)


@function_only(samples=lambda: [Sample(T(3, 4), 0.5)])
def _torch_celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """The input where positive, else ``alpha * (exp(input / alpha) - 1)``."""
    return _celu(input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `celu`."""
    return _celu(input, alpha, True)


for _function in (selu_, celu_):
    attach(_function, public=(_function.__name__,))
    attach(_function, namespace="nn.functional", public=(_function.__name__,))

# ------------------------------------------------------------------------------------ the rest


def _glu_rule(m: Table, g: Tensor, input: Tensor, dim: int) -> Tensor:
    half = input.shape[dim] // 2
    gate = m.sigmoid(m.narrow(input, dim, half, half))
    through = g * gate
    return m.cat([through, through * m.narrow(input, dim, 0, half) * (1 - gate)], dim)


@inner_op(input=_glu_rule, check=floating_only("glu_cpu"))
def glu(xp: Namespace, input: Array, dim: int) -> Array:
    """The first half along `dim` times the sigmoid of the second."""
    first, second = xp.split(input, 2, axis=dim)
    return xp.multiply(first, xp.expit(second))


@functional(
    samples=lambda: [
        Sample(T(3, 4), dtypes=_EVERY),
        *(Sample(T(4, 2, 6), dim) for dim in (0, 1, 2, -3)),
        Sample(T(0, 4)),
        Sample(T(3, 0)),
        *(Sample(T(3, 3)), Sample(T()), Sample(T(2, 2), 2)),
        Sample(T(4, dtype="int64"), grad=False),
    ]
)
def _glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second.

    >>> torch.nn.functional.glu(torch.tensor([2.0, 0.0]))
    tensor([1.])
    """
    if not input._array.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    wrapped = wrap_dim(dim, input._array.ndim)
    size = input._array.shape[wrapped]
    if size % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {wrapped} is size {size}"
        )
    return RECORDED.glu(input, wrapped)


@functional(samples=lambda: [*_shapes(), Sample(T(3), dtypes=COMPLEX)])
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return input - input.tanh()


@functional(samples=lambda: [*_shapes(), Sample(T(3), dtypes=COMPLEX)])
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``."""
    return input / (input.abs() + 1)


@functional(samples=lambda: [Sample(T(3, 4))])
def _sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``, elementwise."""
    return RECORDED.sigmoid(input)


@functional(samples=lambda: [Sample(T(3, 4))])
def _tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent, elementwise."""
    return RECORDED.tanh(input)
