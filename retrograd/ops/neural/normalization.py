"""layer_norm, batch_norm, group_norm, instance_norm, rms_norm, local_response_norm.

The first three subtract a mean and divide by a standard deviation; they differ in which elements
share these two numbers. A `Layout` says so: the input is seen as an array of shape (a, s, b) whose
statistics are taken over a and b, one for each s. In the formulas below, x is the standardised
input, r one over the standard deviation, and means are taken over what shares statistics:

    gradient of v . x       J(v) = r * (v - mean(v) - x * mean(v * x))
    gradient of u . J(v)    -r^2 * (x * (mean(u * v) - mean(u) * mean(v) - 3 * p * q)
                                    + p * (v - mean(v)) + q * (u - mean(u)))
                            with p = mean(u * x) and q = mean(v * x)
    gradient of r           -r^2 * x / count

So x, J and r are closed under differentiation, and every order follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from retrograd import dtypes
from retrograd.backend.cpu_rows import compiled_first, rows, windows
from retrograd.backend.neutral.arrangement import arranged
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Gradients, Namespace
from retrograd.ops.neural.operand_checks import floating_only
from retrograd.ops.registry import (
    RECORDED,
    Table,
    function_only,
    functional,
    op,
    table_entry,
)
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES)
_SMALL = 1024  # elements up to which NumPy's `vecdot` costs more than it saves
Shape = tuple[int, ...]


class Layout(NamedTuple):
    """How an input is seen.

    grouped   for statistics: over the first and last of three dimensions
    scaled    for weight and bias: (rows, columns), or (batch, channels, places)
    weight    weight and bias beside it: (columns,), or (channels, 1)
    """

    grouped: tuple[int, int, int]
    scaled: Shape
    weight: Shape


# ----------------------------------------------------------------------------------- arithmetic


def _totals(xp: Namespace, values: Array) -> Array:
    """Sums over the first and last of three dimensions, which stay as size one."""
    first, kept, last = values.shape
    small = xp.sum_to(values, (1, kept, 1))
    if small is not None:
        return small
    if last == 1:
        return xp.sum(values, axis=0, keepdims=True)
    total = xp.sum(values, axis=2, keepdims=True)
    return total if first == 1 else xp.sum(total, axis=0, keepdims=True)


def _products(xp: Namespace, a: Array, b: Array) -> Array:
    """Sums of the products of two arrays, as `_totals` takes them."""
    first, _, last = a.shape
    if last == 1 or a.size <= _SMALL:
        return _totals(xp, xp.multiply(a, b))
    total = xp.vecdot(a, b)[..., None]
    return total if first == 1 else xp.sum(total, axis=0, keepdims=True)


def _count(layout: Layout) -> int:
    return layout.grouped[0] * layout.grouped[2]


def _centred(
    xp: Namespace, input: Array, layout: Layout, eps: float
) -> tuple[Array, Array, Array, Array]:
    """The input minus its mean, the mean, one over the deviation, and the variance."""
    grouped = input.reshape(layout.grouped)
    count = _count(layout)
    mean = xp.divide(_totals(xp, grouped), count)
    centred = xp.subtract(grouped, mean)
    variance = xp.divide(_products(xp, centred, centred), count)
    inverse = xp.divide(1.0, xp.sqrt(xp.add(variance, eps)))
    return centred, mean, inverse, variance


def scaled(
    xp: Namespace,
    values: Array,
    layout: Layout,
    weight: Array | None,
    bias: Array | None,
    shape: Shape,
) -> Array:
    """Standardised values times weight plus bias, in the input's shape."""
    result = values.reshape(layout.scaled)
    if weight is not None:
        result = xp.multiply(result, weight.reshape(layout.weight))
    if bias is not None:
        result = xp.add(result, bias.reshape(layout.weight))
    return result.reshape(shape)


def _mean(m: Table, values: Tensor, layout: Layout) -> Tensor:
    return m.div(m.sum(values, (0, 2), True), _count(layout))


def to_weight(m: Table, values: Tensor, layout: Layout, shape: Shape) -> Tensor:
    """Values of the input's shape summed to the shape of weight and bias."""
    parts: Any = m.reshape(values, layout.scaled)
    if len(layout.scaled) == 2:
        return m.reshape(m.sum(parts, 0), shape)
    total: Any = m.sum(parts, (0, 2)) if m is RECORDED else _totals(m.xp, parts)
    return m.reshape(total, shape)


def times_weight(m: Table, values: Tensor, weight: Tensor, layout: Layout) -> Tensor:
    if weight is None:
        return values
    product = m.mul(m.reshape(values, layout.scaled), m.reshape(weight, layout.weight))
    return m.reshape(product, tuple(values.shape))


# ----------------------------------------------------------- standardising and its derivatives


@op(
    input=lambda m, g, input, mean, inverse, layout: m._layer_norm_gradient(
        g, input, mean, inverse, layout
    ),
    node_name="NativeLayerNormBackward0",
    saved_names={"input": "input", "self": ""},
)
def _standardize(xp: Namespace, input: Array, mean: Array, inverse: Array, layout: Layout) -> Array:
    """The input minus mean, over standard deviation: both known already, both functions of it."""
    result = xp.subtract(input.reshape(layout.grouped), mean)
    return xp.multiply(result, inverse, result).reshape(input.shape)


def _inverse_rule(
    m: Table, g: Tensor, input: Tensor, mean: Tensor, inverse: Tensor, layout: Layout
) -> Tensor:
    r = m._inverse_deviation(input, mean, inverse, layout)
    x = m.reshape(m._standardize(input, mean, inverse, layout), layout.grouped)
    slope = m.div(m.mul(m.mul(g, m.mul(r, r)), x), -_count(layout))
    return m.reshape(slope, tuple(input.shape))


@op(
    input=_inverse_rule,
    node_name="NativeLayerNormBackward0",
    saved_names={"input": "input", "self": ""},
)
def _inverse_deviation(
    xp: Namespace, input: Array, mean: Array, inverse: Array, layout: Layout
) -> Array:
    """One over the standard deviation: known already, but a function of the input."""
    return inverse.copy()


def _gradient_kernel(
    xp: Namespace, grad: Array, standard: Array, inverse: Array, layout: Layout
) -> Array:
    """J of the module's text; `standard` is the standardised input, in three dimensions."""
    count = _count(layout)
    values = grad.reshape(layout.grouped)
    along = xp.divide(_products(xp, values, standard), count)
    mean = xp.divide(_totals(xp, values), count)
    result = xp.subtract(values, xp.multiply(standard, along))
    return xp.multiply(xp.subtract(result, mean), inverse)


def _curvature(
    m: Table, g: Tensor, grad: Tensor, input: Tensor, mean: Tensor, inverse: Tensor, layout: Layout
) -> Tensor:
    """The gradient of ``g . J(grad)`` with respect to the input on which J depends."""
    u, v = (m.reshape(value, layout.grouped) for value in (g, grad))
    x = m.reshape(m._standardize(input, mean, inverse, layout), layout.grouped)
    r = m._inverse_deviation(input, mean, inverse, layout)
    mean_u, mean_v = _mean(m, u, layout), _mean(m, v, layout)
    p, q = _mean(m, m.mul(u, x), layout), _mean(m, m.mul(v, x), layout)
    inner = x * (_mean(m, m.mul(u, v), layout) - mean_u * mean_v - p * q * 3)
    inner = inner + p * (v - mean_v) + q * (u - mean_u)
    return m.reshape(m.neg(inner * (r * r)), tuple(input.shape))


def _declare_gradient(name: str, node_name: str) -> None:
    """J under the name that PyTorch's node has for one of the three functions."""

    def gradient(
        xp: Namespace, grad: Array, input: Array, mean: Array, inverse: Array, layout: Layout
    ) -> Array:
        standard = xp.subtract(input.reshape(layout.grouped), mean)
        standard *= inverse
        return _gradient_kernel(xp, grad, standard, inverse, layout).reshape(input.shape)

    def of_gradient(
        m: Table, g: Tensor, input: Tensor, mean: Tensor, inverse: Tensor, layout: Layout
    ) -> Tensor:
        slopes: Tensor = getattr(m, name)(g, input, mean, inverse, layout)
        return slopes

    gradient.__name__ = name
    event = None if name == "_batch_norm_gradient" else f"retrograd::{name[1:]}"
    op(grad=of_gradient, input=_curvature, node_name=node_name, event=event)(gradient)


_declare_gradient("_layer_norm_gradient", "NativeLayerNormBackwardBackward0")
_declare_gradient("_batch_norm_gradient", "NativeBatchNormBackwardBackward0")
_declare_gradient("_group_norm_gradient", "NativeGroupNormBackwardBackward0")


def _recorded_norm_gradients(
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
    """The gradients of input, weight and bias; `name` is that of J."""
    m = RECORDED
    slopes = times_weight(m, g, weight, layout) if needs[0] else g
    standard = m._standardize(input, mean, inverse, layout)
    of_input = getattr(m, name)(slopes, input, mean, inverse, layout) if needs[0] else None
    return of_input, *_parameter_gradients(m, g, needs, standard, weight, bias_shape, layout)


def _parameter_gradients(
    m: Table,
    g: Any,
    needs: tuple[bool, ...],
    standard: Any,
    weight: Any,
    bias_shape: Shape,
    layout: Layout,
) -> tuple[Any, Any]:
    of_weight = of_bias = None
    if needs[1]:
        of_weight = to_weight(m, m.mul(g, standard), layout, tuple(weight.shape))
    if needs[2]:
        of_bias = to_weight(m, g, layout, bias_shape)
    return of_weight, of_bias


def _norm_gradients(
    xp: Namespace,
    g: Array,
    needs: tuple[bool, ...],
    input: Array,
    weight: Any,
    bias_shape: Shape,
    mean: Array,
    inverse: Array,
    layout: Layout,
    name: str,
) -> Gradients:
    """The same on arrays: the standardised input is made once."""
    m = xp.raw
    of_input: Any = None
    standard = xp.subtract(input.reshape(layout.grouped), mean)
    standard = xp.multiply(standard, inverse)
    if needs[0]:
        slopes: Any = times_weight(m, g, weight, layout)  # type: ignore[arg-type]  # on arrays
        of_input = _gradient_kernel(xp, slopes, standard, inverse, layout).reshape(input.shape)
    standard = standard.reshape(input.shape)
    return of_input, *_parameter_gradients(m, g, needs, standard, weight, bias_shape, layout)


def compiled_norm_gradients(
    g: Array,
    needs: tuple[bool, ...],
    input: Array,
    weight: Any,
    bias_shape: Shape,
    mean: Array,
    inverse: Array,
    layout: Layout,
    name: str,
    fixed: bool = False,
) -> Gradients | None:
    grouped, scaled, _ = layout
    found = None
    if len(scaled) == 3:
        if fixed or (scaled[2] == 1 and grouped == scaled):
            found = rows.channel_norm_gradients(
                g, input, weight, mean, inverse, scaled, fixed, needs
            )
        elif windows is not None:
            found = windows.planes_norm_gradients(
                g, input, weight, mean, inverse, grouped, scaled, needs
            )
    elif grouped[0] == 1:  # all of a row share their statistics, each column has its own weight
        found = rows.layer_norm_gradients(g, input, weight, mean, inverse, grouped[2], needs)
    if found is None:
        return None
    of_input, of_weight, of_bias = found
    if of_weight is not None:
        of_weight = of_weight.reshape(weight.shape)
    return of_input, of_weight, None if of_bias is None else of_bias.reshape(bias_shape)


def normalized_planes(
    input: Array, weight: Array | None, bias: Array | None, layout: Layout, eps: float
) -> tuple[Array, Array, Array, Array] | None:
    """What `normalized` gives, compiled; None where these are none that the kernel takes."""
    if windows is None or len(layout.scaled) != 3:
        return None
    found: tuple[Array, Array, Array, Array] | None = windows.planes_norm(
        input, weight, bias, layout.grouped, layout.scaled, eps
    )
    return found


table_entry("_norm_gradients", _norm_gradients, _recorded_norm_gradients)
compiled_first("_norm_gradients", compiled_norm_gradients)


# ---------------------------------------------------------------------------------- layer_norm


def normalized(
    xp: Namespace,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    layout: Layout,
    eps: float,
) -> tuple[Array, Array, Array, Array]:
    """The function of all three, and its statistics: mean, one over deviation, variance."""
    centred, mean, inverse, variance = _centred(xp, input, layout, eps)
    result = scaled(xp, xp.multiply(centred, inverse), layout, weight, bias, input.shape)
    return result, mean, inverse, variance


@op(
    gradients=lambda m, g, needs, input, weight, bias_shape, out1, out2, layout, eps: (
        m._norm_gradients(
            g[0], needs, input, weight, bias_shape, out1, out2, layout, "_layer_norm_gradient"
        )
    ),
    differentiable=("input", "weight", "bias"),
    outputs=3,
    nondifferentiable=(1, 2),
    # no derivative reads eps; with it the op can be called again
    saved_names={"result1": "out1", "result2": "out2", "input": "input", "self": "", "": "eps"},
    check=floating_only("LayerNormKernelImpl"),
    node_name="NativeLayerNormBackward0",
    aten="native_layer_norm",
    event="layer_norm",
)
def _layer_norm(
    xp: Namespace,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    layout: Layout,
    eps: float,
) -> tuple[Array, Array, Array]:
    """The function itself, and its statistics for the gradient."""
    return normalized(xp, input, weight, bias, layout, eps)[:3]


compiled_first(
    "_layer_norm",
    lambda input, weight, bias, layout, eps: rows.layer_norm(
        input, weight, bias, layout.grouped[2], eps
    ),
)


def check_parameters(input: Array, *parameters: Tensor | None) -> None:
    """Weights have the input's dtype; beside half precision they may all be float32."""
    kinds = {p._array.dtype for p in parameters if p is not None}
    if kinds <= {input.dtype} or input.dtype.kind in "biuc":
        return
    if input.dtype in dtypes.HALF_TYPES and kinds == {dtypes.F32}:
        return
    if input.dtype is dtypes.F64:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


def shape_argument(name: str, value: object) -> Shape:
    if not isinstance(value, (tuple, list)):
        raise errors.argument_type(name, "normalized_shape", 2, "tuple of ints", value)
    return tuple(value)


def check_normalized_shape(
    input: Shape, wanted: Shape, star: str, weight: Tensor | None = None, bias: Tensor | None = None
) -> None:
    if not wanted:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value._array.shape != wanted:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(value._array.shape)} and normalized_shape = {list(wanted)}"
            )
    if input[-len(wanted) :] != wanted:
        raise errors.runtime_error(
            f"Given normalized_shape={list(wanted)}, expected input with shape [{star}"
            f"{', '.join(map(str, wanted))}], but got input of size{list(input)}",
            code="RG210",
        )


def _layer_samples() -> list[Sample]:
    return [
        Sample(T(3, 4), (4,), dtypes=_EVERY),
        Sample(T(3, 4), (4,), T(4), T(4), dtypes=_EVERY),
        Sample(T(3, 4), (4,), T(4)),
        Sample(T(3, 4), [4], bias=T(4), second=False),  # PyTorch fails in second order
        Sample(T(2, 3, 4), (3, 4), T(3, 4), T(3, 4)),
        Sample(T(2, 3, 4), (4,), T(4), T(4), 0.1),
        Sample(T(3, 4), (3, 4), eps=1e-3),
        Sample(T(4), (4,), T(4), T(4, grad=False)),
        Sample(T(4, grad=False), (4,), T(4), T(4), second=False),
        Sample(T(5, 1), (1,), T(1), T(1)),
        Sample(T(0, 4), (4,), T(4), T(4)),
        Sample(T(3, 0), (0,)),
        Sample(T(values=[[1e4, 1e4 + 1, 1e4 + 2]]), (3,), grad=False),
        Sample(T(3, 4, dtype="float16", grad=True), (4,), T(4, dtype="float32"), second=False),
        Sample(T(3, 4), 4),
        Sample(T(3, 4), ()),
        Sample(T(3, 4), (3,)),
        Sample(T(3, 4), (2, 3, 4)),
        Sample(T(3, 4), (4,), T(3)),
        Sample(T(3, 4), (4,), T(4), T(3)),
        Sample(T(3, 4), (4,), T(4, dtype="float16")),
        Sample(T(3, 4, dtype="int64"), (4,), grad=False),
    ]


@functional(samples=_layer_samples)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean zero and variance one over the last dimensions, then times `weight` plus `bias`.

    >>> torch.nn.functional.layer_norm(torch.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    try:
        array = input._array
    except AttributeError:
        raise errors.not_tensors("layer_norm", input=input) from None
    wanted = shape_argument("layer_norm", normalized_shape)
    check_normalized_shape(array.shape, wanted, "*, ", weight, bias)
    check_parameters(array, weight, bias)
    columns = math.prod(wanted)
    rows = math.prod(array.shape[: array.ndim - len(wanted)])
    layout = Layout((1, rows, columns), (rows, columns), (columns,))
    return RECORDED._layer_norm(input, weight, bias, layout, eps)[0]


@function_only(samples=lambda: [Sample(T(3, 4), (4,), T(4), T(4))])
def _torch_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Mean zero and variance one over the last dimensions, then times `weight` plus `bias`."""
    return layer_norm(input, normalized_shape, weight, bias, eps)


# ---------------------------------------------------------------------------------- group_norm


@op(
    gradients=lambda m, g, needs, input, weight, bias_shape, out1, out2, layout, eps: (
        m._norm_gradients(
            g[0], needs, input, weight, bias_shape, out1, out2, layout, "_group_norm_gradient"
        )
    ),
    differentiable=("input", "weight", "bias"),
    outputs=3,
    nondifferentiable=(1, 2),
    saved_names={"result1": "out1", "result2": "out2", "input": "input", "self": ""},
    check=floating_only("GroupNormKernelImpl"),
    node_name="NativeGroupNormBackward0",
    aten="native_group_norm",
    event="group_norm",
)
def _group_norm(
    xp: Namespace,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    layout: Layout,
    eps: float,
) -> tuple[Array, Array, Array]:
    """The function itself, and its statistics for the gradient."""
    result, mean, inverse, _ = normalized(xp, input, weight, bias, layout, eps)
    return arranged(xp, result, input), mean, inverse


compiled_first(
    "_group_norm",
    lambda *arguments: None if (found := normalized_planes(*arguments)) is None else found[:3],
)


def check_batch(size: Sequence[int]) -> None:
    """Statistics of a single value are none."""
    plain = tuple(size)  # a slice of a Size is another Size, which takes longer
    if plain[0] * math.prod(plain[2:]) == 1:
        raise errors.explained(
            ValueError(
                f"Expected more than 1 value per channel when training, got input size {size}"
            ),
            code="RG210",
        )


def _group_samples() -> list[Sample]:
    return [
        Sample(T(2, 4, 5), 2, dtypes=_EVERY),
        Sample(T(2, 4, 5), 2, T(4), T(4), dtypes=_EVERY),
        Sample(T(2, 4, 5), 1, T(4)),
        Sample(T(2, 4, 5), 4, bias=T(4, grad=False)),
        Sample(T(3, 6), 2, T(6), T(6)),
        Sample(T(2, 6, 2, 3), 3, T(6), T(6), 0.1),
        Sample(T(0, 4, 2), 2, T(4), T(4)),
        Sample(T(2, 4, 0), 2),
        Sample(T(3, 4), 3),
        Sample(T(3, 4), 0),
        Sample(T(4), 2),
        Sample(T(), 2),
        Sample(T(1, 4), 4),
        Sample(T(2, 4, 5), 2, T(3)),
        Sample(T(2, 4, 5), 2, T(4), T(3)),
        Sample(T(2, 4, 5), 2, T(4, dtype="float16")),
        Sample(T(2, 4, dtype="int64"), 2, grad=False),
    ]


def _check_channels(shape: Shape, weight: Tensor | None, bias: Tensor | None) -> None:
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value._array.shape != (shape[1],):
            # PyTorch prints the weight's shape in both messages
            shown = list((value if weight is None else weight)._array.shape)
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {shown} and input of shape {list(shape)}"
            )


@functional(samples=_group_samples)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean zero and variance one over groups of channels of each sample."""
    try:
        shape = input._array.shape
    except AttributeError:
        raise errors.without("dim", input) from None
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    check_batch([shape[0] * shape[1] // num_groups, num_groups, *shape[2:]])
    return _group_norm_of(input, num_groups, weight, bias, eps)


def _group_norm_of(
    input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    shape = input._array.shape
    batch, channels = shape[:2]
    places = math.prod(shape[2:])
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    _check_channels(shape, weight, bias)
    check_parameters(input._array, weight, bias)
    layout = Layout(
        (1, batch * num_groups, channels // num_groups * places),
        (batch, channels, places),
        (channels, 1),
    )
    return RECORDED._group_norm(input, weight, bias, layout, eps)[0]


@function_only(samples=lambda: [Sample(T(2, 4, 5), 2, T(4), T(4))])
def _torch_group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Mean zero and variance one over groups of channels of each sample."""
    return _group_norm_of(input, num_groups, weight, bias, eps)
