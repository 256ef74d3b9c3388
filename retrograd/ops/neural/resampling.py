"""Interpolation: images resized to another number of elements."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Number
from types import NoneType
from typing import Any

from retrograd import dtypes
from retrograd.backend.neutral import resampling as kernels
from retrograd.backend.neutral.arrangement import arranged
from retrograd.backend.neutral.resampling_bytes import interpolate_bytes
from retrograd.engine.node import Node
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Ints, Namespace
from retrograd.ops.neural.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from retrograd.ops.neural.windows import Sizes, refuse_types
from retrograd.ops.registry import RECORDED, functional, op
from retrograd.ops.sizes import Shape
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_ALL = (*FLOATS, *HALVES)
_Scales = tuple[float | None, ...] | None


# ----------------------------------------------------------------------------------------- ops


# mode of `interpolate` -> mode along one dimension, and names of PyTorch's nodes and kernels
_ALONG = {
    "nearest": ("nearest", "Nearest{}D", "compute_indices_weights_nearest"),
    "nearest-exact": ("nearest-exact", "NearestExact{}D", "compute_indices_weights_nearest"),
    "linear": ("linear", "Linear{}D", "compute_indices_weights_linear"),
    "bilinear": ("linear", "Bilinear{}D", "upsample_bilinear2d_channels_last"),
    "trilinear": ("linear", "Trilinear{}D", "compute_indices_weights_linear"),
    "bicubic": ("cubic", "Bicubic{}D", "compute_indices_weights_cubic"),
    "lanczos": ("lanczos", "Lanczos{}D", "compute_index_ranges_weights"),
}


def _op_name(mode: str, dimensions: int, antialias: bool) -> str:
    suffix = "_aa" if antialias else ""
    return f"upsample_{mode.replace('-', '_')}{dimensions}d{suffix}"


def _saved_sizes(dimensions: int) -> dict[str, Callable[[Node], Any]]:
    """What PyTorch shows on the node: the size of the image, and the scale of each dimension."""

    def scale(node: Node, place: int) -> float | None:
        scales = node.saved[-1]
        return None if scales is None else scales[place]

    names = ("scales",) if dimensions == 1 else ("scales_d", "scales_h", "scales_w")[-dimensions:]
    readers: dict[str, Callable[[Node], Any]] = {
        name: functools.partial(scale, place=place) for place, name in enumerate(names)
    }
    readers["output_size"] = lambda node: tuple(node.shape[2:])
    return readers


def _declare(mode: str, dimensions: int, antialias: bool = False) -> None:
    """The op that resizes in one mode, and its gradient op."""
    along, node, kernel_name = _ALONG[mode]
    if antialias:
        node, kernel_name = node + "Aa", "compute_index_ranges_weights"
    elif dimensions == 2 and mode.startswith("nearest"):
        kernel_name = "upsample_nearest2d_channels_last"
    node = "Upsample" + node.format(dimensions)
    name = _op_name(mode, dimensions, antialias)
    gradient_name = f"_{name}_gradient"
    private = antialias or mode == "nearest-exact"  # PyTorch's names begin with an underscore

    def check(input: Array, *options: object) -> None:
        if mode.startswith("nearest"):
            refuse_types(
                kernel_name, input, lambda kind: kind.is_floating_point or kind is dtypes.uint8
            )
            return
        if input.dtype is dtypes.uint8.numpy and dimensions == 2:
            return
        exact = (dtypes.float32, dtypes.float64)
        refuse_types(
            kernel_name,
            input,
            lambda kind: kind in exact if antialias else kind.is_floating_point,
        )

    def forward(
        xp: Namespace, input: Array, output_size: Sizes, align_corners: bool, scales: _Scales
    ) -> Array:
        asked = (along, align_corners, scales, antialias)
        if input.dtype is dtypes.uint8.numpy and not along.startswith("nearest"):
            result = interpolate_bytes(xp, input, output_size, *asked)
        else:
            result = kernels.interpolate(xp, input, output_size, *asked)
        return arranged(xp, result, input)

    def backward(
        xp: Namespace, gradient: Array, spatial: Shape, align_corners: bool, scales: _Scales
    ) -> Array:
        return kernels.interpolate_gradient(
            xp, gradient, spatial, along, align_corners, scales, antialias
        )

    forward.__name__, backward.__name__ = name, gradient_name
    op(
        input=lambda m, g, input_shape, align_corners, scales: getattr(m, gradient_name)(
            g, input_shape[2:], align_corners, scales
        ),
        node_name=f"{node}Backward0",
        namespace=None,
        methods=(),
        check=check,
        forward="linear",
        event=f"_{name}" if private else None,
        saved_names={} if private else _saved_sizes(dimensions),
        images=dimensions + 2,
    )(forward)
    op(
        gradient=lambda m, g, gradient_shape, align_corners, scales: getattr(m, name)(
            g, gradient_shape[2:], align_corners, scales
        ),
        node_name=f"{node}BackwardBackward0",
        forward="linear",
        aten=f"_{name}_backward" if private else None,
        images=dimensions + 2,
    )(backward)


for _dimensions in (1, 2, 3):
    _declare("nearest", _dimensions)
    _declare("nearest-exact", _dimensions)
_declare("linear", 1)
_declare("bilinear", 2)
_declare("trilinear", 3)
_declare("bicubic", 2)
for _mode in ("bilinear", "bicubic", "lanczos"):
    _declare(_mode, 2, antialias=True)


# --------------------------------------------------------------------------------- interpolate


_NEEDED = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4, "lanczos": 4}


def _is_integer(value: object) -> bool:
    if isinstance(value, Tensor):
        return value._array.dtype.kind in "iu"
    return isinstance(value, Integral)


def _requested_size(shape: Shape, size: Any) -> list[int]:
    """An explicit output size with one entry per dimension."""
    dimensions = len(shape) - 2
    if not isinstance(size, (list, tuple)):
        return [size] * dimensions
    if len(size) != dimensions:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(shape[2:])} and output size of {size}. Please provide "
            "input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) "
            "format."
        )
    if not all(_is_integer(value) for value in size):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, "
            f"int], but got size with types {[type(value) for value in size]}"
        )
    return list(size)


def _requested_scales(shape: Shape, scale_factor: Any) -> list[float]:
    dimensions = len(shape) - 2
    if not isinstance(scale_factor, (list, tuple)):
        return [scale_factor] * dimensions
    if len(scale_factor) != dimensions:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(shape[2:])} and scale_factor of shape "
            f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    return list(scale_factor)


def _check_sizes(shape: Shape, size: Sequence[int]) -> None:
    letters = ("W",) if len(size) == 1 else ("D", "H", "W")[-len(size) :]
    if min(shape[2:]) <= 0 or min(size) <= 0:
        texts = [
            "(" + ", ".join(f"{a}: {n}" for a, n in zip(letters, sizes, strict=True)) + ")"
            for sizes in (shape[2:], size)
        ]
        between = " and output " if len(size) == 1 else " output "
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {between.join(texts)}"
        )
    if shape[1] == 0:
        raise RuntimeError(
            f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes "
            f"{list(shape)}"
        )


def _upsample(
    input: Tensor,
    mode: str,
    antialias: bool,
    align_corners: bool,
    size: list[int] | None,
    scales: list[float] | None,
) -> Tensor:
    """Run the op of a mode on checked numbers."""
    shape = input._array.shape
    dimensions = len(shape) - 2
    name = _op_name(mode, dimensions, antialias)
    given = [input, size, scales]
    if scales is not None:
        if not all(isinstance(value, Number) for value in scales):
            raise errors.invalid_combination(name, given)
        factors: _Scales = tuple(float(value) for value in scales)
        found = tuple(int(n * f) for n, f in zip(shape[2:], scales, strict=True))
    else:
        assert size is not None
        if not all(_is_integer(value) and not isinstance(value, bool) for value in size):
            raise errors.invalid_combination(name, given)
        factors = None
        found = tuple(int(value) for value in size)
    _check_sizes(shape, found)
    run: Callable[..., Tensor] = getattr(RECORDED, name)
    return run(input, found, align_corners, factors)


def _interpolate_samples() -> list[Sample]:
    images = {1: T(2, 2, 5), 2: T(1, 2, 4, 5), 3: T(1, 2, 3, 4, 3)}
    modes = {
        1: ("nearest", "nearest-exact", "linear", "area"),
        2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
        3: ("nearest", "nearest-exact", "trilinear", "area"),
    }
    found: list[Sample] = []
    for dimensions, names in modes.items():
        image = images[dimensions]
        for mode in names:
            found += [
                Sample(image, 3, mode=mode, dtypes=_ALL),
                Sample(image, (7,) * dimensions, mode=mode),
                Sample(image, scale_factor=2, mode=mode),
                Sample(image, scale_factor=(0.7,) * dimensions, mode=mode),
                Sample(image, scale_factor=1.6, mode=mode, recompute_scale_factor=True),
                Sample(T(2, 2, *image.shape[2:], dtype="int64"), 3, mode=mode, grad=False),
            ]
            if mode in _NEEDED:
                found += [
                    Sample(image, 7, mode=mode, align_corners=True),
                    Sample(image, 1, mode=mode, align_corners=True),
                    Sample(image, scale_factor=1.5, mode=mode, align_corners=False),
                ]
    image = images[2]
    for mode in ("bilinear", "bicubic", "lanczos"):
        found += [
            Sample(image, 3, mode=mode, antialias=True),
            Sample(image, (9, 2), mode=mode, antialias=True, align_corners=mode == "bicubic"),
            Sample(image, scale_factor=0.4, mode=mode, antialias=True),
            Sample(image, 3, mode=mode, antialias=True, dtypes=("float16",)),
        ]
    one = ("float32",)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        *(((image,), {}), ((image, 5, 2.0), {}), ((image, 5), {"mode": "sharp"})),
        *(((image, 5), {"mode": "linear"}), ((images[1], 5), {"mode": "bilinear"})),
        *(((T(4, 5), 5), {}), ((image, (5, 5, 5)), {}), ((image, None, (2.0,) * 3), {})),
        *(((image, 5), {"align_corners": True}), ((image, 5), {"recompute_scale_factor": True})),
        *(((image, (5.0, 5)), {}), ((image, 5.5), {}), ((image, 0), {}), ((image, -1), {})),
        *(((image, None, 0.01), {}), ((image, None, "a"), {}), ((image, 5), {"antialias": True})),
        *(((T(1, 0, 4, 5), 5), {}), ((T(1, 2, 4, 0), 5), {}), ((T(1, 2, 0), 5), {})),
        *(((image, 5), {"mode": "lanczos"}), ((T(0, 2, 4, 5), 3), {}), ((image, True), {})),
        ((image, 5), {"mode": "lanczos", "align_corners": True, "antialias": True}),
        ((T(1, 1, 3, 3, dtype="uint8"), 5), {"mode": "nearest"}),
        ((T(1, 1, 3, dtype="uint8"), 5), {"mode": "linear"}),
    ]
    return found + [Sample(*args, **options, dtypes=one) for args, options in wrong]


@functional(samples=_interpolate_samples)
def interpolate(
    input: Tensor,
    size: Ints | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize images `(N, C, *spatial)` to `size`, or by `scale_factor`.

    Modes are "nearest", "nearest-exact", "linear" (sequences), "bilinear", "bicubic" and "lanczos"
    (images), "trilinear" (volumes) and "area".

    >>> torch.nn.functional.interpolate(torch.tensor([[[0.0, 1.0]]]), 4, mode="linear")
    tensor([[[0.0000, 0.2500, 0.7500, 1.0000]]])
    """
    if not isinstance(mode, str):
        mode = str(mode)  # for the message below: no list is looked up in a table
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    shape = input._array.shape
    output_size: list[int] | None = None
    scales: list[float] | None = None
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        output_size = _requested_size(shape, size)
    elif scale_factor is not None:
        scales = _requested_scales(shape, scale_factor)
    else:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None and (recompute_scale_factor or mode == "area"):
        output_size = [int(n * factor) for n, factor in zip(shape[2:], scales, strict=True)]
        scales = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and len(shape) == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if len(shape) in (3, 4, 5):
        if mode in ("nearest", "nearest-exact"):
            return _upsample(input, mode, False, False, output_size, scales)
        if mode == "area":
            assert output_size is not None
            pools = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
            return pools[len(shape) - 3](input, output_size)
        if _NEEDED.get(mode) == len(shape):
            if mode == "lanczos" and align_corners:
                raise ValueError("Lanczos mode does not support align_corners=True")
            if mode == "lanczos" and not antialias:
                raise ValueError("Lanczos mode requires antialias=True")
            if not isinstance(align_corners, (bool, NoneType)):
                name = _op_name(mode, len(shape) - 2, antialias)
                raise errors.invalid_combination(name, [input, output_size, align_corners, scales])
            return _upsample(input, mode, antialias, bool(align_corners), output_size, scales)
        if mode in ("linear", "bilinear", "trilinear"):
            raise NotImplementedError(
                f"Got {len(shape)}D input, but {mode} mode needs {_NEEDED[mode]}D input"
            )
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {len(shape)}D) for the "
        "modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact "
        f"(got {mode})"
    )


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        UserWarning,
        stacklevel=user_level(),
    )


@functional(
    samples=lambda: [
        *(Sample(T(1, 2, 3, 4), 5), Sample(T(1, 2, 3, 4), scale_factor=2, mode="bilinear")),
        Sample(T(1, 2, 3), 5, None, "linear", True),
    ]
)
def upsample(
    input: Tensor,
    size: Ints | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The old name of `interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@functional(samples=lambda: [Sample(T(1, 2, 3, 4), 5), Sample(T(1, 2, 3), scale_factor=2)])
def upsample_nearest(
    input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` in mode "nearest"."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@functional(samples=lambda: [Sample(T(1, 2, 3, 4), 5), Sample(T(1, 2, 3), scale_factor=2)])
def upsample_bilinear(
    input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` in mode "bilinear" with aligned corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
