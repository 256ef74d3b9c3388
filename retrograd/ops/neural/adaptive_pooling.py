"""Adaptive pooling: windows that follow from the size of the result; and the inverse of pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.backend.cpu_rows import compiled_first
from retrograd.backend.neutral import pooling as kernels
from retrograd.backend.neutral.arrangement import arranged
from retrograd.notices import runtime_error
from retrograd.ops.determinism import alert_not_deterministic
from retrograd.ops.kinds import Array, Ints, Namespace
from retrograd.ops.neural.pooling_checks import check_line_dimensions, one_number
from retrograd.ops.neural.windows import (
    Sizes,
    also_in_torch,
    is_real_floating,
    refuse_types,
    require_tensors,
    sizes_text,
    spread,
)
from retrograd.ops.registry import RECORDED, attach, functional, op
from retrograd.ops.sizes import Shape, as_integers, require_tensor
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor

_ALL = (*FLOATS, *HALVES)
Output = int | Sequence[int | None]


# ----------------------------------------------------------------------------------------- ops


def _declare(dimensions: int) -> None:
    """Adaptive pooling and unpooling of images or volumes, and their gradients."""
    maximum, average = f"adaptive_max_pool{dimensions}d", f"adaptive_avg_pool{dimensions}d"
    max_gradient, avg_gradient = f"_{maximum}_gradient", f"_{average}_gradient"
    kernel_suffix = "" if dimensions == 2 else "_cpu"

    def max_forward(xp: Namespace, input: Array, output_size: Sizes) -> tuple[Array, Array]:
        if 0 in output_size:
            shape = (*input.shape[:-dimensions], *output_size)
            return xp.empty(shape, input.dtype), xp.empty(shape, xp.int64)
        values, places = kernels.adaptive_max_pool(xp, input, output_size)
        if dimensions == 2:
            values, places = arranged(xp, values, input), arranged(xp, places, input)
        return values, places

    def max_backward(xp: Namespace, gradient: Array, input: Array, indices: Array) -> Array:
        return kernels.scatter_to_indices(xp, gradient, indices, input.shape[-dimensions:])

    def avg_forward(xp: Namespace, input: Array, output_size: Sizes) -> Array:
        result = kernels.adaptive_avg_pool(xp, input, output_size)
        return arranged(xp, result, input) if dimensions == 2 else result

    def avg_backward(xp: Namespace, gradient: Array, input: Array) -> Array:
        return kernels.adaptive_avg_pool_gradient(xp, gradient, input.shape[-dimensions:])

    def unpool(xp: Namespace, input: Array, indices: Array, output_size: Sizes) -> Array:
        result = kernels.max_unpool(xp, input, indices, output_size)
        return arranged(xp, result, input) if dimensions == 2 else result

    max_forward.__name__, max_backward.__name__ = maximum, max_gradient
    avg_forward.__name__, avg_backward.__name__ = average, avg_gradient
    unpool.__name__ = f"max_unpool{dimensions}d"
    op(
        input=lambda m, g, input, out1: getattr(m, max_gradient)(g[0], input, out1),
        node_name=f"AdaptiveMaxPool{dimensions}DBackward0",
        outputs=2,
        nondifferentiable=(1,),
        namespace=None,
        methods=(),
        saved_names={"result1": "out1"},
        autocast="float32" if dimensions == 3 else None,
        check=lambda input, *options: refuse_types(
            maximum + kernel_suffix, input, is_real_floating
        ),
        forward=lambda m, tangents, out1: (m._gather_spatial(tangents[0], out1, dimensions), None),
        images=dimensions + 2,
    )(max_forward)
    op(
        gradient=lambda m, g, indices: m._gather_spatial(g, indices, dimensions),
        input=lambda m, g, input_shape: m._zeros(g, input_shape),
        node_name=f"AdaptiveMaxPool{dimensions}DBackwardBackward0",
        images=dimensions + 2,
    )(max_backward)
    op(
        input=lambda m, g, input: getattr(m, avg_gradient)(g, input),
        node_name=f"AdaptiveAvgPool{dimensions}DBackward0",
        namespace=None,
        methods=(),
        check=lambda input, *options: refuse_types(
            average + kernel_suffix, input, is_real_floating
        ),
        forward="linear",
        autocast="float32" if dimensions == 3 else None,
        aten=f"_{average}",
        images=dimensions + 2,
    )(avg_forward)
    op(
        gradient=lambda m, g, gradient_shape: getattr(m, average)(g, gradient_shape[-dimensions:]),
        input=lambda m, g, input_shape: m._zeros(g, input_shape),
        node_name=f"AdaptiveAvgPool{dimensions}DBackwardBackward0",
        aten=f"_{average}_backward",
        event=None if dimensions == 2 else f"{average}_backward",
        images=dimensions + 2,
    )(avg_backward)
    op(
        input=lambda m, g, indices: m._gather_spatial(g, indices, dimensions),
        node_name=f"MaxUnpool{dimensions}DBackward0",
        half="move",
        namespace=None,
        methods=(),
        check=lambda input, *rest: refuse_types(
            f"max_unpool{dimensions}d", input, is_real_floating
        ),
        autocast="float32",
        images=dimensions + 2,
    )(unpool)
    compiled_first(maximum, "adaptive_max_pool")
    compiled_first(max_gradient, f"max_pool{dimensions}d_gradient")
    compiled_first(average, "adaptive_avg_pool")
    compiled_first(avg_gradient, f"{average}_gradient")


for _dimensions in (2, 3):
    _declare(_dimensions)


# ------------------------------------------------------------------------------------ adaptive


def _output_size(function: str, input: Tensor, dimensions: int, given: Any) -> Sizes:
    """The size of the result with one entry per dimension; None keeps the input's."""
    require_tensor(function, input)
    shape = input._array.shape
    if isinstance(given, int) and not isinstance(given, bool):
        return (given,) * dimensions
    if len(shape) <= len(given):
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    last = shape[len(shape) - len(given) :]
    sizes = [own if size is None else size for size, own in zip(given, last, strict=True)]
    found = as_integers(function, "output_size", 2, sizes)
    if len(found) != dimensions:
        if "max" in function:
            raise RuntimeError(
                f"{function}(): internal error: output_size.size() must be {dimensions}"
            )
        raise RuntimeError(f"{function}: output_size must be {dimensions}")
    return found


def _check_shape(function: str, dimensions: int, shape: Shape, first: int) -> None:
    """Raise unless the dimensions from `first`, counted from the channels, have elements."""
    if len(shape) not in (dimensions + 1, dimensions + 2):
        colon = ":" if "max" in function else ""
        raise runtime_error(
            f"{function}(): Expected {dimensions + 1}D or {dimensions + 2}D tensor, but got{colon} "
            f"{list(shape)}",
            code="RG210",
        )
    for dim in range(len(shape) - dimensions - 1 + first, len(shape)):
        if shape[dim] == 0:
            raise runtime_error(
                f"{function}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(shape)} with dimension {dim} being empty",
                code="RG210",
            )


def _adaptive_max(
    function: str, dimensions: int, input: Tensor, output_size: Output
) -> tuple[Tensor, Tensor]:
    size = _output_size(function, input, dimensions, output_size)
    shape = input._array.shape
    _check_shape(function, dimensions, shape, 0)
    if min(size) < 0:
        result = [*shape[: len(shape) - dimensions], *size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {result}")
    pool: Callable[..., tuple[Tensor, Tensor]] = getattr(RECORDED, function)
    return pool(input, size)


def _adaptive_avg(function: str, dimensions: int, input: Tensor, output_size: Output) -> Tensor:
    size = _output_size(function, input, dimensions, output_size)
    if min(size) < 0:
        inside = f"{size[0]}, " + ",".join(str(s) for s in size[1:])
        raise RuntimeError(
            f"{function}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{inside}}}"
        )
    if all(count == 1 for count in size) and input._array.ndim > dimensions:
        return RECORDED.mean(input, tuple(range(-1, -dimensions - 1, -1)), True)
    _check_shape(function, dimensions, input._array.shape, 1 if dimensions == 2 else 0)
    pool: Callable[..., Tensor] = getattr(RECORDED, function)
    return pool(input, size)


def _adaptive_samples(*spatial: int, indices: bool) -> list[Sample]:
    n = len(spatial)
    image = T(2, 2, *spatial, distinct=indices)
    found = [
        Sample(image, 2, dtypes=_ALL),
        *(Sample(image, 3), Sample(image, 1), Sample(image, spatial[0] + 2)),
        *(Sample(T(2, *spatial, distinct=indices), 2), Sample(T(0, 2, *spatial), 2)),
        *(Sample(T(0, 2, *spatial), 1), Sample(image, (3,) + (2,) * (n - 1))),
        *(Sample(image, 0, grad=False), Sample(T(2, 0, *spatial), 2, grad=False)),
        *(Sample(image, (None,) * n), Sample(image, (2,) * (n + 1)), Sample(image, -1)),
        *(Sample(image, 2.5), Sample(image, None), Sample(T(*spatial), 2)),
        *(Sample(T(1, 1, 1, *spatial), 2), Sample(T(2, 2, *spatial[:-1], 0), 2)),
        Sample(T(1, 1, *spatial, dtype="int64"), 2, grad=False),
        Sample(T(1, 1, *spatial, dtype="int64"), 1, grad=False),
    ]
    if n == 1:
        found += [Sample(3, 2)]
    else:
        found += [Sample(image, (None,) + (2,) * (n - 1))]
    if indices:
        found += [Sample(image, 2, return_indices=True), Sample(image, 3, True)]
    return found


def _line_size(function: str, input: Tensor, output_size: Output) -> int:
    require_tensor(function, input)
    check_line_dimensions(function, input)
    return one_number(function, "output_size", 2, output_size)


@functional(samples=lambda: _adaptive_samples(7, indices=False))
def adaptive_avg_pool1d(input: Tensor, output_size: Output) -> Tensor:
    """Averages of `output_size` windows that cover a sequence evenly.

    >>> torch.adaptive_avg_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[2., 6.]])
    """
    size = _line_size("adaptive_avg_pool1d", input, output_size)
    image = RECORDED.unsqueeze(input, -2)
    return RECORDED.squeeze(_adaptive_avg("adaptive_avg_pool2d", 2, image, (1, size)), -2)


@functional(samples=lambda: _adaptive_samples(5, 7, indices=False))
def adaptive_avg_pool2d(input: Tensor, output_size: Output) -> Tensor:
    """Averages of windows that cover an image evenly; None keeps a dimension.

    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 3, 5, 7), (2, None)).shape
    torch.Size([1, 3, 2, 7])
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


@functional(samples=lambda: _adaptive_samples(3, 4, 5, indices=False), autocast="float32")
def adaptive_avg_pool3d(input: Tensor, output_size: Output) -> Tensor:
    """Averages of windows that cover a volume evenly; None keeps a dimension."""
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


@functional(samples=lambda: [Sample(T(2, 2, 7, distinct=True), 3)])
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Output, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest values of windows that cover a sequence evenly, and where they are."""
    size = _line_size("adaptive_max_pool1d", input, output_size)
    _check_shape("adaptive_max_pool1d", 1, input._array.shape, 0)
    image = RECORDED.unsqueeze(input, -2)
    values, indices = _adaptive_max("adaptive_max_pool2d", 2, image, (1, size))
    return RECORDED.squeeze(values, -2), RECORDED.squeeze(indices, -2)


@functional(samples=lambda: [Sample(T(2, 2, 5, 7, distinct=True), 3)])
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Output, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest values of windows that cover an image evenly, and where they are."""
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size)


@functional(samples=lambda: [Sample(T(1, 2, 3, 4, 5, distinct=True), 2)])
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Output, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest values of windows that cover a volume evenly, and where they are."""
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size)


@functional(samples=lambda: _adaptive_samples(7, indices=True))
@forms(
    "(input: Tensor, output_size: int | Sequence[int | None], return_indices: Literal[False] = "
    "False) -> Tensor",
    "(input: Tensor, output_size: int | Sequence[int | None], *, return_indices: Literal[True]) "
    "-> tuple[Tensor, Tensor]",
)
def adaptive_max_pool1d(
    input: Tensor, output_size: Output, return_indices: bool = False
) -> tuple[Tensor, Tensor] | Tensor:
    """The largest values of `output_size` windows that cover a sequence evenly."""
    found = adaptive_max_pool1d_with_indices(input, output_size)
    return found if return_indices else found[0]


@functional(samples=lambda: _adaptive_samples(5, 7, indices=True))
@forms(
    "(input: Tensor, output_size: int | Sequence[int | None], return_indices: Literal[False] = "
    "False) -> Tensor",
    "(input: Tensor, output_size: int | Sequence[int | None], *, return_indices: Literal[True]) "
    "-> tuple[Tensor, Tensor]",
)
def adaptive_max_pool2d(
    input: Tensor, output_size: Output, return_indices: bool = False
) -> tuple[Tensor, Tensor] | Tensor:
    """The largest values of windows that cover an image evenly; None keeps a dimension."""
    found = _adaptive_max("adaptive_max_pool2d", 2, input, output_size)
    return found if return_indices else found[0]


@functional(samples=lambda: _adaptive_samples(3, 4, 5, indices=True), autocast="float32")
@forms(
    "(input: Tensor, output_size: int | Sequence[int | None], return_indices: Literal[False] = "
    "False) -> Tensor",
    "(input: Tensor, output_size: int | Sequence[int | None], *, return_indices: Literal[True]) "
    "-> tuple[Tensor, Tensor]",
)
def adaptive_max_pool3d(
    input: Tensor, output_size: Output, return_indices: bool = False
) -> tuple[Tensor, Tensor] | Tensor:
    """The largest values of windows that cover a volume evenly; None keeps a dimension."""
    found = _adaptive_max("adaptive_max_pool3d", 3, input, output_size)
    return found if return_indices else found[0]


also_in_torch(adaptive_avg_pool1d)
attach(adaptive_max_pool1d_with_indices, namespace="torch", public=("adaptive_max_pool1d",))


# ----------------------------------------------------------------------------------- unpooling


def _unpooled_size(
    shape: Shape, kernel: Sizes, stride: Sizes, padding: Sizes, output_size: Sequence[int] | None
) -> list[int]:
    """The size before pooling: computed, or the one asked for if pooling could have had it."""
    count = len(kernel)
    sizes = shape[len(shape) - count :]
    usual = [
        (size - 1) * step + window - 2 * pad
        for size, step, window, pad in zip(sizes, stride, kernel, padding, strict=True)
    ]
    if output_size is None:
        result = usual
    else:
        result = list(output_size[2:] if len(output_size) == count + 2 else output_size)
        if len(result) != count:
            raise ValueError(
                f"output_size should be a sequence containing {count} or {count + 2} elements, but "
                f"it has a length of '{len(result)}'"
            )
        for dim, (size, own, step) in enumerate(zip(result, usual, stride, strict=True)):
            if not own - step < size < own + step:
                raise ValueError(
                    f'invalid output_size "{output_size}" (dim {dim} must be between {own - step} '
                    f"and {own + step})"
                )
    for dim, size in enumerate(result):
        if size < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{dim}]={size}"
            )
    return result


def _check_unpool(input: Tensor, indices: Tensor, size: list[int], dimensions: int) -> None:
    shape = input._array.shape
    name = f"max_unpooling{dimensions}d"
    if indices._array.dtype.name != "int64":
        found = f" but got: {indices.dtype.type_name}" if dimensions == 2 else ""
        raise runtime_error(f"elements in indices should be type int64{found}", code="RG305")
    if len(shape) not in (dimensions + 1, dimensions + 2):
        raise RuntimeError(
            f"Input to {name} should be a {dimensions + 1}d or {dimensions + 2}d Tensor, but got a "
            f"tensor with {len(shape)} dimensions."
        )
    if indices._array.shape != shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    for dim in range(len(shape) - dimensions - 1, len(shape)):
        if shape[dim] == 0:
            raise runtime_error(
                f"{name}_forward_out_cpu(): Expected input to have non-zero size for non-batch "
                f"dimensions, but got {list(shape)} with dimension {dim} being empty.",
                code="RG210",
            )
    flat = indices._elements()
    count = 1
    for extent in size:
        count *= extent
    if flat.size and count and (flat.min() < 0 or flat.max() >= count):
        outside = flat[(flat < 0) | (flat >= count)].flat[0]
        raise RuntimeError(
            f"Found an invalid max index: {outside} (output volumes are of size {sizes_text(size)})"
        )


def _unpool(
    dimensions: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    output_size: Sequence[int] | None,
) -> Tensor:
    function = f"max_unpool{dimensions}d"
    require_tensors(function, input=input, indices=indices)
    options = []
    for given in (kernel_size, kernel_size if stride is None else stride, padding):
        sizes = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        options.append(spread(sizes, dimensions))
    kernel, steps, pads = options
    if input._array.ndim < len(kernel) or len(kernel) != dimensions:
        raise IndexError("tuple index out of range")
    size = _unpooled_size(input._array.shape, kernel, steps, pads, output_size)
    alert_not_deterministic(f"max_unpooling{max(dimensions, 2)}d_forward_out")
    if dimensions == 3 and min(steps) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(steps)}")
    if dimensions == 1:
        size = [*size, 1]
        image, places = RECORDED.unsqueeze(input, -1), RECORDED.unsqueeze(indices, -1)
        _check_unpool(image, places, size, 2)
        return RECORDED.squeeze(RECORDED.max_unpool2d(image, places, tuple(size)), -1)
    _check_unpool(input, indices, size, dimensions)
    unpool: Callable[..., Tensor] = getattr(RECORDED, function)
    return unpool(input, indices, tuple(size))


def _unpool_samples(dimensions: int) -> list[Sample]:
    """One channel of four values, in every number of dimensions."""
    shape = (1,) * (dimensions - 1)

    def deep(values: object) -> Any:
        for _ in shape:
            values = [values]
        return values

    indices = T(values=[deep([1, 2, 5])], dtype="int64")
    batch = T(values=[[deep([1, 2, 5])], [deep([0, 3, 4])]], dtype="int64")
    window = (*shape, 2) if shape else 2
    line = T(1, *shape, 3)
    return [
        Sample(line, indices, window, dtypes=_ALL),
        Sample(T(2, 1, *shape, 3), batch, window),
        Sample(line, indices, window, output_size=(*shape, 7)),
        Sample(line, indices, window, output_size=[1, 1, *shape, 7]),
        Sample(line, indices, window, (*shape, 3)),
        Sample(T(0, 1, *shape, 3), T(0, 1, *shape, 3, dtype="int64"), window),
        Sample(line, indices, window, output_size=(*shape, 9)),
        *(
            Sample(line, indices, window, output_size=(1, 1, 1, 1, 1, 1)),
            Sample(line, line, window),
        ),
        Sample(line, T(1, *shape, 2, dtype="int64"), window),
        Sample(line, T(values=[deep([1, 2, 6])], dtype="int64"), window),
        Sample(line, T(values=[deep([1, -2, 5])], dtype="int64"), window),
        Sample(T(1, *shape, 3, dtype="int64"), indices, window, grad=False),
        Sample(T(3), T(3, dtype="int64", high=0), window),
    ]


@functional(samples=lambda: _unpool_samples(1))
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put pooled values of a sequence back to where they came from, zeros elsewhere.

    >>> values, places = torch.tensor([[3.0, 5.0]]), torch.tensor([[1, 2]])
    >>> torch.nn.functional.max_unpool1d(values, places, 2)
    tensor([[0., 3., 5., 0.]])
    """
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


@functional(samples=lambda: _unpool_samples(2), autocast="float32")
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put pooled values of an image back to where they came from, zeros elsewhere."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


@functional(samples=lambda: _unpool_samples(3), autocast="float32")
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put pooled values of a volume back to where they came from, zeros elsewhere."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
