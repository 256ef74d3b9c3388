"""Pooling with fixed windows: largest value, average, power average.

PyTorch pools sequences as images of height one; so do the functions for one dimension here. As in
PyTorch a pooling keeps its input for the backward pass, though only the shape is needed: it decides
which graphs can be walked twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from retrograd import dtypes
from retrograd.backend.cpu_rows import compiled_first
from retrograd.backend.neutral import pooling as kernels
from retrograd.backend.neutral.arrangement import arranged
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Ints, Namespace
from retrograd.ops.neural.pooling_checks import (
    check_line_dimensions,
    check_max_pool1d,
    line_options,
    one_number,
    pooling_options,
)
from retrograd.ops.neural.windows import (
    Sizes,
    also_in_torch,
    is_real_number,
    refuse_types,
    window_option,
)
from retrograd.ops.registry import RECORDED, Table, attach, functional, op
from retrograd.ops.sizes import Shape, require_tensor
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor

_ALL = (*FLOATS, *HALVES)


# ----------------------------------------------------------------------------------------- ops


def _declare_max_pool(dimensions: int) -> None:
    """`max_pool<n>d_with_indices` and the sum of gradients into the chosen places."""
    name = f"max_pool{dimensions}d"
    gradient_name = f"_{name}_gradient"
    node = f"MaxPool{dimensions}DWithIndices"

    def forward(
        xp: Namespace,
        input: Array,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        ceil_mode: bool,
    ) -> tuple[Array, Array]:
        values, places = kernels.max_pool(
            xp, input, kernel_size, stride, padding, dilation, ceil_mode
        )
        return arranged(xp, values, input), arranged(xp, places, input)

    def backward(xp: Namespace, gradient: Array, input: Array, indices: Array) -> Array:
        return kernels.scatter_to_indices(xp, gradient, indices, input.shape[-dimensions:])

    forward.__name__ = f"{name}_with_indices"
    backward.__name__ = gradient_name
    op(
        input=lambda m, g, input, out1: getattr(m, gradient_name)(g[0], input, out1),
        node_name=f"{node}Backward0",
        outputs=2,
        nondifferentiable=(1,),
        namespace=None,
        methods=(),
        saved_names={"result1": "out1"},
        check=lambda input, *options: refuse_types(name, input, is_real_number),
        forward=lambda m, tangents, out1: (m._gather_spatial(tangents[0], out1, dimensions), None),
        images=dimensions + 2,
    )(forward)
    op(
        gradient=lambda m, g, indices: m._gather_spatial(g, indices, dimensions),
        input=lambda m, g, input_shape: m._zeros(g, input_shape),
        node_name=f"{node}BackwardBackward0",
        aten=None if dimensions == 2 else f"{name}_with_indices_backward",
        images=dimensions + 2,
    )(backward)
    compiled_first(f"{name}_with_indices", "max_pool")
    compiled_first(gradient_name, f"{name}_gradient")


def _declare_avg_pool(dimensions: int) -> None:
    """`avg_pool<n>d` and its adjoint."""
    name = f"avg_pool{dimensions}d"
    gradient_name = f"_{name}_gradient"
    node = f"AvgPool{dimensions}D"

    def check(input: Array, *options: object) -> None:
        if dimensions == 3:
            exact = (dtypes.float32, dtypes.float64, dtypes.int64)
            refuse_types("avg_pool3d_out_frame", input, lambda kind: kind in exact)
        else:
            refuse_types(name, input, lambda kind: kind.is_floating_point or kind is dtypes.int64)

    def forward(
        xp: Namespace,
        input: Array,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Array:
        result = kernels.avg_pool(
            xp, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
        return arranged(xp, result, input) if dimensions == 2 else result

    def backward(
        xp: Namespace,
        gradient: Array,
        input: Array,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Array:
        spatial = input.shape[-dimensions:]
        return kernels.avg_pool_gradient(
            xp, gradient, spatial, kernel_size, stride, padding, count_include_pad, divisor_override
        )

    def input_rule(
        m: Table, g: Tensor, input: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes,
        ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
    ) -> Tensor:  # fmt: skip
        run: Callable[..., Tensor] = getattr(m, gradient_name)
        sizes = kernel_size, stride, padding
        return run(g, input, *sizes, ceil_mode, count_include_pad, divisor_override)

    def gradient_rule(
        m: Table, g: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes,
        ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
    ) -> Tensor:  # fmt: skip
        run: Callable[..., Tensor] = getattr(m, name)
        sizes = kernel_size, stride, padding
        return run(g, *sizes, ceil_mode, count_include_pad, divisor_override)

    forward.__name__ = name
    backward.__name__ = gradient_name
    op(
        input=input_rule,
        node_name=f"{node}Backward0",
        namespace=None,
        methods=(),
        check=check,
        forward="linear",
        autocast="float32" if dimensions == 3 else None,
        images=dimensions + 2,
    )(forward)
    op(
        gradient=gradient_rule,
        input=lambda m, g, input_shape: m._zeros(g, input_shape),
        node_name=f"{node}BackwardBackward0",
        images=dimensions + 2,
    )(backward)
    compiled_first(name, "avg_pool")
    compiled_first(gradient_name, "avg_pool_gradient")


for _dimensions in (2, 3):
    _declare_max_pool(_dimensions)
    _declare_avg_pool(_dimensions)


@op(
    input=lambda m, g, indices, input_shape, dimensions: m._scatter_spatial(
        g, indices, input_shape[-dimensions:]
    ),
    node_name="GatherBackward0",
    forward="linear",
)
def _gather_spatial(xp: Namespace, input: Array, indices: Array, dimensions: int) -> Array:
    """Read the last `dimensions` dimensions at the flat places that pooling chose."""
    return kernels.gather_at_indices(xp, input, indices, dimensions)


@op(
    gradient=lambda m, g, indices, spatial: m._gather_spatial(g, indices, len(spatial)),
    node_name="ScatterAddBackward0",
    forward="linear",
)
def _scatter_spatial(xp: Namespace, gradient: Array, indices: Array, spatial: Shape) -> Array:
    """The adjoint of `_gather_spatial`."""
    return kernels.scatter_to_indices(xp, gradient, indices, spatial)


compiled_first("_scatter_spatial", "scatter_places")


# ------------------------------------------------------------------------------------- maximum


def _max_pool(
    name: str,
    dimensions: int,
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
) -> tuple[Tensor, Tensor]:
    require_tensor(name, input)
    kernel, steps, pads, gaps = pooling_options(
        name, dimensions, input._array.shape, kernel_size, stride, padding, dilation, ceil_mode
    )
    function = getattr(RECORDED, f"max_pool{dimensions}d_with_indices")
    return function(input, kernel, steps, pads, gaps, ceil_mode)  # type: ignore[no-any-return]


def _max_pool_line(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    *,
    return_indices: bool,
) -> tuple[Tensor, Tensor]:
    """Maximum pooling of sequences, as images of height one."""
    require_tensor("max_pool1d", input)
    shape = input._array.shape
    if return_indices:  # the checks are those of images too
        kernel, step, pad, gap = line_options(input, kernel_size, stride, padding, dilation)
        image = (*shape[:-1], 1, shape[-1])
        sizes = (1, kernel), (1, step), (0, pad), (1, gap)
        pooling_options("max_pool2d", 2, image, *sizes, ceil_mode)
    else:
        kernel, step, pad, gap = check_max_pool1d(
            shape, kernel_size, stride, padding, dilation, ceil_mode
        )
    values, indices = RECORDED.max_pool2d_with_indices(
        RECORDED.unsqueeze(input, -2), (1, kernel), (1, step), (0, pad), (1, gap), ceil_mode
    )
    return RECORDED.squeeze(values, -2), RECORDED.squeeze(indices, -2)


def _max_samples(*spatial: int) -> list[Sample]:
    n = len(spatial)
    image = T(2, 2, *spatial, distinct=True)
    found = [
        Sample(image, 2, dtypes=_ALL if n < 3 else FLOATS),
        Sample(image, 3, 2, 1),
        Sample(image, 2, 1, 0, 2),
        Sample(image, 3, 2, 1, 1, True),
        Sample(image, 2, ceil_mode=True, return_indices=True),
        Sample(image, (2,) * n, stride=(1,), return_indices=True),
        Sample(T(2, *spatial, distinct=True), 2, stride=None),
        Sample(T(0, 2, *spatial), 2),
        Sample(T(1, 1, *spatial, values=[[_nested(spatial, 1.0)]]), 2, return_indices=True),
        Sample(T(2, 2, *spatial, dtype="int64"), 2, return_indices=True, grad=False),
        Sample(T(1, 1, *spatial, dtype="bool"), 2, return_indices=True, grad=False),
    ]
    small = T(1, 1, *spatial)
    for wrong in (
        *((small, 0), (small, -1), (small, 2.5), (small, (2,) * (n + 1)), (small, ())),
        *((small, 2, 0), (small, 2, -1), (small, 2, (1,) * (n + 1)), (small, 2, ())),
        *((small, 2, 2, 2), (small, 3, 2, 2), (small, 3, 2, 2, 2), (small, 2, 2, -1)),
        *((small, 20), (small, 2, 2, 0, 0), (small, 2, 2, (0,) * (n + 1)), (3, 2)),
        *((T(*spatial), 2), (T(1, 1, 1, *spatial), 2), (T(1, 0, *spatial), 2)),
        (T(1, 1, *spatial[:-1], 0), 2),
    ):
        found.append(Sample(*wrong, dtypes=("float32",)))
    return found


def _nested(shape: tuple[int, ...], value: float) -> Any:
    """Nested lists of one value: the first of equal values is chosen."""
    return [_nested(shape[1:], value) for _ in range(shape[0])] if shape else value


@functional(samples=lambda: _max_samples(7))
@forms(
    "(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = "
    "None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool "
    "= False, return_indices: Literal[False] = False) -> Tensor",
    "(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = "
    "None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool "
    "= False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]",
)
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor] | Tensor:
    """The largest value of each window of a sequence; with `return_indices` also where it is.

    >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
    tensor([[3., 5.]])
    """
    values, indices = _max_pool_line(
        *(input, kernel_size, stride, padding, dilation, ceil_mode), return_indices=return_indices
    )
    if return_indices:
        return values, indices
    refuse_types("max_pool1d_impl", input._array, lambda kind: kind.is_floating_point)
    return values


@functional(samples=lambda: _max_samples(5, 6))
@forms(
    "(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = "
    "None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool "
    "= False, return_indices: Literal[False] = False) -> Tensor",
    "(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = "
    "None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool "
    "= False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]",
)
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor] | Tensor:
    """The largest value of each window of an image; with `return_indices` also where it is.

    >>> torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    found = _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


@functional(
    samples=lambda: _max_samples(4, 5, 3), autocast="float32", autocast_unless="return_indices"
)
@forms(
    "(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = "
    "None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool "
    "= False, return_indices: Literal[False] = False) -> Tensor",
    "(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = "
    "None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool "
    "= False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]",
)
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor] | Tensor:
    """The largest value of each window of a volume; with `return_indices` also where it is."""
    found = _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


@functional(samples=lambda: [Sample(T(1, 2, 5, distinct=True), 2, return_indices=True)])
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest value of each window of a sequence, and where it is."""
    return _max_pool_line(
        input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True
    )


@functional(samples=lambda: [Sample(T(1, 2, 5, 4, distinct=True), 2)])
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest value of each window of an image, and its place in the flattened image."""
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


@functional(samples=lambda: [Sample(T(1, 2, 3, 5, 4, distinct=True), 2)])
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest value of each window of a volume, and its place in the flattened volume."""
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)


# ------------------------------------------------------------------------------------- average


def _avg_pool(
    name: str,
    dimensions: int,
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    require_tensor(name, input)
    kernel, steps, pads, _ = pooling_options(
        name, dimensions, input._array.shape, kernel_size, stride, padding, 1, ceil_mode
    )
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    function = getattr(RECORDED, name)
    return function(  # type: ignore[no-any-return]
        input, kernel, steps, pads, ceil_mode, count_include_pad, divisor_override
    )


def _avg_samples(*spatial: int) -> list[Sample]:
    n = len(spatial)
    image = T(2, 2, *spatial)
    found = [
        Sample(image, 2, dtypes=_ALL),
        *(Sample(image, 3, 2, 1), Sample(image, 3, 2, 1, False, False)),
        *(Sample(image, 3, 2, 1, True), Sample(image, 3, 2, 1, True, False)),
        *(Sample(image, (2,), (1,) * n), Sample(image, 1, 1), Sample(image, 2, 2, ceil_mode=True)),
        *(Sample(T(2, *spatial), 2, stride=None), Sample(T(0, 2, *spatial), 2)),
        Sample(T(1, 1, *spatial, low=-9, high=9, dtype="int64"), 2, grad=False),
        Sample(T(1, 1, *spatial, dtype="int32"), 2, grad=False),
    ]
    if n > 1:
        found += [Sample(image, 2, divisor_override=3), Sample(image, 2, divisor_override=0)]
    small = T(1, 1, *spatial)
    for wrong in (
        *((small, 0), (small, -1), (small, 2.5), (small, (2,) * (n + 1)), (small, ())),
        *((small, 2, 0), (small, 2, -1), (small, 2, (1,) * (n + 1)), (small, 2, ())),
        *((small, 2, 2, 2), (small, 3, 2, 2), (small, 2, 2, -1), (small, 20), (3, 2)),
        *((T(*spatial), 2), (T(1, 1, 1, *spatial), 2), (T(1, 0, *spatial), 2)),
        *((T(1, 1, *spatial[:-1], 0), 2), (T(1, 1, *spatial[:-1], 2), 3, 1, 1)),
    ):
        found.append(Sample(*wrong, dtypes=("float32",)))
    return found


@functional(samples=lambda: _avg_samples(7))
def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The average of each window of a sequence.

    >>> torch.avg_pool1d(torch.tensor([[1.0, 3.0, 5.0]]), 2, 1)
    tensor([[2., 4.]])
    """
    require_tensor("avg_pool1d", input)
    check_line_dimensions("avg_pool1d", input)
    kernel = one_number("avg_pool1d", "kernel_size", 2, kernel_size)
    given = () if stride is None else window_option("avg_pool1d", "stride", 3, stride)
    step = one_number("avg_pool1d", "stride", 3, given) if given else kernel
    pad = one_number("avg_pool1d", "padding", 4, padding)
    result = _avg_pool(
        "avg_pool2d", 2, RECORDED.unsqueeze(input, -2), (1, kernel), (1, step), (0, pad), ceil_mode,
        count_include_pad, None,
    )  # fmt: skip
    return RECORDED.squeeze(result, -2)


@functional(samples=lambda: _avg_samples(5, 6))
def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The average of each window of an image.

    >>> torch.nn.functional.avg_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@functional(samples=lambda: _avg_samples(4, 5, 3), autocast="float32")
def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The average of each window of a volume."""
    return _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


# --------------------------------------------------------------------------------- power average


def _lp_pool(
    dimensions: int,
    input: Tensor,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None,
    ceil_mode: bool,
) -> Tensor:
    require_tensor(f"lp_pool{dimensions}d", input)
    size: Any = kernel_size
    if dimensions > 1:
        each = kernel_size if isinstance(kernel_size, Iterable) else (kernel_size,) * dimensions
        if dimensions == 2:
            height, width = each
            size = height, width
        else:
            depth, height, width = each
            size = depth, height, width
    if abs(norm_type) == math.inf:
        below = norm_type < 0
        sizes = -input.abs() if below else input.abs()
        pool: Any = {1: max_pool1d, 2: max_pool2d, 3: max_pool3d}[dimensions]
        largest: Tensor = pool(sizes, kernel_size, stride, 0, 1, ceil_mode)
        return -largest if below else largest
    average = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}[dimensions]
    mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    if dimensions > 1:
        size = math.prod(size)
    if isinstance(size, (tuple, list)):
        raise errors.argument_type("mul", "other", 1, "Tensor", size)
    total = (mean.sign() * RECORDED.relu(mean.abs())).mul(size)
    return total.pow(1.0 / norm_type)


def _lp_samples(*spatial: int) -> list[Sample]:
    image = T(2, 2, *spatial, low=0.5, high=2.0)
    return [
        *(Sample(image, 2, 2), Sample(image, 3.0, 2, 1, True), Sample(image, 1, 3, 2)),
        *(Sample(T(2, *spatial, low=0.5), 2, 2), Sample(T(1, 1, *spatial), 2.0, 2)),
        *(Sample(T(1, 1, *spatial, distinct=True), p, 2) for p in (math.inf, -math.inf)),
        *(Sample(image, 0, 2), Sample(image, 2, (2,)), Sample(image, 2, (1,) * 4)),
    ]


@functional(samples=lambda: _lp_samples(5))
def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-th root of the sum of p-th powers in each window of a sequence."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@functional(samples=lambda: _lp_samples(5, 4))
def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-th root of the sum of p-th powers in each window of an image."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@functional(samples=lambda: _lp_samples(3, 4, 3))
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-th root of the sum of p-th powers in each window of a volume."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


# ------------------------------------------------------------------------- the torch namespace


def _plain(function: Callable[..., Any]) -> Callable[..., Tensor]:
    """The form without `return_indices` that the main namespace has."""

    def plain(
        input: Tensor,
        kernel_size: Ints,
        stride: Ints | None = (),
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        result: Tensor = function(input, kernel_size, stride, padding, dilation, ceil_mode)
        return result

    plain.__name__ = plain.__qualname__ = function.__name__
    plain.__doc__ = function.__doc__
    return plain


for _function in (max_pool1d, max_pool2d, max_pool3d):
    attach(_plain(_function), namespace="torch", public=(_function.__name__,))
also_in_torch(avg_pool1d, max_pool1d_with_indices)
