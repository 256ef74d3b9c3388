"""Trees of values under PyTorch's names: `tree_map`, `tree_flatten` and their relatives.

>>> from retrograd.utils._pytree import tree_map
>>> tree_map(lambda leaf: leaf + 1, {"a": 1, "b": (2, [3])})
{'a': 2, 'b': (3, [4])}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

from retrograd.namespaces import from_table
from retrograd.transforms.trees import LEAF, REGISTERED, TreeSpec, _node_of, flatten, unflatten
from retrograd.transforms.trees import LeafSpec as LeafSpec

__all__ = [
    *("PyTree", "TreeSpec", "is_namedtuple", "register_pytree_node", "tree_all", "tree_all_only"),
    *("tree_any", "tree_any_only", "tree_flatten", "tree_is_leaf", "tree_iter", "tree_leaves"),
    *("tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_structure"),
    "tree_unflatten",
]

PyTree = Any
Context = Any
_K = TypeVar("_K")
_V = TypeVar("_V")
_Test = Callable[[Any], bool]


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], Any],
    unflatten_fn: Callable[..., object],
    **names: object,
) -> None:
    """Make a class a node of trees: how it becomes its children and a context, and back."""
    if cls in REGISTERED:
        raise ValueError(f"{cls!r} is already registered as pytree node.")
    REGISTERED[cls] = (flatten_fn, unflatten_fn)
    keys: Any = names.get("flatten_with_keys_fn")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, keys)


_register_pytree_node = register_pytree_node  # the older name


def _dict_flatten(d: dict[_K, _V]) -> tuple[list[_V], list[_K]]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[_V], context: list[_K]) -> dict[_K, _V]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[_K, _V]) -> tuple[list[tuple[_K, _V]], list[_K]]:
    return list(d.items()), list(d)


class NodeDef(NamedTuple):
    """How values of a class become their children and a context, and back."""

    type: type[Any]
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Any]] | None


def _parts(value: object) -> tuple[list[Any], Any]:
    node = _node_of(value)
    assert node is not None
    return node[2], node[1]


def _whole(kind: type, parts: Iterable[Any], context: Any) -> Any:
    children = list(parts)
    return unflatten(children, TreeSpec(kind, context, [LEAF] * len(children)))


SUPPORTED_NODES: dict[Any, NodeDef] = {
    kind: NodeDef(kind, _parts, partial(_whole, kind), None)
    for kind in (tuple, list, dict, OrderedDict, defaultdict, deque)
}
"""The classes that are nodes of trees, to look at: `register_pytree_node` adds to them."""
SUPPORTED_NODES[namedtuple] = NodeDef(tuple, _parts, lambda parts, context: context(*parts), None)


class _Kept:
    """A subtree that counts as a leaf: taken for one by `flatten`, as any object is."""

    def __init__(self, value: object) -> None:
        self.value = value


def tree_flatten(tree: object, is_leaf: _Test | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in order, and its shape."""
    if is_leaf is None:
        return flatten(tree)
    leaves, spec = flatten(_with_leaves(tree, is_leaf))
    return [leaf.value if isinstance(leaf, _Kept) else leaf for leaf in leaves], spec


def _with_leaves(tree: object, is_leaf: _Test) -> PyTree:
    """The tree with every subtree that counts as a leaf hidden in a `_Kept`."""
    if is_leaf(tree):
        return _Kept(tree)
    children, spec = _children(tree)
    if spec is None:
        return tree
    return unflatten([_with_leaves(child, is_leaf) for child in children], spec)


def _children(tree: object) -> tuple[list[Any], TreeSpec | None]:
    """The direct children, and the shape of the tree if they were leaves; None for a leaf."""
    node = _node_of(tree)
    if node is None:
        return [], None
    kind, context, children = node
    return children, TreeSpec(kind, context, [LEAF] * len(children))


def tree_unflatten(leaves: Iterable[object], treespec: TreeSpec) -> PyTree:
    """A tree of the given shape with the given leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec "
            f"refers to a pytree that holds {treespec.leaves} items ({treespec})."
        )
    return unflatten(leaves, treespec)


def tree_leaves(tree: object, is_leaf: _Test | None = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: object, is_leaf: _Test | None = None) -> Iterator[Any]:
    """The leaves of a tree, one by one."""
    yield from tree_leaves(tree, is_leaf)


def tree_structure(tree: object, is_leaf: _Test | None = None) -> TreeSpec:
    """The shape of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: object, is_leaf: _Test | None = None) -> bool:
    """Whether a value is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or flatten(tree)[1].kind is None


def is_namedtuple(obj: object) -> bool:
    """Whether a value, or a class, is a named tuple."""
    kind = obj if isinstance(obj, type) else type(obj)
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


is_namedtuple_instance = is_namedtuple


def is_namedtuple_class(cls: object) -> bool:
    """Whether a class is one of named tuples."""
    return isinstance(cls, type) and is_namedtuple(cls)


def _get_node_type(tree: object) -> Any:
    """The key of a value in `SUPPORTED_NODES`: its class, or `namedtuple`."""
    return namedtuple if is_namedtuple(type(tree)) else type(tree)


def tree_map(
    func: Callable[..., object], tree: object, *rests: object, is_leaf: _Test | None = None
) -> PyTree:
    """The tree with every leaf replaced by ``func(leaf, *leaves of the others)``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_fitting(rest, spec) for rest in rests]
    return unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def _fitting(tree: Any, spec: TreeSpec) -> list[Any]:
    """The parts of `tree` at the leaves of a shape, whatever is below them."""
    if spec.kind is None:
        return [tree]
    children, own = _children(tree)
    if own is None or own.kind is not spec.kind or len(children) != len(spec.children):
        raise ValueError(f"Node type mismatch; expected {spec.kind!r}, but got {type(tree)!r}.")
    if spec.kind in (dict, OrderedDict, defaultdict):
        keys = spec.context[1] if spec.kind is defaultdict else spec.context
        children = [tree[key] for key in keys]
    return [
        leaf
        for child, part in zip(children, spec.children, strict=True)
        for leaf in _fitting(child, part)
    ]


def tree_map_(
    func: Callable[..., object], tree: object, *rests: object, is_leaf: _Test | None = None
) -> PyTree:
    """Call a function with every leaf, and return the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chooser(kind: Any) -> _Test:
    if callable(kind) and not isinstance(kind, type):
        chosen: _Test = kind
        return chosen
    return lambda leaf: isinstance(leaf, kind)


def tree_map_only(
    type_or_types_or_pred: object,
    func: Callable[..., object],
    tree: object,
    is_leaf: _Test | None = None,
) -> PyTree:
    """The tree with every leaf of a type replaced; the type may be a function that chooses.

    >>> from retrograd.utils._pytree import tree_map_only
    >>> tree_map_only(int, lambda leaf: -leaf, [1, "a", (2,)])
    [-1, 'a', (-2,)]
    """
    chosen = _chooser(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: object,
    func: Callable[..., object],
    tree: object,
    is_leaf: _Test | None = None,
) -> PyTree:
    """Call a function with every leaf of a type, and return the tree."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: _Test, tree: object, is_leaf: _Test | None = None) -> bool:
    """Whether all leaves are as asked."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: _Test, tree: object, is_leaf: _Test | None = None) -> bool:
    """Whether some leaf is as asked."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kind: Any, pred: _Test, tree: Any, is_leaf: _Test | None = None) -> bool:
    """Whether all leaves of a type are as asked."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, kind))


def tree_any_only(kind: Any, pred: _Test, tree: Any, is_leaf: _Test | None = None) -> bool:
    """Whether some leaf of a type is as asked."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, kind))


from_table(__name__)
