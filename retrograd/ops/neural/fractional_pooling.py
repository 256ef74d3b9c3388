"""Fractional maximum pooling: windows at random places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.backend.neutral import fractional_pooling, pooling
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Gradients, Ints, Namespace
from retrograd.ops.neural.operand_checks import no_backward
from retrograd.ops.neural.windows import Sizes
from retrograd.ops.registry import RECORDED, Table, functional, op
from retrograd.ops.sizes import require_tensor
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor


def _declare(dimensions: int) -> None:
    """The op for images or volumes, and the sum of gradients into the chosen places."""
    name = f"fractional_max_pool{dimensions}d"
    gradient_name = f"_{name}_gradient"
    node = f"FractionalMaxPool{dimensions}D"
    # of an image the first number is for the width, of a volume it is for the depth
    order = (1, 0) if dimensions == 2 else (0, 1, 2)

    def forward(
        xp: Namespace, input: Array, random_samples: Array, kernel_size: Sizes, output_size: Sizes
    ) -> tuple[Array, Array]:
        alone = input.ndim == dimensions + 1
        batch = input[None] if alone else input
        samples = random_samples[: len(batch), :, order]
        values, indices = fractional_pooling.fractional_max_pool(
            xp, batch, kernel_size, output_size, samples
        )
        return (values[0], indices[0]) if alone else (values, indices)

    def backward(xp: Namespace, gradient: Array, input: Array, indices: Array) -> Array:
        return pooling.scatter_to_indices(xp, gradient, indices, input.shape[-dimensions:])

    def input_rule(
        m: Table, g: Gradients, input: Tensor, kernel_size: Sizes, output_size: Sizes, out1: Tensor
    ) -> Tensor:  # the sizes are not needed, but seen on the node as in PyTorch
        slopes: Tensor = getattr(m, gradient_name)(g[0], input, out1)
        return slopes

    forward.__name__ = name
    backward.__name__ = gradient_name
    op(
        input=input_rule,
        node_name=f"{node}Backward0",
        outputs=2,
        nondifferentiable=(1,),
        namespace=None,
        methods=(),
        half="move",
        saved_names={"result1": "out1"},
        autocast="float32",
        forward=lambda m, tangents, out1: (m._gather_spatial(tangents[0], out1, dimensions), None),
    )(forward)
    op(
        gradient=lambda m, g, indices: m._gather_spatial(g, indices, dimensions),
        input=lambda m, g, input_shape: m._zeros(g, input_shape),
        node_name=f"{node}BackwardBackward0",
    )(backward)


for _dimensions in (2, 3):
    _declare(_dimensions)


# ------------------------------------------------------------------------------------ arguments


def _sizes(name: str, argument: str, place: int, value: object, count: int) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * count
    if not isinstance(value, Sequence) or not all(isinstance(each, int) for each in value):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {place}) must be tuple of ints, not "
            f"{type(value).__name__}"
        )
    if len(value) != count:
        listed = "tuple of Ints" if count == 2 else "tuple of three Ints"
        raise RuntimeError(f"{name}: {argument} must either be a single Int or {listed}")
    return tuple(value)


def _check(
    dimensions: int, shape: Sequence[int], window: Sequence[int], output: Sequence[int]
) -> None:
    """Refuse what PyTorch refuses, in its order."""
    name = "fractional_max_pool2d()" if dimensions == 2 else "fractional_max_pool3d_out()"
    alone = dimensions + 1
    if len(shape) not in (alone, alone + 1):
        raise errors.runtime_error(
            f"{name}: Expected {alone}D or {alone + 1}D tensor, but got: {[*shape]}", code="RG210"
        )
    for axis in range(len(shape) - alone, len(shape)):
        if shape[axis] == 0:
            raise errors.runtime_error(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but "
                f"got{[*shape]} with dimension {axis} being empty.",
                code="RG210",
            )
    axes = {"height": -2, "width": -1}
    if dimensions == 3:
        axes = {"time": -3, "width": -1, "height": -2}
    for word, axis in axes.items():
        reach = output[axis] + window[axis] - 1
        if reach > shape[axis] or (dimensions == 3 and reach == shape[axis]):
            raise errors.runtime_error(
                f"{name}: pool {word} {window[axis]} too large relative to input {word} "
                f"{shape[axis]}",
                code="RG210",
            )
    if min(output) < 0:
        full = [*shape[: len(shape) - dimensions], *output]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(output)}: {full}")
    if min(window) < 1:
        raise RuntimeError(f"{name}: kernel_size must be greater than 0, but got {[*window]}")


def _check_samples(dimensions: int, input: Tensor, samples: Tensor) -> None:
    if samples.dtype is not input.dtype:
        raise errors.runtime_error(
            "Expect _random_samples to have the same dtype as input", code="RG301"
        )
    problem = None
    alone = input.ndim == dimensions + 1
    if samples.ndim != 3:
        problem = f"Expect _random_samples to have 3 dimensions, got {samples.ndim}"
    elif samples.shape[0] < (1 if alone else input.shape[0]):
        problem = "Expect _random_samples.size(0) no less then input batch size."
    elif samples.shape[1] != input.shape[-1 - dimensions]:
        problem = "Expect _random_samples.size(1) equals to input channel size."
    elif samples.shape[2] != dimensions:
        problem = f"Expect _random_samples.size(2) equals to {dimensions}; got {samples.shape[2]}."
    if problem is not None:
        raise RuntimeError(problem)


def _pooled(
    dimensions: int,
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None,
    output_ratio: Any,
    random_samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{dimensions}d"
    require_tensor(name, input)
    if random_samples is not None:
        if not isinstance(random_samples, Tensor):
            raise errors.argument_type(name, "random_samples", 4, "Tensor", random_samples)
        no_backward(name, random_samples=random_samples)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if dimensions == 2 and len(output_ratio) > 2:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints."
            )
        ratios = output_ratio if isinstance(output_ratio, Sequence) else (output_ratio,) * 3
        output_size = [
            int(input.size(axis - dimensions) * ratios[axis]) for axis in range(dimensions)
        ]
    if random_samples is None:
        from retrograd.ops.random.sampling import rand

        channels = input.size(-1 - dimensions)
        batch = 1 if input.dim() == dimensions + 1 else input.size(0)
        random_samples = rand(batch, channels, dimensions, dtype=input.dtype)
    window = _sizes(name, "kernel_size", 2, kernel_size, dimensions)
    output = _sizes(name, "output_size", 3, output_size, dimensions)
    _check(dimensions, input.shape, window, output)
    _check_samples(dimensions, input, random_samples)
    function = getattr(RECORDED, name)
    return function(input, random_samples, window, output)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------ functions


def _samples(*spatial: int) -> list[Sample]:
    n = len(spatial)
    image = T(2, 2, *spatial, distinct=True)
    where = T(2, 2, n, low=0.0, high=0.9, grad=False)
    one = T(1, 2, n, low=0.0, high=0.9, grad=False)
    small = T(1, 1, *spatial)
    return [
        Sample(image, 2, 3, _random_samples=where, dtypes=(*FLOATS, *HALVES)),
        Sample(image, (2,) * n, None, (0.5,) * n, _random_samples=where),
        Sample(T(2, *spatial, distinct=True), 2, 3, _random_samples=one),
        Sample(image, 2, 1, _random_samples=where),
        Sample(small, 2, dtypes=("float32",)),
        Sample(small, 3, 20, dtypes=("float32",)),
        Sample(small, (2,) * (n + 1), 2, dtypes=("float32",)),
        Sample(small, 2, (2,) * (n + 1), dtypes=("float32",)),
        Sample(T(1, 0, *spatial), 2, 2, dtypes=("float32",)),
        Sample(small, 2, 2, _random_samples=T(1, 1, 5, grad=False), dtypes=("float32",)),
        Sample(small, 2, 2, _random_samples=T(1, 1, grad=False), dtypes=("float32",)),
    ]


@functional(samples=lambda: _samples(6, 7), autocast="float32")
@forms(
    "(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = "
    "None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = "
    "False, _random_samples: Tensor | None = None) -> Tensor",
    "(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = "
    "None, output_ratio: float | Sequence[float] | None = None, *, return_indices: "
    "Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]",
)
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor] | Tensor:
    """The largest value of windows at random places of an image.

    output_size     how many windows there are in each dimension,
    output_ratio    or what part of the image's size that is
    return_indices  give also where the values are

    >>> image = torch.arange(25.0).view(1, 5, 5)
    >>> where = torch.zeros(1, 1, 2)
    >>> torch.nn.functional.fractional_max_pool2d(image, 2, 3, _random_samples=where)
    tensor([[[ 6.,  7.,  9.],
             [11., 12., 14.],
             [21., 22., 24.]]])
    """
    found = _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


@functional(samples=lambda: _samples(5, 6, 5), autocast="float32")
@forms(
    "(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = "
    "None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = "
    "False, _random_samples: Tensor | None = None) -> Tensor",
    "(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = "
    "None, output_ratio: float | Sequence[float] | None = None, *, return_indices: "
    "Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]",
)
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor] | Tensor:
    """The largest value of windows at random places of a volume."""
    found = _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


@functional(samples=lambda: _samples(6, 7))
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest value of windows at random places of an image, and where it is."""
    return _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)


@functional(samples=lambda: _samples(5, 6, 5))
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest value of windows at random places of a volume, and where it is."""
    return _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)
