"""Gradient edges: places in the graph, as inputs and outputs of differentiation."""

from __future__ import annotations

from typing import NamedTuple

from retrograd.engine.node import Node
from retrograd.engine.views import edge_of
from retrograd.notices import explained, runtime_error
from retrograd.tensor import Tensor


class GradientEdge(NamedTuple):
    """A place in the graph where a gradient arrives: an output of a node.

    `autograd.grad` and `autograd.backward` take edges in place of tensors. An edge keeps its graph
    alive, but not the tensor it was taken from.
    """

    node: Node
    output_nr: int
    ownership_token: object = None


def shown_node(place: object) -> Node:
    """The node at which the gradient of a tensor arrives, as users see it."""
    if isinstance(place, GradientEdge):
        return place.node
    if not isinstance(place, Tensor):
        raise TypeError(f"expected a Tensor or a GradientEdge, but got {type(place).__name__}")
    node = place.grad_fn
    if node is None and place.requires_grad:
        leaf = edge_of(place)
        node = None if leaf is None else leaf.shown()
    if node is None:
        raise explained(AssertionError("Expected gradient function to be set"), code="RG618")
    return node


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place where the gradient of `tensor` arrives.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x)
    >>> torch.autograd.grad(x * x, edge)
    (tensor(6.),)
    """
    if not tensor.requires_grad:
        raise runtime_error(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients",
            code="RG618",
        )
    return GradientEdge(shown_node(tensor), tensor._output_nr)
