"""Padding: by a constant, by reflection, by the edge, or around.

Every padding but the constant one reads its result from the input through one table of indices per
dimension. Its adjoint adds along the same tables, and the two are each other's derivative.
"""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from typing import Any

from retrograd.backend.neutral.arrangement import arranged
from retrograd.ops import errors
from retrograd.ops.kinds import Array, DType, Index, Namespace
from retrograd.ops.neural.windows import Sizes, is_real_number, refuse_types
from retrograd.ops.registry import RECORDED, functional, op
from retrograd.ops.sizes import Shape, as_integers, require_tensor
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_MOVED = (*FLOATS, *HALVES, *COMPLEX)


def _sides(pad: Sizes) -> list[tuple[int, int]]:
    """(before, after) of each padded dimension, first dimension first; `pad` has the last first."""
    return [(pad[place], pad[place + 1]) for place in range(len(pad) - 2, -1, -2)]


# ------------------------------------------------------------------------------------ constant


@op(
    input=lambda m, g, pad: m.constant_pad_nd(g, tuple(-size for size in pad), 0),
    half="move",
    holomorphic=False,
    methods=(),
    forward=lambda m, tangents, pad: m.constant_pad_nd(tangents[0], pad, 0),
    samples=lambda: [
        Sample(T(2, 3), (1, 2), dtypes=_MOVED),
        Sample(T(2, 3), (1, 2, 0, 1), 2.5),
        Sample(T(2, 3), (-1, 1), 7),
        Sample(T(2, 3), ()),
        Sample(T(), ()),
        *(Sample(T(2, 3), (1,)), Sample(T(3), (1, 1, 1, 1))),
        Sample(T(2, 3), (-2, -2)),
        Sample(T(2, 3, dtype="int64"), (1, 1), 2.7, grad=False),
        *(Sample(T(2, 3, dtype="uint8"), (1, 1), n, grad=False) for n in (300, -1, -256)),
        *(Sample(T(3, dtype="int64"), (1, 1), n, grad=False) for n in (float("nan"), 1e30)),
        *(Sample(T(3), (1, 1), n, dtypes=HALVES) for n in (1e6, 1e300, float("inf"))),
        Sample(T(2, 3, dtype="bool"), (1, 1), 2.5, grad=False),
    ],
)
def constant_pad_nd(xp: Namespace, input: Array, pad: Sizes, value: complex = 0) -> Array:
    """Add `value` around the last dimensions; negative sizes cut off.

    >>> torch.constant_pad_nd(torch.ones(2), (1, 2), 5)
    tensor([5., 1., 1., 5., 5.])
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad "
            f"length is {len(pad)}while the input has {input.ndim}dimensions."
        )
    shape = list(input.shape)
    source: list[slice] = [slice(None)] * input.ndim
    target = list(source)
    first = input.ndim - len(pad) // 2
    for dim, (before, after) in enumerate(_sides(pad), start=first):
        size = input.shape[dim]
        shape[dim] = size + before + after
        source[dim] = slice(max(-before, 0), size + min(after, 0))
        target[dim] = slice(max(before, 0), shape[dim] - max(after, 0))
        if shape[dim] < 0 or size + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    if max(pad, default=0) <= 0:
        return arranged(xp, xp.array(input[tuple(source)], order="C"), input)
    filling = _filling(xp, value, input.dtype)
    result: Array = xp.full(shape, filling, input.dtype) if value else xp.zeros(shape, input.dtype)
    result[tuple(target)] = input[tuple(source)]
    return arranged(xp, result, input)


_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "int32": "int",
    "complex32": "c10::complex<c10::Half>", "complex64": "c10::complex<float>",
}  # fmt: skip


def _filling(xp: Namespace, value: Any, dtype: DType) -> Any:
    """The value in a dtype: whole numbers drop the fraction; what does not fit is refused."""
    if dtype.kind == "b" or not value:
        return value
    if dtype.kind in "iu":
        limits = xp.iinfo(dtype)
        # a negative value may wrap around once in an unsigned dtype
        low = -limits.max if dtype.kind == "u" else limits.min
        fits = low <= value <= limits.max  # a nan compares false
        filling = xp.asarray(int(value)).astype(dtype) if fits else None
    else:
        filling = xp.asarray(value).astype(dtype)
        fits = bool(xp.isfinite(filling)) or not cmath.isfinite(value)
    if not fits:
        kind = _C_NAMES.get(dtype.name, f"{dtype.name}_t")
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return filling


# ------------------------------------------------------------------- reflect, replicate, circular


def _index_table(mode: str, size: int, before: int, after: int) -> list[int]:
    """Which element of a dimension each element of the padded one repeats."""
    if mode == "circular":  # goes around what negative padding left over
        first, last = max(-before, 0), size + min(after, 0)
        around = range(-max(before, 0), last - first + max(after, 0))
        return [place % (last - first) + first for place in around]
    places = range(-before, size + after)
    if mode == "replication":
        return [min(max(place, 0), size - 1) for place in places]
    return [size - 1 - abs(size - 1 - abs(place)) for place in places]


def _pad(xp: Namespace, input: Array, pad: Sizes, mode: str) -> Array:
    """Read the padded array: the input is copied once, then each border from what is there."""
    sides = _sides(pad)
    lead = input.ndim - len(sides)
    tables = [
        _index_table(mode, size, before, after)
        for size, (before, after) in zip(input.shape[lead:], sides, strict=True)
    ]
    if min(pad) < 0:
        for axis, table in enumerate(tables, start=lead):
            input = xp.take(input, xp.asarray(table), axis=axis)
        return input
    result: Array = xp.empty((*input.shape[:lead], *(len(table) for table in tables)), input.dtype)
    inner: list[slice] = [
        slice(before, before + size)
        for size, (before, _) in zip(input.shape[lead:], sides, strict=True)
    ]
    middle: Index = (..., *inner)
    result[middle] = input
    for axis, (table, inside) in enumerate(zip(tables, inner, strict=True), start=lead):
        for border in (slice(0, inside.start), slice(inside.stop, len(table))):
            if border.start < border.stop:
                sources = xp.asarray(table[border]) + inside.start
                result[(slice(None),) * axis + (border,)] = xp.take(result, sources, axis=axis)
    return result


def _unpad(xp: Namespace, gradient: Array, spatial: Shape, pad: Sizes, mode: str) -> Array:
    """The adjoint of `_pad` on inputs whose last dimensions are `spatial`."""
    sides = _sides(pad)
    lead = gradient.ndim - len(sides)
    result = gradient
    for axis, (size, (before, after)) in enumerate(zip(spatial, sides, strict=True), start=lead):
        table = _index_table(mode, size, before, after)
        low, high = max(before, 0), len(table) - max(after, 0)
        total: Array = xp.zeros(
            (*result.shape[:axis], size, *result.shape[axis + 1 :]), result.dtype
        )
        for part in (slice(low, high), slice(0, low), slice(high, len(table))):
            if part.start < part.stop:
                _add_part(xp, total, result, axis, table, part)
        result = total
    return result


def _add_part(
    xp: Namespace, total: Array, values: Array, axis: int, table: Sequence[int], part: slice
) -> None:
    """Add a part of the values to the elements that they were read from."""
    lead: Index = (slice(None),) * axis
    places = table[part]
    chosen = values[(*lead, part)]
    distinct = len(set(places))
    if distinct == 1:
        total[(*lead, places[0])] += chosen.sum(axis)
    elif distinct < len(places):
        xp.add_at(total, (*lead, xp.asarray(places)), chosen)
    elif places[-1] - places[0] == len(places) - 1:  # in order, so without an index array
        total[(*lead, slice(places[0], places[-1] + 1))] += chosen
    else:
        total[(*lead, xp.asarray(places))] += chosen


def _declare(mode: str, dimensions: int) -> None:
    """The op `<mode>_pad<n>d` and its gradient op."""
    name = f"{mode}_pad{dimensions}d"
    gradient_name = f"_{name}_gradient"
    node = f"{mode.capitalize()}Pad{dimensions}D"

    def check(input: Array, padding: Sizes) -> None:
        refuse_types(name, input, lambda kind: is_real_number(kind) or kind.is_complex)

    def forward(xp: Namespace, input: Array, padding: Sizes) -> Array:
        return arranged(xp, _pad(xp, input, padding, mode), input)

    def backward(xp: Namespace, gradient: Array, input: Array, padding: Sizes) -> Array:
        return _unpad(xp, gradient, input.shape[-dimensions:], padding, mode)

    forward.__name__ = name
    backward.__name__ = gradient_name
    op(
        input=lambda m, g, input, padding: getattr(m, gradient_name)(g, input, padding),
        half="move",
        holomorphic=False,
        node_name=f"{node}Backward0",
        namespace=None,
        methods=(),
        check=check,
        forward="linear",
        autocast=None if name == "reflection_pad3d" else "float32",  # as PyTorch lists them
        images=dimensions + 2,
    )(forward)
    op(
        gradient=lambda m, g, padding: getattr(m, name)(g, padding),
        input=lambda m, g, input_shape: m._zeros(g, input_shape),
        holomorphic=False,
        node_name=f"{node}BackwardBackward0",
        images=dimensions + 2,
    )(backward)


for _mode in ("reflection", "replication"):
    for _dimensions in (1, 2, 3):
        _declare(_mode, _dimensions)


@op(
    input=lambda m, g, input_shape, padding: m._circular_pad_gradient(
        g, input_shape[len(input_shape) - len(padding) // 2 :], padding
    ),
    moves=True,
    node_name="CopySlices",  # PyTorch copies slice by slice
)
def _circular_pad(xp: Namespace, input: Array, padding: Sizes) -> Array:
    return _pad(xp, input, padding, "circular")


@op(
    gradient=lambda m, g, padding: m._circular_pad(g, padding),
    holomorphic=False,
    node_name="SliceBackwardBackward0",
    forward="linear",
    event="retrograd::circular_pad_gradient",
)
def _circular_pad_gradient(xp: Namespace, gradient: Array, spatial: Shape, padding: Sizes) -> Array:
    return _unpad(xp, gradient, spatial, padding, "circular")


def _check_borders(input: Tensor, pad: Sizes, mode: str) -> int:
    """Raise for borders that a mode cannot make; the number of padded dimensions."""
    shape = input._array.shape
    dimensions = len(pad) // 2
    if len(pad) not in (2, 4, 6) or len(shape) not in (dimensions + 1, dimensions + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {len(shape)}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    first = len(shape) - dimensions
    if mode != "circular" and 0 in shape[first - 1 :]:
        raise errors.runtime_error(
            f"Expected {dimensions + 1}D or {dimensions + 2}D (batch mode) tensor with possibly 0 "
            f"batch size and other non-zero dimensions for input, but got: {list(shape)}",
            code="RG210",
        )
    for place, (before, after) in reversed(list(enumerate(_sides(pad)))):
        dim = first + place
        if mode == "circular":
            if max(before, after) > shape[dim]:
                raise RuntimeError("Padding value causes wrapping around more than once.")
            if shape[dim] + min(before, 0) + min(after, 0) <= 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
        elif mode == "reflection" and max(before, after) >= shape[dim]:
            raise RuntimeError(
                f"Argument #{2 * (dimensions - place) + 2}: Padding size should be less than the "
                f"corresponding input dimension, but got: padding ({before}, {after}) at dimension "
                f"{dim} of input {list(shape)}"
            )
        if shape[dim] + before + after < 0:
            result = [*shape[:first], *(size + sum(side) for size, side in
                                        zip(shape[first:], _sides(pad), strict=True))]  # fmt: skip
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {result[dim]}: {result}"
            )
    return dimensions


_MODES = {"reflect": "reflection", "replicate": "replication", "circular": "circular"}


def _pad_samples() -> list[Sample]:
    line, image, volume = T(2, 3, 5), T(2, 2, 4, 5), T(1, 2, 3, 4, 3)
    found = [
        *(Sample(line, (1, 2), dtypes=_MOVED), Sample(line, (1, 2, 3, 0), value=1.5)),
        *(Sample(line, (-1, 2)), Sample(line, (-4, -4)), Sample(line, (1,)), Sample(line, 3)),
        *(Sample(line, (0, 0)), Sample(line, (1.5, 1)), Sample(line, (1, 1), "mirror")),
        *(Sample(T(), ()), Sample(T(), (1, 1)), Sample(T(2, 3, 0), (1, 1))),
        *(Sample(line, (1, 1), "constant", None), Sample(line, (1, 1), "constant", float("nan"))),
        Sample(line, (1, 1), "constant", 1j),
        Sample(T(2, 3, dtype="int64"), (1, 1), value=2.7, grad=False),
    ]
    for mode in ("reflect", "replicate", "circular"):
        found += [
            Sample(line, (1, 2), mode, dtypes=_MOVED),
            Sample(T(3, 5), (2, 4), mode=mode),
            Sample(image, (1, 2, 3, 0), mode, dtypes=(*FLOATS, "float16", "complex128")),
            Sample(T(2, 3, 4), (2, 2, 1, 1), mode),
            Sample(volume, (1, 2, 2, 1, 1, 0), mode),
            Sample(T(2, 3, 2, 4), (1, 1, 1, 1, 1, 1), mode),
            *(Sample(line, (-1, 2), mode), Sample(image, (-2, 1, 0, -1), mode)),
            *(Sample(line, (-1, -2), mode), Sample(T(0, 3, 5), (1, 1), mode)),
            *(Sample(line, (1, 1), mode, 0.0), Sample(line, (1, 1), mode, 1.0)),
            *(Sample(image, (1, 1), mode), Sample(T(5), (1, 1), mode)),
            *(Sample(T(2, 3, 0), (1, 1), mode), Sample(line, (5, 5), mode)),
            *(Sample(line, (6, 1), mode), Sample(image, (-3, -3, 0, 0), mode)),
            Sample(T(2, 3, 5, dtype="int64"), (1, 1), mode, grad=False),
            Sample(T(2, 3, 5, dtype="bool"), (1, 1), mode, grad=False),
        ]
    return found


@functional(samples=_pad_samples)
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Pad the last dimensions; `pad` has (before, after) of the last, then of the one before it.

    Modes are "constant", "reflect", "replicate" and "circular". Negative sizes cut off.

    >>> torch.nn.functional.pad(torch.tensor([[1.0, 2.0, 3.0]]), (1, 2), mode="reflect")
    tensor([[2., 1., 2., 3., 2., 1.]])
    """
    require_tensor("pad", input)
    sizes = as_integers("pad", "pad", 2, pad)
    if len(sizes) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(sizes) > 2 * input._array.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(sizes)} and input of dimension {input._array.ndim}"
        )
    if isinstance(value, Tensor):
        value = value.item()
    if isinstance(value, complex):
        raise errors.argument_type("pad", "value", 4, "float", value)
    if mode == "constant":
        return RECORDED.constant_pad_nd(input, sizes, 0 if value is None else value)
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    dimensions = _check_borders(input, sizes, _MODES[mode])
    if mode == "circular":
        return RECORDED._circular_pad(input, sizes)
    function = getattr(RECORDED, f"{_MODES[mode]}_pad{dimensions}d")
    return function(input, sizes)  # type: ignore[no-any-return]
