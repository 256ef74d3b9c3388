"""Reading images at the points of a grid, and grids of affine maps.

The derivative along the grid is again a sampling, with derivatives of the weights; so one op that
takes the order of the derivative along each coordinate, and its adjoint, close under
differentiation.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral

from retrograd import dtypes
from retrograd.backend.neutral import grid_sampling as kernels
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Gradients, Namespace
from retrograd.ops.neural.windows import Sizes, refuse_types, require_tensors
from retrograd.ops.registry import RECORDED, Table, function_only, functional, op
from retrograd.ops.sizes import Shape
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_MODES = ("bilinear", "nearest", "bicubic")
_PADDING_MODES = ("zeros", "border", "reflection")

_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)


# ----------------------------------------------------------------------- sampling and its rules


def _raised(orders: Sizes, coordinate: int) -> Sizes:
    return tuple(order + (place == coordinate) for place, order in enumerate(orders))


def _along_grid(
    m: Table,
    weights: Tensor,
    values: Tensor,
    grid: Tensor,
    orders: Sizes,
    options: tuple[str, str, bool],
) -> Tensor:
    """The derivative along the grid of ``sum(weights * sampled(values))``."""
    parts = []
    for coordinate in range(len(orders)):
        slope = m._grid_derivative(values, grid, _raised(orders, coordinate), *options)
        parts.append(m.sum(m.mul(weights, slope), (1,), False))
    return m.stack(parts, -1)


@op(
    input=lambda m, g, grid, input_shape, orders, mode, padding_mode, align_corners: (
        m._grid_derivative_adjoint(g, grid, input_shape, orders, mode, padding_mode, align_corners)
    ),
    grid=lambda m, g, input, grid, orders, mode, padding_mode, align_corners: _along_grid(
        m, g, input, grid, orders, (mode, padding_mode, align_corners)
    ),
)
def _grid_derivative(
    xp: Namespace,
    input: Array,
    grid: Array,
    orders: Sizes,
    mode: str,
    padding_mode: str,
    align_corners: bool,
) -> Array:
    """The derivative of the sampled image, of the given order along each coordinate of the grid."""
    return kernels.grid_sample(xp, input, grid, mode, padding_mode, align_corners, orders)


@op(
    gradient=lambda m, g, grid, orders, mode, padding_mode, align_corners: m._grid_derivative(
        g, grid, orders, mode, padding_mode, align_corners
    ),
    grid=lambda m, g, gradient, grid, orders, mode, padding_mode, align_corners: _along_grid(
        m, gradient, g, grid, orders, (mode, padding_mode, align_corners)
    ),
)
def _grid_derivative_adjoint(
    xp: Namespace,
    gradient: Array,
    grid: Array,
    input_shape: Shape,
    orders: Sizes,
    mode: str,
    padding_mode: str,
    align_corners: bool,
) -> Array:
    """The adjoint of `_grid_derivative` with respect to its input."""
    return kernels.grid_sample_input_gradient(
        xp, gradient, grid, input_shape, mode, padding_mode, align_corners, orders
    )


def _slope_gradients(
    m: Table,
    g: Tensor,
    needs: tuple[bool, ...],
    gradient: Tensor,
    input: Tensor,
    grid: Tensor,
    input_shape: Shape,
    mode: str,
    padding_mode: str,
    align_corners: bool,
) -> Gradients:
    """Of ``sum(g * grid_gradient(gradient, input, grid))``: one summand per coordinate."""
    options = (mode, padding_mode, align_corners)
    dimensions = len(input_shape) - 2
    totals: list[Tensor | None] = [None, None, None]
    for coordinate in range(dimensions):
        orders = _raised((0,) * dimensions, coordinate)
        along = m.unsqueeze(m.select(g, -1, coordinate), 1)
        parts: list[Tensor | None] = [None, None, None]
        if needs[0]:
            parts[0] = m.mul(along, m._grid_derivative(input, grid, orders, *options))
        if needs[1] or needs[2]:
            weighted = m.mul(along, gradient)
            if needs[1]:
                parts[1] = m._grid_derivative_adjoint(weighted, grid, input_shape, orders, *options)
            if needs[2]:
                parts[2] = _along_grid(m, weighted, input, grid, orders, options)
        totals = [
            part if total is None or part is None else m.add(total, part)
            for total, part in zip(totals, parts, strict=True)
        ]
    return totals


def _declare(dimensions: int) -> None:
    """`grid_sampler_<n>d`, and its gradients with respect to the input and along the grid."""
    name = f"grid_sampler_{dimensions}d"
    adjoint_name, slope_name = f"_{name}_input_gradient", f"_{name}_grid_gradient"
    node = f"GridSampler{dimensions}D"

    def forward(
        xp: Namespace,
        input: Array,
        grid: Array,
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Array:
        return kernels.grid_sample(xp, input, grid, mode, padding_mode, align_corners)

    def adjoint(
        xp: Namespace,
        gradient: Array,
        grid: Array,
        input_shape: Shape,
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Array:
        return kernels.grid_sample_input_gradient(
            xp, gradient, grid, input_shape, mode, padding_mode, align_corners
        )

    def slope(
        xp: Namespace,
        gradient: Array,
        input: Array,
        grid: Array,
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Array:
        return kernels.grid_sample_grid_gradient(
            xp, gradient, input, grid, mode, padding_mode, align_corners
        )

    def check(input: Array, grid: Array, *options: object) -> None:
        refuse_types(f"{name}_cpu_kernel_impl", input, lambda kind: kind.is_floating_point)
        if input.dtype != grid.dtype:
            names = [dtypes.from_numpy_dtype(array.dtype).type_name for array in (input, grid)]
            raise errors.runtime_error(
                f"expected scalar type {names[0]} but found {names[1]}", code="RG301"
            )

    forward.__name__, adjoint.__name__, slope.__name__ = name, adjoint_name, slope_name
    op(
        input=lambda m, g, grid, input_shape, mode, padding_mode, align_corners: getattr(
            m, adjoint_name
        )(g, grid, input_shape, mode, padding_mode, align_corners),
        grid=lambda m, g, input, grid, mode, padding_mode, align_corners: getattr(m, slope_name)(
            g, input, grid, mode, padding_mode, align_corners
        ),
        node_name=f"{node}Backward0",
        # PyTorch's own name here is `input`
        saved_names={"input": "input", "self": "", "interpolation_mode": "mode"},
        autocast="float32",
        namespace=None,
        methods=(),
        check=check,
    )(forward)
    op(
        gradient=lambda m, g, grid, mode, padding_mode, align_corners: getattr(m, name)(
            g, grid, mode, padding_mode, align_corners
        ),
        grid=lambda m, g, gradient, grid, mode, padding_mode, align_corners: getattr(m, slope_name)(
            gradient, g, grid, mode, padding_mode, align_corners
        ),
        node_name=f"{node}BackwardBackward0",
        saved_names={"grad_output": "gradient"},
        event=f"retrograd::{adjoint_name[1:]}",
    )(adjoint)
    op(
        gradients=_slope_gradients,
        differentiable=("gradient", "input", "grid"),
        node_name=f"{node}BackwardBackward0",
        saved_names={"grad_output": "gradient"},
        event=f"retrograd::{slope_name[1:]}",
    )(slope)


for _dimensions in (2, 3):
    _declare(_dimensions)


# ---------------------------------------------------------------------------- public functions


def _sample(
    input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool
) -> Tensor:
    require_tensors("grid_sampler", input=input, grid=grid)
    shape, places = input._array.shape, grid._array.shape
    sizes = f"but got input with sizes {list(shape)} and grid with sizes {list(places)}"
    if shape[:1] != places[:1]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, {sizes}"
        )
    if places[-1] != len(shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but "
            f"got grid with sizes {list(places)}"
        )
    for dim in range(2, len(shape)):
        if shape[dim] == 0:
            raise errors.runtime_error(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(shape)} with dimension {dim} being empty",
                code="RG210",
            )
    if len(shape) not in (4, 5) or len(shape) != len(places):
        wanted = 4 if len(shape) == 4 else 5
        raise RuntimeError(
            f"grid_sampler(): expected {wanted}D input and grid with same number of dimensions, "
            f"{sizes}"
        )
    if len(shape) == 5 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    function = getattr(RECORDED, f"grid_sampler_{len(shape) - 2}d")
    return function(input, grid, mode, padding_mode, bool(align_corners))  # type: ignore[no-any-return]


def _sample_samples() -> list[Sample]:
    image, grid = T(2, 2, 4, 5), T(2, 3, 2, 2, low=-1.3, high=1.3)
    volume, points = T(1, 2, 3, 4, 3), T(1, 2, 1, 3, 3, low=-1.3, high=1.3)
    found = [
        Sample(image, grid, mode, padding, align)
        for mode in _MODES
        for padding in _PADDING_MODES
        for align in (False, True)
    ]
    found += [
        Sample(volume, points, mode, padding, padding == "border")
        for mode in ("bilinear", "nearest")
        for padding in _PADDING_MODES
    ]
    found += [
        Sample(image, grid, dtypes=HALVES),
        *(Sample(T(0, 2, 4, 5), T(0, 3, 3, 2)), Sample(T(2, 0, 4, 5), grid)),
        *(Sample(image, T(2, 0, 3, 2)), Sample(T(1, 1, 1, 1), T(1, 2, 2, 2), align_corners=True)),
        *(Sample(image, T(1, 3, 2, 2)), Sample(image, T(2, 3, 2, 3)), Sample(image, points)),
        *(Sample(T(2, 3, 7), T(2, 4, 1)), Sample(image, grid, "cubic"), Sample(image, 3)),
        *(Sample(image, grid, padding_mode="same"), Sample(volume, points, "bicubic")),
        *(Sample(T(2, 2, 4, 0), grid), Sample(image, T(2, 3, 2, 2, dtype="int64"))),
        Sample(T(2, 2, 4, 5, dtype="int64"), T(2, 3, 2, 2, dtype="int64"), grad=False),
    ]
    return found


@functional(samples=_sample_samples)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Read images `(N, C, H, W)` at points `(N, H', W', 2)`, or volumes at points of three numbers.

    A point is (x, y), or (x, y, z), in units where the image reaches from -1 to 1.

    >>> image = torch.arange(4.0).view(1, 1, 2, 2)
    >>> torch.nn.functional.grid_sample(image, torch.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[1.5000]]]])
    """
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(_CHANGED, UserWarning, stacklevel=user_level())
    return _sample(input, grid, mode, padding_mode, bool(align_corners))


def _numbered(name: str, number: object, names: Sequence[str]) -> str:
    if isinstance(number, int) and 0 <= number < len(names):
        return names[number]
    raise errors.unsupported(f"grid_sampler(..., {name}={number!r})")


@function_only(
    samples=lambda: [
        Sample(T(1, 2, 3, 4), T(1, 2, 2, 2), 2, 1, True),
        Sample(T(1, 1, 2, 3, 2), T(1, 1, 2, 1, 3), 0, 2, False),
    ],
    autocast="float32",
)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` with numbers for the modes."""
    mode = _numbered("interpolation_mode", interpolation_mode, _MODES)
    padding = _numbered("padding_mode", padding_mode, _PADDING_MODES)
    return _sample(input, grid, mode, padding, align_corners)


# ----------------------------------------------------------------------------------- affine maps


@op(
    theta=lambda m, g, size, align_corners: m._affine_grid_gradient(g, size, align_corners),
    methods=(),
    samples=lambda: [
        Sample(T(2, 2, 3), (2, 1, 3, 4), True),
        Sample(T(1, 3, 4), (1, 1, 2, 3, 2), False),
    ],
    forward="linear",
    autocast="lower",
)
def affine_grid_generator(xp: Namespace, theta: Array, size: Sizes, align_corners: bool) -> Array:
    """The points that affine maps `theta` read an image of `size` at."""
    if theta.ndim != 3:
        raise errors.runtime_error("batch2 must be a 3D tensor", code="RG202")
    if theta.shape[0] != size[0]:
        raise errors.runtime_error(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{size[0]}, {theta.shape[2]}] but got: [{theta.shape[0]}, {theta.shape[2]}].",
            code="RG202",
        )
    base = kernels.affine_base_grid(xp, size[2:], align_corners, theta.dtype)
    points = base.reshape(-1, base.shape[-1]) @ theta.swapaxes(1, 2)
    return points.reshape(size[0], *size[2:], len(size) - 2)


@op(
    gradient=lambda m, g, size, align_corners: m.affine_grid_generator(g, size, align_corners),
    node_name="TransposeBackward0",
    forward="linear",
    event="retrograd::affine_grid_gradient",
)
def _affine_grid_gradient(
    xp: Namespace, gradient: Array, size: Sizes, align_corners: bool
) -> Array:
    base = kernels.affine_base_grid(xp, size[2:], align_corners, gradient.dtype)
    points = base.reshape(-1, base.shape[-1])
    flat = gradient.reshape(size[0], -1, len(size) - 2)
    return flat.swapaxes(1, 2) @ points


@functional(
    samples=lambda: [
        *(Sample(T(2, 2, 3), (2, 3, 4, 5), align, dtypes=FLOATS) for align in (False, True)),
        *(Sample(T(1, 3, 4), (1, 1, 2, 3, 4), align) for align in (False, True)),
        *(Sample(T(1, 2, 3), (1, 3, 1, 1), True), Sample(T(1, 2, 3), (1, 3, 1, 4))),
        *(Sample(T(2, 2, 3), (2, 3, 4)), Sample(T(2, 2, 3), (2, 3, 4, 5, 6))),
        *(Sample(T(2, 3), (2, 3, 4, 5)), Sample(T(2, 2, 3), (3, 3, 4, 5))),
        *(Sample(T(2, 2, 3), (2, 3, 0, 5)), Sample(T(2, 2, 3), (2, 3, -1, 5))),
        *(Sample(T(2, 3, 3), (2, 3, 4, 5)), Sample(T(2, 2, 3), [2, 3, 4, 5.5])),
        *(Sample(T(2, 2, 3, dtype="int64"), (2, 3, 4, 5), grad=False), Sample(3, (2, 3, 4, 5))),
    ]
)
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for `grid_sample` of affine maps `(N, 2, 3)`, or `(N, 3, 4)` for volumes.

    >>> identity = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(identity, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if align_corners is None:
        warnings.warn(_CHANGED, UserWarning, stacklevel=user_level())
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    rows = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (rows, rows + 1):
        raise ValueError(
            f"Expected a batch of {rows}D affine matrices of shape Nx{rows}x{rows + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            UserWarning,
            stacklevel=user_level(),
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    for place, value in enumerate(size, start=1):
        if not isinstance(value, Integral):
            raise TypeError(
                "affine_grid_generator(): argument 'size' failed to unpack the object at pos "
                f'{place} with error "type must be tuple of ints,but got {type(value).__name__}"'
            )
    sizes = tuple(int(value) for value in size)
    return RECORDED.affine_grid_generator(theta, sizes, bool(align_corners))
