"""The history of a view after its storage was written: the view ops again, from the base's."""

from __future__ import annotations

from retrograd.engine.node import Node, plain_node
from retrograd.engine.slices import copy_with_strides
from retrograd.engine.views import ViewStep, edge_of
from retrograd.ops.kinds import Array, DType, Namespace
from retrograd.ops.registry import OPS, Op, op
from retrograd.tensor import Tensor, wrap


def op_named(name: str) -> Op:
    """The op of a name, for the engine, which makes steps of views itself."""
    return OPS[name]


def _replayed(array: Array, chain: tuple[ViewStep, ...]) -> Array:
    for step in chain:
        array = step.raw(array)
    return array


@op(
    node_name="AsStridedBackward0",
    moves=True,
    input=lambda m, g, chain, input_shape, strides: m._replay_gradient(
        g, chain, input_shape, strides
    ),
    saved_names={"stride": "strides"},
)
def _replay(
    xp: Namespace, input: Array, chain: tuple[ViewStep, ...], strides: tuple[int, ...]
) -> Array:
    """The region of a base that a chain of view ops leads to, copied; `strides` are the base's."""
    return _replayed(copy_with_strides(input, strides), chain).copy()


@op(
    moves=True,
    input=lambda m, g, chain, strides: m._replay(g, chain, strides),
    node_name="ReplayGradientBackward0",
    event="retrograd::replay_gradient",
)
def _replay_gradient(
    xp: Namespace,
    input: Array,
    chain: tuple[ViewStep, ...],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Array:
    """The gradient of a base from the gradient of the region: the rules of the chain, backwards."""
    sources = [_with_geometry(xp, shape, strides, input.dtype)]
    for step in chain[:-1]:
        sources.append(step.raw(sources[-1]))
    for step, source in zip(reversed(chain), reversed(sources), strict=True):
        input = step.raw_gradient(input, source)
    return xp.ascontiguousarray(input) if input.base is not None else input


def _with_geometry(
    xp: Namespace, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType
) -> Array:
    """An array with the base's geometry; its elements are never read, so never written either."""
    extent = 1 + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True) if n)
    memory = xp.empty(-(-extent // dtype.itemsize), dtype)
    return xp.strided(memory, shape, strides)


@op(moves=True, input=lambda m, g: g, aten="clone")
def _clone_with_strides(xp: Namespace, input: Array, strides: tuple[int, ...]) -> Array:
    return copy_with_strides(input, strides)


def replay_node(base: Tensor, view: Tensor, chain: tuple[ViewStep, ...]) -> Node:
    """A node that leads from the base's present history to a view of it.

    PyTorch gives views of another dtype, and every view of them, a node of their own.
    """
    crossing = [index for index, step in enumerate(chain) if step.op.another_dtype]
    if not crossing:
        return _one_node(base, view, chain)
    parts = [chain[: crossing[0]]] if crossing[0] else []
    parts += [(step,) for step in chain[crossing[0] :]]
    source = base
    for part in parts:
        reached = wrap(_replayed(source._array, part))
        reached._requires_grad = True
        if part[0].op.another_dtype:
            node = plain_node(part[0].op.node_class)
            _lead(node, source, reached)
        else:
            node = _one_node(source, reached, part)
        reached._grad_fn = node
        source = reached
    return node


def _one_node(base: Tensor, view: Tensor, chain: tuple[ViewStep, ...]) -> Node:
    node = plain_node(OPS["_replay"].node_class)
    _lead(node, base, view)
    node.saved = (chain, base._array.shape, base._array.strides)
    return node


def _lead(node: Node, base: Tensor, view: Tensor) -> None:
    """Put a node between the history of a base and its view."""
    node.shape, node.dtype = view._array.shape, view._array.dtype
    edge = edge_of(base) if base._requires_grad else None
    node.edges = (edge,)
    node.edge_numbers = (base._output_nr,) if edge is not None and base._output_nr else None
    if edge is not None:
        node.code, node.lasti = edge.code, edge.lasti
