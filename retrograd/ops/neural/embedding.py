"""Rows of a table by index: embedding, embedding_bag, one_hot."""

from __future__ import annotations

import warnings
from typing import Any

from retrograd import dtypes
from retrograd.above import above
from retrograd.backend import backend_of, xp_of
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.backend.neutral import scatter
from retrograd.backend.quiet import quiet
from retrograd.engine.grad_mode import no_grad
from retrograd.engine.state import TRANSFORMS
from retrograd.engine.views import bump, check_writable
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.calling.examples import by_example, level_in
from retrograd.ops.indexing.gathering import first_outside
from retrograd.ops.kinds import Array, Gradients, Namespace, operand
from retrograd.ops.reduction.norms import vector_norm_of
from retrograd.ops.registry import RECORDED, Table, function_only, functional, inner_op, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_EVERY = (*FLOATS, *HALVES)
_INDEX_TYPES = (dtypes.I64, dtypes.int32.numpy)


@above
def sparse_embedding(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Rows of a table whose gradient is sparse."""
    raise NotImplementedError


@above
def sparse_bag(
    weight: Tensor,
    indices: Tensor,
    samples: Tensor | None,
    bags: Array,
    count: int,
    mode: str,
    scale_grad_by_freq: bool,
) -> Tensor:
    """`embedding_bag` with a sparse gradient."""
    raise NotImplementedError


@above
def batched_bag(
    weight: Tensor,
    indices: Tensor,
    samples: Tensor | None,
    starts: Tensor,
    mode: str,
    scale_grad_by_freq: bool,
    padding: int,
) -> Tensor:
    """`embedding_bag` inside of `vmap`."""
    raise NotImplementedError


def _check_indices(name: str, indices: Array) -> None:
    if indices.dtype not in _INDEX_TYPES:
        kind = dtypes.from_numpy_dtype(indices.dtype).tensor_name
        raise errors.runtime_error(
            "Expected tensor for argument #1 'indices' to have one of the following scalar "
            f"types: Long, Int; but got {kind} instead (while checking arguments for {name})",
            code="RG305",
        )


# ------------------------------------------------------------------------------------ embedding


@op(
    # Scaled by frequency it is no longer the adjoint of the reading, whose gradient it stays: the
    # scale comes in once, with the gradient of the reading that a second derivative goes through.
    grad=lambda m, g, indices, padding_idx: m._embedding_rows(g, indices, padding_idx),
    node_name="EmbeddingDenseBackwardBackward0",
    forward="linear",
)
def _embedding_gradient(
    xp: Namespace,
    grad: Array,
    indices: Array,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Array:
    """Gradients of the rows that were read, added up by row; the padding row gets none."""
    padding = padding_idx if padding_idx >= 0 else None
    return scatter.embedding_gradient(xp, indices, grad, num_weights, padding, scale_grad_by_freq)


def _compiled_gradient(
    grad: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array | None:
    if scale_grad_by_freq:
        return None
    row = grad.shape[indices.ndim :]
    slices = grad.reshape(indices.size, *row)
    found: Array | None = rows.add_slices((num_weights, *row), 0, indices.reshape(-1), slices)
    if found is not None and padding_idx >= 0:
        found[padding_idx] = 0
    return found


compiled_first("_embedding_gradient", _compiled_gradient)


@op(
    weight=lambda m, g, indices, padding_idx, weight_shape: m._embedding_gradient(
        g, indices, weight_shape[0], padding_idx, False
    ),
    node_name="EmbeddingBackward0",
    forward="linear",
)
def _embedding_rows(xp: Namespace, weight: Array, indices: Array, padding_idx: int) -> Array:
    """The adjoint of `_embedding_gradient`: rows by index, zeros for the padding."""
    rows = xp.take(weight, indices, axis=0)
    if padding_idx >= 0:
        rows[indices == padding_idx] = 0
    return rows


@inner_op(
    weight=lambda m, g, weight_shape, indices, padding_idx, scale_grad_by_freq: (
        m._embedding_gradient(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    ),
    half="move",
    forward="linear",
)
def embedding(
    xp: Namespace, weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The rows of `weight` that `indices` names."""
    if first_outside(indices, weight.shape[0]) is not None:
        raise errors.explained(IndexError("index out of range in self"), code="RG204")
    return xp.take_rows(weight, indices)


compiled_first(
    "embedding",
    lambda weight, indices, padding, scaled: rows.take_slices(weight, 0, indices),
    short=True,
)


def _look_up(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    try:
        rank, places = weight._array.ndim, indices._array
    except AttributeError:
        raise errors.not_tensors("embedding", weight=weight, indices=indices) from None
    if rank != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices("embedding", places)
    if sparse and weight.requires_grad:
        return sparse_embedding(weight, indices, padding_idx, scale_grad_by_freq)
    return RECORDED.embedding(weight, indices, padding_idx, scale_grad_by_freq)


@by_example
def _renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten, in place, the named rows that are longer than `max_norm`."""
    for number, (name, value) in enumerate({"max_norm": max_norm, "norm_type": norm_type}.items()):
        if not isinstance(value, (int, float)):
            raise errors.argument_type("embedding_renorm_", name, number + 3, "float", value)
    array = weight._array
    # Not recorded, so that a parameter, which is a leaf, may be shortened.
    with no_grad():
        check_writable(weight, "embedding_renorm_")
    xp = xp_of(array)
    if not backend_of(array).holds:
        bump(weight, "embedding_renorm_")
        return
    rows = xp.unique(indices._array)
    if first_outside(rows, array.shape[0]) is not None:
        raise errors.explained(IndexError("index out of range in self"), code="RG204")
    values = array[rows]
    wide = values.astype(dtypes.F32) if array.dtype in dtypes.HALF_TYPES else values
    with quiet():
        norms = vector_norm_of(xp, wide, float(norm_type), (1,), False)
        long = norms > max_norm
        scale = max_norm / (norms[long] + 1e-7)
        array[rows[long]] = (wide[long] * scale[:, None]).astype(array.dtype)
    bump(weight, "embedding_renorm_")


def _padding_index(padding_idx: int | None, rows: int, message: str) -> int:
    """The padding row counted from the start; -1 for none."""
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError(message)
    return padding_idx % rows


def _embedding_samples() -> list[Sample]:
    some = T(values=[[1, 0, 3], [1, 1, 2]], dtype="int64")
    return [
        Sample(some, T(4, 3), dtypes=_EVERY),
        Sample(T(values=[1, 3], dtype="int32"), T(4, 3)),
        Sample(T(values=2, dtype="int64"), T(4, 3)),
        Sample(T(0, 2, dtype="int64"), T(4, 3)),
        Sample(some, T(4, 3), padding_idx=1, numeric=False),
        Sample(some, T(4, 3), -1, numeric=False),
        Sample(some, T(4, 3), scale_grad_by_freq=True, numeric=False),
        Sample(some, T(4, 3), 1, scale_grad_by_freq=True, numeric=False),
        Sample(some, T(4, 3, grad=False), max_norm=1.0),
        Sample(some, T(4, 3, grad=False), None, 1.0, 1.0),
        Sample(some, T(4, 3, dtype="int64"), grad=False),
        Sample(T(values=[0, 5], dtype="int64"), T(4, 3), error=(IndexError, "index out of range")),
        Sample(T(values=[0, -1], dtype="int64"), T(4, 3), error=(IndexError, "index out of")),
        Sample(T(2), T(4, 3)),
        Sample(T(2, dtype="uint8"), T(4, 3)),
        Sample(some, T(4)),
        Sample(some, T(4, 3), padding_idx=4),
        Sample(some, T(4, 3), padding_idx=-5),
    ]


@functional(samples=_embedding_samples)
def _embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` names.

    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.nn.functional.embedding(torch.tensor([1, 1]), table)
    tensor([[3., 4.],
            [3., 4.]])
    """
    rows = weight._array.shape[0] if weight._array.ndim else 0
    padding = _padding_index(padding_idx, rows, "Padding_idx must be within num_embeddings")
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return _look_up(weight, input, padding, scale_grad_by_freq, sparse)


@function_only(samples=lambda: [Sample(T(4, 3), T(values=[1, 2], dtype="int64"))])
def _torch_embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `indices` names."""
    return _look_up(weight, indices, padding_idx, scale_grad_by_freq, sparse)


# --------------------------------------------------------------------------------- embedding_bag
#
# A bag is a run of indices. `bags` holds for each index the number of its bag; indices of padding
# belong to none and are left out beforehand.


def _bag_rule(m: Table, g: Tensor, needs: tuple[bool, ...], weight: Tensor, indices: Tensor,
              per_sample_weights: Tensor | None, bags: Array, mode: str, scale_grad_by_freq: bool,
              kept: list[Array]) -> Gradients:  # fmt: skip
    shape = tuple(weight.shape)
    of_weight = of_samples = None
    if mode == "max":
        return _max_rule(m, g, shape, kept[0]), None
    slopes = m.index_select(g, 0, operand(m, bags))
    if mode == "mean":
        counts = xp_of(bags).bincount(bags, minlength=g.shape[0])[bags].reshape(-1, 1)
        slopes = m.div(slopes, operand(m, counts.astype(kept[0].dtype)))
    if needs[1]:
        of_samples = m.sum(m.mul(slopes, m.index_select(weight, 0, indices)), 1)
    if needs[0]:
        if per_sample_weights is not None:
            slopes = m.mul(slopes, m.unsqueeze(per_sample_weights, 1))
        of_weight = m._embedding_gradient(slopes, indices, shape[0], -1, scale_grad_by_freq)
    return of_weight, of_samples


def _max_rule(m: Table, g: Tensor, shape: tuple[int, ...], winners: Array) -> Tensor:
    """Each column's gradient goes to the row that won it; an empty bag has none."""
    xp = xp_of(winners)
    full = winners[:, 0] >= 0 if winners.size else xp.zeros(0, dtypes.B8)
    bags = xp.flatnonzero(full)
    slopes = m.index_select(g, 0, operand(m, bags))
    return m._gather_gradient(slopes, shape, 0, operand(m, winners[bags]))


@op(
    gradients=_bag_rule,
    differentiable=("weight", "per_sample_weights"),
    aten="_embedding_bag",
    event="embedding_bag",
)
def _embedding_bag(
    xp: Namespace,
    weight: Array,
    indices: Array,
    per_sample_weights: Array | None,
    bags: Any,
    count: int,
    mode: str,
    scale_grad_by_freq: bool,
    kept: list[Array],
) -> Array:
    """One row per bag: the sum, mean or maximum of the rows it names."""
    rows = xp.take(weight, indices, axis=0)
    columns = weight.shape[1]
    if mode == "max":
        return _largest(xp, rows, indices, bags, count, kept)
    kept.append(rows[:0])
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    result = scatter.add_at(xp, xp.zeros((count, columns), rows.dtype), bags, rows)
    if mode == "mean":
        counts = xp.maximum(xp.bincount(bags, minlength=count), 1)
        result /= counts[:, None].astype(result.dtype)
    return result


def _largest(
    xp: Namespace, rows: Array, indices: Array, bags: Array, count: int, kept: list[Array]
) -> Array:
    """Maxima by column, and in `kept` the row of the table that each of them came from."""
    result = xp.zeros((count, rows.shape[1]), rows.dtype)
    winners = xp.full(result.shape, -1, dtypes.I64)
    for bag in range(count):
        members = xp.flatnonzero(bags == bag)
        if members.size:
            best = rows[members].argmax(axis=0)
            result[bag] = xp.take_along_axis(rows[members], best[None], axis=0)[0]
            winners[bag] = indices[members][best]
    kept.append(winners)
    return result


def _check_bag_starts(offsets: Tensor, length: int) -> None:
    if not offsets._array.size:
        return
    first, last = offsets[0]._elements(), offsets[-1]._elements()  # of every example
    if first.any():
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
            f"from position 0. However, got {int(first[first != 0].reshape(-1)[0])}"
        )
    if (last > length).any():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {length} but got "
            f"offsets[-1] of {int(last[last > length].reshape(-1)[0])}"
        )


def _check_bag_indices(indices: Tensor, rows: int) -> None:
    outside = first_outside(indices._elements(), rows)
    if outside is None:
        return
    places = range(indices._array.size)  # of an example
    where = next(place for place in places if (indices[place]._elements() == outside).any())
    raise RuntimeError(
        f"Index {where} of input takes value {outside} which is not in the valid range [0, {rows})"
    )


def _bag_numbers(indices: Array, offsets: Array, last_included: bool) -> tuple[Array, int]:
    """The bag of each index, and how many bags there are."""
    count = len(offsets)
    if last_included:
        count -= 1
        offsets = offsets[:-1]
    xp = xp_of(indices)
    bags: Array = xp.searchsorted(offsets, xp.arange(len(indices)), side="right") - 1
    return bags.astype(dtypes.I64), count


def _check_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    per_sample_weights: Tensor | None,
    mode: str,
    by_freq: bool,
) -> None:
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences. However, found offsets of type <class 'torch.Tensor'>"
            )
    elif input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if not isinstance(offsets, Tensor):
            raise AttributeError(f"'{errors.type_name(offsets)}' object has no attribute 'dim'")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on "
                "GitHub."
            )
        if per_sample_weights.dtype is not weight.dtype:
            raise errors.runtime_error(
                "Expected tensor for argument #1 'weight' to have the same type as tensor for "
                "argument #1 'per_sample_weights'; but type torch."
                f"{weight.dtype.type_name}Tensor does not equal torch."
                f"{per_sample_weights.dtype.type_name}Tensor (while checking arguments for "
                "embedding_bag)",
                code="RG301",
            )


def _bag_samples() -> list[Sample]:
    flat = T(values=[1, 0, 3, 1, 2], dtype="int64")
    starts = T(values=[0, 2, 2], dtype="int64")
    table = T(4, 3)
    found = []
    for mode in ("sum", "mean", "max"):
        found += [
            Sample(flat, table, starts, mode=mode, dtypes=_EVERY, second=False),
            Sample(T(values=[[1, 0], [3, 3]], dtype="int64"), table, mode=mode, second=False),
            Sample(flat, table, starts, mode=mode, padding_idx=1, second=False),
            Sample(flat, table, starts, mode=mode, padding_idx=-1, second=False),
            Sample(
                flat, table, T(values=[0, 2, 5], dtype="int64"), mode=mode,
                include_last_offset=True, second=False,
            ),
            Sample(T(0, dtype="int64"), table, T(values=[0, 0], dtype="int64"), mode=mode,
                   second=False),
            Sample(flat, T(4, 3, grad=False), starts, 1.0, mode=mode),
        ]  # fmt: skip
    weights = T(5)
    return [
        *found,
        # PyTorch divides by the frequencies of other rows here: values only
        Sample(flat, table, starts, scale_grad_by_freq=True, grad=False),
        Sample(flat, table, starts, mode="sum", per_sample_weights=weights, second=False),
        Sample(
            flat,
            table,
            starts,
            mode="sum",
            per_sample_weights=weights,
            padding_idx=0,
            second=False,
        ),
        Sample(flat, table),
        Sample(flat, table, T(values=[1, 2], dtype="int64")),
        Sample(flat, table, T(values=[0, 9], dtype="int64")),
        Sample(flat, table, T(values=[[0, 1]], dtype="int64")),
        Sample(T(values=[[0, 1]], dtype="int64"), table, starts),
        Sample(T(values=[0, 7], dtype="int64"), table, T(values=[0], dtype="int64")),
        Sample(flat, table, starts, mode="min"),
        Sample(flat, table, starts, mode="mean", per_sample_weights=weights),
        Sample(flat, table, starts, mode="sum", per_sample_weights=T(2)),
        Sample(flat, table, starts, mode="max", scale_grad_by_freq=True),
        Sample(T(1, 1, 1, dtype="int64"), table),
    ]


@functional(samples=_bag_samples)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of runs of rows of `weight`, without keeping the rows.

    >>> table = torch.tensor([[1.0], [2.0], [4.0]])
    >>> starts = torch.tensor([0, 1])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1, 2]), table, starts, mode="sum")
    tensor([[1.],
            [6.]])
    """
    if weight._array.dtype.kind in "iu" and input.dtype.is_floating_point:
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
            UserWarning,
            stacklevel=user_level(),
        )
        input, weight = weight, input
    _check_bag(input, weight, offsets, per_sample_weights, mode, scale_grad_by_freq)
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    array = input._array
    _check_indices("embedding_bag", array)
    indices, samples = input, per_sample_weights
    if array.ndim == 2:
        if not array.shape[1]:
            raise RuntimeError("step must be nonzero")
        offsets = wrap(xp_of(array).arange(0, array.size, array.shape[1]))
        indices = input.reshape((array.size,))
        samples = None if samples is None else samples.reshape((array.size,))
    assert offsets is not None
    if offsets._array.dtype.kind != "b":  # those count as 0 and 1
        _check_indices("embedding_bag", offsets._array)
    rows = weight._array.shape[0]
    if include_last_offset and not offsets._array.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    _check_bag_starts(offsets, array.size)
    _check_bag_indices(indices, rows)
    message = "padding_idx must be within the number of embeddings"
    padding = _padding_index(padding_idx, rows, message)
    if TRANSFORMS.active and level_in((weight, indices, samples, offsets)):
        if include_last_offset:
            offsets = offsets[:-1]
        return batched_bag(weight, indices, samples, offsets, mode, scale_grad_by_freq, padding)
    bags, count = _bag_numbers(indices._array, offsets._array, include_last_offset)
    if padding >= 0:
        kept = xp_of(bags).flatnonzero(indices._array != padding)
        bags, places = bags[kept], wrap(kept)
        indices = RECORDED.index_select(indices, 0, places)
        samples = None if samples is None else RECORDED.index_select(samples, 0, places)
    if sparse and weight.requires_grad:
        return sparse_bag(weight, indices, samples, bags, count, mode, scale_grad_by_freq)
    return RECORDED._embedding_bag(
        weight, indices, samples, bags, count, mode, scale_grad_by_freq, []
    )


# --------------------------------------------------------------------------------------- one_hot


def _one_hot_batch(tensor: Tensor, num_classes: int) -> Tensor:
    """one_hot inside of vmap, where the number of classes cannot depend on the elements."""
    if num_classes <= 0:
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
            "num_classes argument."
        )
    classes = tensor._elements()
    if classes.size and not 0 <= classes.min() <= classes.max() < num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    numbers = wrap(xp_of(classes).arange(num_classes))
    return RECORDED.eq(RECORDED.unsqueeze(tensor, -1), numbers).to(dtypes.int64)


@functional(
    samples=lambda: [
        Sample(T(values=[0, 3], dtype="int64")),
        Sample(T(values=[[0], [3]], dtype="int64"), 5),
        Sample(T(values=2, dtype="int64"), num_classes=4),
        Sample(T(0, dtype="int64"), 3),
        Sample(T(0, dtype="int64")),
        Sample(T(values=[0, 3], dtype="int64"), 2),
        Sample(T(values=[0, -3], dtype="int64")),
        Sample(T(values=[0, 3], dtype="int32")),
        Sample(T(3)),
    ]
)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dimension with a one at the place that each number names, else zeros.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor._level:
        return _one_hot_batch(tensor, num_classes)
    classes = tensor._array
    if classes.dtype is not dtypes.I64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not classes.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if classes.size and (num_classes == -1 or backend_of(classes).holds):
        if classes.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        largest = int(classes.max())
        if num_classes == -1:
            num_classes = largest + 1
        elif largest >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    xp = xp_of(classes)
    result = xp.zeros((classes.size, num_classes), dtypes.I64)
    result[xp.arange(classes.size), classes.reshape(-1)] = 1
    return wrap(result.reshape(*classes.shape, num_classes))
