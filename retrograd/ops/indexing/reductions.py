"""Reductions into indexed places: scatter_reduce and index_reduce."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.backend.neutral import scatter
from retrograd.notices import explained
from retrograd.ops.indexing.gathering import check_source_type, first_outside, reduce_along
from retrograd.ops.indexing.vectors import check_source, vector_shape
from retrograd.ops.kinds import Array, Namespace, wrap_dim
from retrograd.ops.registry import RECORDED, Table, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor


def reduction_gradients(
    m: Table,
    g: Tensor,
    input: Tensor,
    source: Tensor,
    out: Tensor,
    reduce: str,
    include_self: bool,
    read: Callable[[Tensor], Tensor],
    add: Callable[[Tensor, Tensor], Tensor],
    again: Callable[[Tensor, Tensor], Tensor],
    clear: Callable[[Tensor], Tensor],
    names: tuple[str, str] = ("scatter_reduce", "src"),
) -> tuple[Tensor, Tensor]:
    """Gradients of a reduction into indexed places, by PyTorch's formulas.

    `read` takes the indexed places of a tensor, `add` adds into them, `again` is the reduction with
    other operands, `clear` puts zeros into the places; `names` are the op's and its source's.
    """
    dtype: Any = input._array.dtype if m is RECORDED else input.dtype
    if reduce == "sum":
        of_input, of_source = g, read(g)
    elif reduce == "mean":
        counts = m.ones_like(g) if include_self else m.zeros_like(g)
        counts = add(counts, m.ones_like(source))
        counts = m.masked_fill(counts, m.eq(counts, 0), 1)
        of_input, of_source = m.div(g, counts), m.div(read(g), read(counts))
    elif reduce == "prod":
        # elements that are zero get the product of all others
        nonzero_input = m.masked_fill(input, m.eq(input, 0), 1)
        of_input = m.div(m.mul(g, again(nonzero_input, source)), nonzero_input)
        zero = m.eq(source, 0)
        zeros = read(add(m.zeros_like(input), m._to_dtype(zero, dtype)))
        single = m.logical_and(zero, m.eq(zeros, 1))
        others = again(input, m.masked_fill(source, single, 1))
        of_source = m.where(
            single,
            read(m.mul(g, others)),
            m.div(read(m.mul(g, out)), m.masked_fill(source, zero, 1)),
        )
        if isinstance(of_source, Tensor) and of_source._requires_grad:
            if (zeros._elements() > 1).any():
                of_source = RECORDED._refuse_second_order(of_source, names)
    else:
        input_wins = m._to_dtype(m.eq(input, out), dtype)
        source_wins = m._to_dtype(m.eq(source, read(out)), dtype)
        shared = m.div(g, add(input_wins, source_wins))
        of_input = m.mul(input_wins, shared)
        of_source = m.mul(source_wins, read(shared))
    return of_input if include_self else clear(of_input), of_source


def _no_second_order(m: Table, g: Tensor, names: tuple[str, str]) -> Tensor:
    function, source = names
    raise RuntimeError(
        f"{function}(): Double backward is unsupported for {source} when >1 zeros in {source} are "
        "scattered to the same position in self"
    )


@op(
    input=_no_second_order,
    half="move",
    holomorphic=False,
    node_name="DelayedError",
    elementwise=True,
)
def _refuse_second_order(xp: Namespace, input: Array, names: tuple[str, str]) -> Array:
    """The same values; differentiating them raises."""
    return input.copy()


def _scatter_reduce_gradients(
    m: Table,
    g: Tensor,
    needs: Sequence[bool],
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    out: Tensor,
) -> tuple[Tensor, Tensor]:
    return reduction_gradients(
        m,
        g,
        input,
        src,
        out,
        reduce,
        include_self,
        read=lambda x: m.gather(x, dim, index),
        add=lambda x, values: m.scatter_add(x, dim, index, values),
        again=lambda x, values: m.scatter_reduce(
            x, dim, index, values, reduce, include_self=include_self
        ),
        clear=lambda x: m._scatter_value(x, dim, index, 0),
    )


_MODES = ("sum", "prod", "mean", "amax", "amin")


def _scatter_reduce_samples() -> list[Sample]:
    index = T(values=[[1, 1, 0], [0, 0, 0]], dtype="int64")
    line = T(values=[0, 0, 2, 2, 2, 1], dtype="int64")
    ties = T(values=[1.0, 1.0, 0.0, 3.0, 3.0, 0.0])
    found = []
    for mode in _MODES:
        halves = HALVES if mode != "prod" else ()
        for own in (True, False):
            found += [
                Sample(T(3, 4), 1, index, T(2, 3), mode, include_self=own,
                       dtypes=(*FLOATS, *halves)),
                Sample(T(4), -1, line, ties, mode, include_self=own),
                Sample(T(values=[0.0, 1.0, 3.0, 0.0]), 0, line, ties, mode, include_self=own),
                Sample(T(values=[0.0, 1.0, 3.0]), 0, line,
                       T(values=[0.0, 0.0, 1.0, 2.0, 0.0, 2.0]), mode, include_self=own,
                       second=mode != "prod"),
                Sample(T(), 0, T(values=0, dtype="int64"), T(), mode, include_self=own),
                Sample(T(3, dtype="int64"), 0, line, T(6, dtype="int64"), mode,
                       include_self=own, grad=False),
                Sample(T(3, 4), 1, T(0, 4, dtype="int64"), T(0, 4), mode, include_self=own),
            ]  # fmt: skip
    return [
        *found,
        Sample(T(3), 0, line, T(6), "foo"),
        Sample(T(3), 0, line, T(5), "sum"),
        Sample(T(2), 0, line, T(6), "sum"),
        Sample(T(3), 0, line, T(6, dtype="int64"), "sum"),
        Sample(T(3), 0, line, T(values=[1, 2, float("nan"), 4, 5, 6.0]), "amax", grad=False),
    ]


def _check_reduce(
    input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> None:
    check_source_type(input, dim, index, src)


@op(
    gradients=_scatter_reduce_gradients,
    differentiable=("input", "src"),
    inplace="scatter_reduce_",
    out=True,
    check=_check_reduce,
    samples=_scatter_reduce_samples,
    aten="scatter_reduce.two",
)
def scatter_reduce(
    xp: Namespace,
    input: Array,
    dim: int,
    index: Array,
    src: Array,
    reduce: str,
    *,
    include_self: bool = True,
) -> Array:
    """A copy of `input` where the places named along `dim` are reduced with the values of `src`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin"; without `include_self` the values that
    stood there before do not take part.

    >>> torch.ones(2).scatter_reduce(0, torch.tensor([0, 0]), torch.tensor([2.0, 5.0]), "prod")
    tensor([10.,  1.])
    """
    if reduce not in _MODES:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    return reduce_along(xp, input, dim, index, src, reduce, include_self)


# ------------------------------------------------------------------------------- index_reduce


def _index_reduce_gradients(
    m: Table,
    g: Tensor,
    needs: Sequence[bool],
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool,
    out: Tensor,
) -> tuple[Tensor, Tensor]:
    return reduction_gradients(
        m,
        g,
        input,
        source,
        out,
        reduce,
        include_self,
        read=lambda x: m.index_select(x, dim, index),
        add=lambda x, values: m.index_add(x, dim, index, values),
        again=lambda x, values: m.index_reduce(
            x, dim, index, values, reduce, include_self=include_self
        ),
        clear=lambda x: m.index_fill(x, dim, index, 0),
        names=("index_reduce", "source"),
    )


def _index_reduce_samples() -> list[Sample]:
    index = T(values=[1, 1, 0], dtype="int64")
    line = T(values=[0, 0, 2, 2, 2, 1], dtype="int64")
    ties = T(values=[1.0, 1.0, 0.0, 3.0, 3.0, 0.0])
    found = []
    for mode in _MODES[1:]:
        for own in (True, False):
            found += [
                Sample(T(3, 4), 0, index, T(3, 4), mode, include_self=own),
                Sample(T(2, 3, 2), -2, index, T(2, 3, 2), mode, include_self=own),
                Sample(T(4), -1, line, ties, mode, include_self=own),
                Sample(T(values=[0.0, 1.0, 3.0, 0.0]), 0, line, ties, mode, include_self=own),
            ]
    return [
        *found,
        Sample(T(3, dtype="int64"), 0, line, T(6, dtype="int64"), "prod", grad=False),
        Sample(T(3), 0, line, T(6), "sum"),
        Sample(T(3), 0, line, T(5), "prod"),
        Sample(T(2), 0, line, T(6), "amax"),
        Sample(T(3), 0, line, T(6, dtype="int64"), "amin"),
    ]


def _check_index_reduce(
    input: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> None:
    if reduce not in _MODES[1:]:
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    check_source("index_reduce_", input, dim, index, source)


@op(
    gradients=_index_reduce_gradients,
    differentiable=("input", "source"),
    inplace="index_reduce_",
    out=True,
    check=_check_index_reduce,
    samples=_index_reduce_samples,
)
def index_reduce(
    xp: Namespace,
    input: Array,
    dim: int,
    index: Array,
    source: Array,
    reduce: str,
    *,
    include_self: bool = True,
) -> Array:
    """A copy of `input` where slices named along `dim` are reduced with the slices of `source`.

    `reduce` is "prod", "mean", "amax" or "amin".

    >>> torch.ones(2, 1).index_reduce(0, torch.tensor([1]), torch.tensor([[3.0]]), "prod")
    tensor([[1.],
            [3.]])
    """
    _check_index_reduce(input, dim, index, source, reduce)
    if not index.size:
        return input.copy()
    dim = wrap_dim(dim, input.ndim)
    lined = input if input.ndim else input.reshape(1)
    outside = first_outside(index, lined.shape[dim])
    if outside is not None:
        raise explained(IndexError("index out of range in self"), code="RG204")
    sent = source if source.ndim else source.reshape(1)
    spread = xp.broadcast_to(vector_shape(index, lined.ndim, dim), sent.shape)
    result = scatter.scatter_reduce(xp, lined, dim, spread, sent, reduce, include_self)
    return result.reshape(input.shape)
