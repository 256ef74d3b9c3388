"""Trees of values: tuples, lists, dictionaries and named tuples, taken apart and put together.

>>> from retrograd.transforms.trees import flatten, unflatten
>>> leaves, spec = flatten({"a": 1, "b": (2, 3)})
>>> leaves, spec.leaves
([1, 2, 3], 3)
>>> unflatten([10, 20, 30], spec)
{'a': 10, 'b': (20, 30)}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from retrograd.return_types import NamedResult
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size


class TreeSpec:
    """The shape of a tree: its kind of node, what the node needs to be made again, its children."""

    __slots__ = ("children", "context", "kind", "leaves")

    def __init__(self, kind: type | None, context: Any, children: list[TreeSpec]) -> None:
        self.kind = kind  # None: a leaf
        self.context = context
        self.children = children
        self.leaves: int = 1 if kind is None else sum([child.leaves for child in children])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec)
            and self.kind is other.kind
            and self.context == other.context
            and self.children == other.children
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.kind is None:
            return "*"
        inner = indent + 2
        separator = ",\n" + " " * inner
        children = separator.join([child._text(inner) for child in self.children])
        named = self.kind is _Named
        name = "namedtuple" if named else self.kind.__name__
        context = None if self.context is None else repr(self.context)
        return f"TreeSpec({name}, {context}, [{children}])"


class _Named:
    """The kind of all named tuples; the class itself is the context."""


class LeafSpec(TreeSpec):
    """The shape of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


LEAF = LeafSpec()
_SEQUENCES: tuple[type, ...] = (tuple, list)
_DICTIONARIES: tuple[type, ...] = (dict, OrderedDict)
LEAVES: set[type] = {Tensor}
"""Classes that are leaves for sure; of others `_node_of` finds out."""
REGISTERED: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}
"""Classes of programs that are nodes of trees: how they are taken apart and put together."""


def _node_of(value: Any) -> tuple[type, Any, list[Any]] | None:
    """Kind, context and children of a value; None for a leaf."""
    kind = type(value)
    if kind in _SEQUENCES:
        return kind, None, list(value)
    if kind in _DICTIONARIES:
        return kind, list(value), list(value.values())
    if kind is defaultdict:
        return kind, [value.default_factory, list(value)], list(value.values())
    if kind is deque:
        return kind, value.maxlen, list(value)
    if isinstance(value, (NamedResult, Size)):
        return kind, None, list(value)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _Named, kind, list(value)
    if kind in REGISTERED:
        children, context = REGISTERED[kind][0](value)
        return kind, context, list(children)
    return None


def flatten(tree: object) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in order, and its shape."""
    leaves: list[Any] = []
    return leaves, _taken_apart(tree, leaves)


def _taken_apart(tree: object, leaves: list[Any]) -> TreeSpec:
    """The shape of a tree, whose leaves go to the end of a list."""
    node = None if type(tree) in LEAVES else _node_of(tree)
    if node is None:
        leaves.append(tree)
        return LEAF
    kind, context, children = node
    specs: list[TreeSpec] = []
    for child in children:
        if type(child) in LEAVES:  # most are: a call for each would cost more than all the rest
            leaves.append(child)
            specs.append(LEAF)
        else:
            specs.append(_taken_apart(child, leaves))
    return TreeSpec(kind, context, specs)


def unflatten(leaves: Iterable[object], spec: TreeSpec) -> Any:
    """A tree of the given shape with the given leaves."""
    return _built(iter(leaves), spec)


def _built(leaves: Iterator[object], spec: TreeSpec) -> Any:
    kind, context = spec.kind, spec.context
    if kind is None:
        return next(leaves)
    children = [next(leaves) if child is LEAF else _built(leaves, child) for child in spec.children]
    if kind in _DICTIONARIES:
        return kind(zip(context, children, strict=True))
    if kind is defaultdict:
        return defaultdict(context[0], zip(context[1], children, strict=True))
    if kind is deque:
        return deque(children, context)
    if kind is _Named:
        return context(*children)
    if kind in REGISTERED:
        return REGISTERED[kind][1](children, context)
    return kind(children)


def tree_map(function: Callable[[Any], Any], tree: object) -> Any:
    """The tree with every leaf replaced by ``function(leaf)``."""
    if type(tree) in LEAVES:
        return function(tree)
    leaves, spec = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], spec)


def broadcast(tree: object, spec: TreeSpec) -> list[Any] | None:
    """The leaves of `tree` repeated to fit `spec`, of which it must be the top; else None.

    >>> from retrograd.transforms.trees import broadcast, flatten
    >>> broadcast((0, 1), flatten(("x", ["y", "z"]))[1])
    [0, 1, 1]
    """
    node = _node_of(tree)
    if node is None:
        return [tree] * spec.leaves
    kind, context, children = node
    if kind is not spec.kind or context != spec.context or len(children) != len(spec.children):
        return None
    found: list[Any] = []
    for child, part in zip(children, spec.children, strict=True):
        below = broadcast(child, part)
        if below is None:
            return None
        found += below
    return found
