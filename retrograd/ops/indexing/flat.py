"""Places of a flattened tensor: take, put and unravel_index."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.backend.neutral import scatter
from retrograd.notices import explained, runtime_error
from retrograd.ops.determinism import alert_not_deterministic
from retrograd.ops.kinds import Array, Ints, Namespace, copy_to_write
from retrograd.ops.registry import function_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor


def _check_long(name: str, index: Array) -> None:
    if index.dtype is not dtypes.I64:
        kind = dtypes.from_numpy_dtype(index.dtype).type_name
        raise runtime_error(
            f"{name}(): Expected a long tensor for index, but got {kind}", code="RG305"
        )


def _check_flat(index: Array, count: int) -> None:
    if index.size and (index.max() >= count or index.min() < -count):
        outside = int(index[(index >= count) | (index < -count)].reshape(-1)[0])
        raise explained(
            IndexError(
                f"out of range: tried to access index {outside} on a tensor of {count} elements."
            ),
            code="RG204",
        )


@op(
    # PyTorch keeps the input too, though only its shape is read
    input=lambda m, g, input, index: m._take_gradient(g, tuple(input.shape), index),
    moves=True,
    out=True,
    samples=lambda: [
        Sample(
            T(3, 4), T(values=[0, 11, -1, 0], dtype="int64"), dtypes=(*FLOATS, *HALVES, *COMPLEX)
        ),
        Sample(T(3, 4), T(values=[[0, 11], [-12, 5]], dtype="int64")),
        Sample(T(3, 4), T(values=5, dtype="int64")),
        Sample(T(), T(values=[0, 0], dtype="int64")),
        Sample(T(0), T(0, dtype="int64")),
        Sample(T(3, dtype="bool"), T(values=[0], dtype="int64"), grad=False),
        Sample(T(0), T(values=[0], dtype="int64")),
        Sample(T(3), T(values=[3], dtype="int64")),
        Sample(T(3), T(values=[-4], dtype="int64")),
        Sample(T(3), T(values=[1], dtype="int32")),
    ],
)
def take(xp: Namespace, input: Array, index: Array) -> Array:
    """The elements of the flattened tensor that `index` names, in the index's shape.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, -1]))
    tensor([1, 4])
    """
    _check_long("take", index)
    if not input.size and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    _check_flat(index, input.size)
    return xp.asarray(input.reshape(-1)[index])


@op(
    g=lambda m, g, index: m.take(g, index),
    holomorphic=False,
    node_name="PutBackward0",
    forward="linear",
    event="retrograd::take_gradient",
)
def _take_gradient(xp: Namespace, g: Array, shape: tuple[int, ...], index: Array) -> Array:
    """Zeros with the gradient added where `take` read."""
    result = xp.zeros(shape, g.dtype)
    return scatter.add_at(xp, result.reshape(-1), index.reshape(-1), g.reshape(-1)).reshape(shape)


@op(
    input=lambda m, g, index, source, accumulate: (
        g if accumulate else m.put(g, index, m.zeros_like(source), False)
    ),
    source=lambda m, g, index, source: m.reshape(m.take(g, index), tuple(source.shape)),
    moves=True,
    inplace=True,
    samples=lambda: [
        Sample(T(3, 4), T(values=[0, 11, -2], dtype="int64"), T(3), dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(3, 4), T(values=[0, 11, -1, 0], dtype="int64"), T(2, 2), accumulate=True),
        Sample(T(3, 4), T(values=[[0, 11, -1]], dtype="int64"), T(3), True, dtypes=HALVES),
        Sample(T(), T(values=0, dtype="int64"), T()),
        Sample(T(3), T(0, dtype="int64"), T(0)),
        Sample(T(3, dtype="int64"), T(values=[0], dtype="int64"), T(1, dtype="int64"), grad=False),
        Sample(T(3), T(values=[3], dtype="int64"), T(1)),
        Sample(T(3), T(values=[1], dtype="int32"), T(1)),
        Sample(T(3), T(values=[1], dtype="int64"), T(2)),
        Sample(T(3), T(values=[1], dtype="int64"), T(1, dtype="int64")),
    ],
)
def put(
    xp: Namespace, input: Array, index: Array, source: Array, accumulate: bool = False
) -> Array:
    """A copy of `input` with the elements of `source` in places of the flattened tensor.

    >>> torch.zeros(2, 2).put(torch.tensor([1]), torch.tensor([5.0]))
    tensor([[0., 5.],
            [0., 0.]])
    """
    _check_long("put_", index)
    if input.dtype is not source.dtype:
        ours, theirs = (dtypes.from_numpy_dtype(a.dtype).type_name for a in (input, source))
        raise runtime_error(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{ours} and source.dtype = {theirs}",
            code="RG301",
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    _check_flat(index, input.size)
    if not accumulate:  # where a place is named twice, PyTorch leaves open who wins
        alert_not_deterministic("put_")
    result = copy_to_write(xp, input)
    flat = result.reshape(-1)
    if accumulate:
        scatter.add_at(xp, flat, index.reshape(-1), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return result


# ------------------------------------------------------------------------------ unravel_index


@function_only(
    samples=lambda: [
        Sample(T(values=[1, 5], dtype="int64"), (2, 3)),
        Sample(T(values=[[1, 5, 6, -1]], dtype="int32"), (2, 3)),
        Sample(T(values=4, dtype="int64"), (2, 3)),
        Sample(T(values=[4], dtype="int64"), 6),
        Sample(T(values=[4], dtype="int64"), ()),
        Sample(T(values=[4.0], dtype="float32"), (2, 3)),
        Sample(T(values=[4], dtype="int64"), (2, -3)),
        Sample(T(values=[4], dtype="int64"), 2.0),
    ]
)
def unravel_index(indices: Tensor, shape: Ints) -> tuple[Tensor, ...]:
    """Positions in a flattened tensor of `shape` as one tensor of coordinates per dimension.

    >>> torch.unravel_index(torch.tensor(4), (2, 3))
    (tensor(1), tensor(1))
    """
    array = indices._array
    if array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype!r}")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    rest = indices.to(dtypes.int64)
    found: list[Tensor] = []
    for size in reversed(sizes):
        found.append(rest % size)
        rest = rest // size
    return tuple(reversed(found))
