"""Losses that are given other values than they expect, read from the nodes of a graph.

A loss that applies softmax or sigmoid itself, over one that the model has applied already; the
negative log-likelihood of values that are no logarithms; a difference or product of a column with a
row, in which each prediction meets every target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from retrograd.watching.graph import Node
from retrograd.watching.targets import inner

RAW = ("Addmm", "Linear", "Mm", "Convolution", "Conv")
"""Nodes of layers: what comes out of them is no logarithm of a probability."""

SQUASHED = {"Softmax": "softmax", "Sigmoid": "sigmoid"}

FEWEST = 3  # rows; with fewer a square says nothing
MOST_NODES = 60  # between a root and the terms that it is the mean of
_REDUCING = ("Mean", "Sum")
_SCALAR = ("Add", "Sub", "Rsub", "Mul", "Div", "Neg", "Select", "Stack", "Unbind", "Squeeze")
_MEASURING = ("Pow", "Abs", "Square", "Neg", "Clamp")
_PAIRED = ("MseLoss", "SmoothL1Loss", "HuberLoss", "L1Loss")


@dataclass(frozen=True)
class LossForm:
    """A loss and the node that gives it what does not suit it."""

    kind: str  # "twice", "no-log", "crossed"
    loss: int  # the number of the node of the loss
    given: int  # and of what it is given
    name: str  # "softmax"; what is done with the values of a square: "difference", "product"
    function: str = ""  # the loss: "cross_entropy"
    column: bool = False  # of a square: what has history is a column, the other a row
    second: bool = True  # the other one is the right operand, or the second argument


def loss_forms(roots: Iterable[Node | None], nodes: Iterable[Node]) -> Iterator[LossForm]:
    """Those of a graph."""
    for node in nodes:
        found = _of_classes(node)
        if found is not None:
            yield found
    for root in roots:
        for node in _terms(root):
            found = _crossed(node)
            if found is not None:
                yield found


def _first(node: Node) -> Node | None:
    edges = node.next_functions
    return inner(edges[0][0]) if edges and edges[0][0] is not None else None


def _squashed(node: Node) -> str:
    return next((word for name, word in SQUASHED.items() if node.name().startswith(name)), "")


def _of_classes(node: Node) -> LossForm | None:
    name = node.name()
    given = _first(node) if name.startswith(("NllLoss", "BinaryCrossEntropyWithLogits")) else None
    if given is None:
        return None
    number, squashed = node._sequence_nr(), _squashed(given)
    if name.startswith("Binary"):
        function = "binary_cross_entropy_with_logits"
        if squashed:
            return LossForm("twice", number, given._sequence_nr(), squashed, function)
        return None
    if given.name().startswith("LogSoftmax"):
        before = _first(given)
        squashed = "" if before is None else _squashed(before)
        if before is None or not squashed:
            return None
        return LossForm("twice", number, before._sequence_nr(), squashed, "cross_entropy")
    if squashed or given.name().startswith(RAW):
        return LossForm("no-log", number, given._sequence_nr(), squashed, "nll_loss")
    return None


def _shape(node: Node | None) -> tuple[int, ...]:
    """Of what a node gives; () if that is not known."""
    known: Any = getattr(node, "_input_metadata", ())
    return tuple(known[0].shape) if len(known) else ()


def _terms(root: Node | None) -> Iterator[Node]:
    """What a root is the mean or the sum of, and losses that take both."""
    waiting = [] if root is None else [root]
    for _ in range(MOST_NODES):
        if not waiting:
            return
        node = waiting.pop()
        edges = [following for following, _ in node.next_functions if following is not None]
        if node.name().startswith(_REDUCING):
            yield from (inner(edge) for edge in edges)
        elif node.name().startswith(_PAIRED):
            yield node
        elif node.name().startswith(_SCALAR) and all(size == 1 for size in _shape(node)):
            waiting += edges


def _crossed(node: Node) -> LossForm | None:
    """Whether a column and a row meet in a square of numbers."""
    if node.name().startswith(_PAIRED):
        return _expanded(node)
    for _ in range(4):
        edges = [following for following, _ in node.next_functions]
        name = node.name()
        scaled = name.startswith(("Mul", "Div")) and len(edges) == 2 and _is_number(node)
        squared = name.startswith("Mul") and len(edges) == 2 and edges[0] is edges[1]
        if not (name.startswith(_MEASURING) or scaled or squared):
            break
        following = next((edge for edge in edges if edge is not None), None)
        if following is None:
            return None
        node = following
    name, shape = node.name(), _shape(node)
    kind = "difference" if name.startswith(("Sub", "Rsub")) else "product"
    edges = [following for following, _ in node.next_functions]
    if not name.startswith(("Sub", "Rsub", "Mul")) or len(edges) != 2:
        return None
    if (edges[0] is None) == (edges[1] is None):
        return None
    side = edges[0] or edges[1]
    assert side is not None
    if side.name().startswith("Expand") and _shape(side) == shape:
        side = side.next_functions[0][0] or side  # a loss of two arguments has made it wide
    if not _is_square_of(shape, _shape(side)) or _was_put_across(side):
        return None
    column = len(_shape(side)) == 2
    if kind == "product" and _other_shape(node, edges[0] is None) != _opposite(shape, column):
        return None
    number = node._sequence_nr()
    return LossForm("crossed", number, side._sequence_nr(), kind, "", column, edges[1] is None)


def _is_square_of(shape: tuple[int, ...], side: tuple[int, ...]) -> bool:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < FEWEST:
        return False
    return side in ((shape[0], 1), (shape[0],))


def _opposite(shape: tuple[int, ...], column: bool) -> tuple[int, ...]:
    return (shape[0],) if column else (shape[0], 1)


def _was_put_across(side: Node) -> bool:
    """Whether the text gave a value that form itself, to compare all with all, or it is a leaf."""
    name = side.name()
    return name.startswith(("Unsqueeze", "View", "Reshape", "Unsafe", "Slice")) or hasattr(
        side, "variable"
    )


def _is_number(node: Node) -> bool:
    """Whether a node multiplies or divides by one number."""
    shapes = [_other_shape(node, left) for left in (True, False)]
    return () in shapes and None in [following for following, _ in node.next_functions]


def _other_shape(node: Node, left: bool) -> tuple[int, ...] | None:
    """Of the left or right operand, as far as the node has saved it."""
    try:
        saved = getattr(node, "_saved_self" if left else "_saved_other")
    except (AttributeError, RuntimeError):
        return None
    return None if saved is None else tuple(saved.shape)


def _expanded(node: Node) -> LossForm | None:
    """A loss of two arguments that has made a square of them."""
    edges = [following for following, _ in node.next_functions]
    if len(edges) < 1 or edges[0] is None or (len(edges) > 1 and edges[1] is not None):
        return None
    wide = edges[0]
    side = wide.next_functions[0][0] if wide.name().startswith("Expand") else None
    if side is None or not _is_square_of(_shape(wide), _shape(side)) or hasattr(side, "variable"):
        return None
    function = node.name().partition("Backward")[0]
    column = len(_shape(side)) == 2
    number = node._sequence_nr()
    return LossForm("crossed", number, side._sequence_nr(), "difference", function, column)
