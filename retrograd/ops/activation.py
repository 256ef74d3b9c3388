"""Rectifiers: relu and its relatives, which are straight lines piece by piece."""

from __future__ import annotations

from typing import Any

from retrograd import dtypes
from retrograd.backend import kernels
from retrograd.ops.kinds import Array
from retrograd.ops.neural import keep_where
from retrograd.ops.registry import OPS, RECORDED, attach, composite, op
from retrograd.tensor import Tensor
from retrograd.testing import samples
from retrograd.testing.samples import Sample, T

_NAN, _INF = float("nan"), float("inf")
_POINTS = Sample(T(values=[0.0, -0.0, 1.0, -1.0, _INF, -_INF, _NAN]), second=False)

# ---------------------------------------------------------------------------------------- relu


@op(
    grad=lambda m, g, input, threshold: m._threshold_gradient(g, input, threshold),
    input=lambda m, g: m.zeros_like(g),
    node_name="ThresholdBackwardBackward0",
    saved_names={"self": "input"},
)
def _threshold_gradient(xp: Any, grad: Array, input: Array, threshold: Any) -> Array:
    """`grad` where `input` is above the threshold (or nan), else zero."""
    return keep_where(xp, grad, xp.logical_not(input <= threshold))


@op(
    grad=lambda m, g, output: m._relu_gradient(g, output),
    output=lambda m, g: m.zeros_like(g),
    node_name="ThresholdBackwardBackward0",
    saved_names={"self": "output"},
)
def _relu_gradient(xp: Any, grad: Array, output: Array) -> Array:
    """`grad` where `output`, which is never negative, is not zero."""
    return keep_where(xp, grad, xp.not_equal(output, 0))


def _check_relu(input: Array) -> None:
    if input.dtype is dtypes.B8:
        raise RuntimeError("Boolean inputs not supported for relu")
    if input.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")


@op(
    input=lambda m, g, out: m._relu_gradient(g, out),
    check=_check_relu,
    inplace=True,
    samples=samples.unary(extra=[_POINTS, Sample(T(3), dtypes=("complex64",))]),
)
def relu(xp: Any, input: Array) -> Array:
    """``max(input, 0)``, elementwise.

    >>> torch.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return kernels.maximum(input, 0)


relu_ = OPS["relu"].inplace_function
assert relu_ is not None
attach(relu_, public=("relu_",))
attach(relu_, namespace="nn.functional", public=("relu_",))


@composite(
    name="relu",
    namespace="nn.functional",
    samples=lambda: [Sample(T(3, 4)), Sample(T(3, grad=False), inplace=True)],
)
def _relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``, elementwise.

    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    result: Tensor = relu_(input) if inplace else relu(input)  # type: ignore[misc]
    return result


# ------------------------------------------------------------------------------ sigmoid, tanh


@composite(name="sigmoid", namespace="nn.functional", samples=lambda: [Sample(T(3, 4))])
def _sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``, elementwise."""
    result: Tensor = RECORDED.sigmoid(input)
    return result


@composite(name="tanh", namespace="nn.functional", samples=lambda: [Sample(T(3, 4))])
def _tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent, elementwise."""
    result: Tensor = RECORDED.tanh(input)
    return result
