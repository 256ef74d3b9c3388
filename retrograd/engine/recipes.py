"""Recipes: how a value of the graph can be computed again, and from what.

A graph knows more than it saves. A node's edges lead to the nodes that made its operands, or to
leaves; constants and options are saved where a derivative reads them; sizes and dtypes of a result
are facts of its node. Where that is enough to call the op again, `recipe_of` gives a `Recipe`, else
the reason why not. `cost` of a recipe is about how many numbers its kernel reads and computes.

Recipes and values form a graph of their own, beside the nodes: a value lives as long as something
that was not released can need it.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from retrograd import dtypes
from retrograd.above import above
from retrograd.backend import is_array
from retrograd.engine import failures
from retrograd.engine.accumulate import is_accumulator
from retrograd.engine.function_node import FunctionNode
from retrograd.engine.node import Node, dressed
from retrograd.engine.packing import SavedTensor
from retrograd.engine.slices import CopySlices, copy_with_strides
from retrograd.engine.state import next_sequence
from retrograd.notices import runtime_error
from retrograd.tensor import Array, Tensor, VersionCell, wrap

if TYPE_CHECKING:
    from retrograd.autograd.function import Function
    from retrograd.engine.views import ViewStep
    from retrograd.ops.calling.plan import Parameter
    from retrograd.ops.registry import Op


class Unknown(Exception):
    """Why a value cannot be computed again; for those who choose what to keep."""


class Leaf:
    """A tensor without history that a recipe reads, at the version that it had then."""

    __slots__ = ("name", "reference", "tensor", "version")

    def __init__(self, tensor: Tensor, version: int, name: str) -> None:
        self.tensor = tensor
        self.version = version
        self.name = name  # of the parameter, for reports
        self.reference = weakref.ref(tensor._array)

    def is_unchanged(self) -> bool:
        """Whether nothing was written to it since."""
        cell = self.tensor._cell
        return (cell is None or cell.version == self.version) and (
            self.reference() is self.tensor._array
        )

    def read(self, recipe: Recipe) -> Array:
        """The elements, unless they are others by now."""
        if self.is_unchanged():
            return self.tensor._array
        cell, node = self.tensor._cell, recipe.node()
        if cell is not None and cell.version != self.version and node is not None:
            raise failures.modified(node, self.name, self.tensor, "", cell, self.version)
        raise runtime_error(
            f"a value was to be computed again from {self.name!r} of {recipe.name}, whose data "
            "were replaced since",
            code="RG102",
        )


class Value:
    """One result of a node: kept, or to be computed again.

    `array` is set where it is kept. Where it is not, somebody else may still hold the array:
    `held` is a weak reference to it. Both count only while the version is what it was.
    """

    __slots__ = ("array", "cell", "elsewhere", "held", "number", "recipe", "strides", "version")

    def __init__(self, recipe: Recipe | None, number: int) -> None:
        self.recipe = recipe  # None: there is none, so `array` must be there
        self.number = number
        self.array: Array | None = None
        self.held: weakref.ref[Any] | None = None
        self.elsewhere: Callable[[], Array] | None = None  # reads it from where it was moved
        self.cell: VersionCell | None = None
        self.version = 0
        self.strides: tuple[int, ...] | None = None  # what was written in place may have others

    def saw(self, array: Array, cell: VersionCell, version: int) -> None:
        """Note an array with the value, as it is now."""
        self.noticed(array, cell, version)
        if self.recipe is not None:
            self.recipe.is_saved = True

    def noticed(self, array: Array, cell: VersionCell, version: int) -> None:
        """Note an array that has the value; perhaps nobody saved it."""
        if self.held is None:
            self.held = weakref.ref(array)
            self.cell, self.version, self.strides = cell, version, array.strides

    def is_there(self) -> bool:
        """Whether it is kept, or somebody holds it, and nobody wrote to it."""
        if self.cell is not None and self.cell.version != self.version:
            return False
        return self.array is not None or (self.held is not None and self.held() is not None)

    def keep(self) -> bool:
        """Keep the array that somebody holds now; whether there is one."""
        if self.array is None and self.is_there():
            self.array = None if self.held is None else self.held()
        return self.array is not None

    def known(self) -> Array | None:
        """The array, if it need not be computed."""
        if self.cell is not None and self.cell.version != self.version:
            return None
        found = self.array if self.array is not None or self.held is None else self.held()
        return self.elsewhere() if found is None and self.elsewhere is not None else found

    def laid(self, array: Array) -> Array:
        """A computed array in the layout that the value had: results of sums depend on it."""
        if self.strides is None or array.strides == self.strides:
            return array
        return copy_with_strides(array, self.strides)


class Recipe:
    """One call that can be done again: the function on arrays, and where its arguments are."""

    __slots__ = (
        *("__weakref__", "arguments", "cost", "is_saved", "name", "node", "readers", "run"),
        "sequence",
    )

    def __init__(
        self,
        node: Node | None,
        arguments: Sequence[Any],
        run: Callable[[list[Any]], Sequence[Array]],
    ) -> None:
        # for reports; what needs the recipe holds the graph. None: random numbers, of no node
        self.node: Callable[[], Node | None] = (lambda: None) if node is None else weakref.ref(node)
        self.name = "random numbers" if node is None else node.name()
        self.sequence = next_sequence() if node is None else node.sequence
        self.arguments = tuple(arguments)  # `Value`, `Leaf`, lists of them, or constants
        self.run = run
        self.cost = 0 if node is None else _cost(node)
        self.is_saved = False  # a node saved one of its results
        self.readers = 0  # the recipes that read its results
        for value in self.inputs():
            if value.recipe is not None:
                value.recipe.readers += 1

    def inputs(self) -> Iterator[Value]:
        """The values that it reads."""
        for argument in self.arguments:
            for entry in argument if type(argument) is list else (argument,):
                if type(entry) is Value:
                    yield entry

    def draw_again(self, drawn: Callable[[Tensor], Value | None]) -> None:
        """Take random numbers from where they can be drawn again, not from the tensor itself."""
        self.arguments = tuple(
            [
                [_or_drawn(entry, drawn) for entry in argument]
                if type(argument) is list
                else _or_drawn(argument, drawn)
                for argument in self.arguments
            ]
        )

    def leaves(self) -> Iterator[Leaf]:
        """The leaves and constants that it reads."""
        for argument in self.arguments:
            for entry in argument if type(argument) is list else (argument,):
                if type(entry) is Leaf:
                    yield entry


def _or_drawn(argument: Any, drawn: Callable[[Tensor], Value | None]) -> Any:
    value = drawn(argument.tensor) if type(argument) is Leaf else None
    if value is None:
        return argument
    if value.recipe is not None:
        value.recipe.readers += 1
    return value


# what multiplies matrices: every result takes as many products as the inner size
_PRODUCTS = frozenset("mm bmm mv addmm addmv addbmm baddbmm convolution _attention".split())


def _cost(node: Node) -> int:
    """About how many numbers the node's kernel reads and computes."""
    shapes = node.shape if isinstance(node.shape, list) else [node.shape]
    size = sum([math.prod(shape) for shape in shapes if shape is not None])
    op = dressed(node).op
    if op is None or op.name not in _PRODUCTS:
        return size
    inner = 1
    for edge in node.edges:
        if edge is not None and not isinstance(edge.shape, list) and len(edge.shape) > 1:
            inner = max(inner, math.prod(edge.shape) // max(1, max(edge.shape[0], edge.shape[-1])))
    return 2 * size * inner


ValueOf = Callable[[Node, int], Value]


class Given:
    """What a call was given, where somebody watched it: more than a graph remembers."""

    __slots__ = ("arguments", "drawn")

    def __init__(self, arguments: Sequence[Any], drawn: Callable[[Tensor], Value | None]) -> None:
        self.arguments = arguments  # by place; `Ellipsis` where it is gone
        self.drawn = drawn  # the value of a tensor of random numbers

    def source(self, place: int, name: str) -> Any:
        """Where a recipe finds an argument that does not come from the graph."""
        argument = self.arguments[place]
        if argument is Ellipsis:
            raise Unknown(f"its operand {name!r} was overwritten")
        return self.of(argument, name)

    def of(self, argument: Any, name: str) -> Any:
        """The same for an argument itself."""
        if not isinstance(argument, Tensor):
            return argument
        cell = argument._cell
        found = self.drawn(argument)
        version = cell.version if cell is not None and cell.counts else 0
        return found or _constant(argument, version, name)


def recipe_of(node: Node, value_of: ValueOf, given: Given | None = None) -> Recipe:
    """How to make the node's results again; `Unknown` if that is not known.

    `value_of` gives the value of an earlier node's output, or raises `Unknown` itself.
    """
    node = dressed(node)
    if node.freed is not None:
        raise Unknown("it was freed")
    if isinstance(node, FunctionNode):
        return _function_recipe(node, value_of, given)
    if isinstance(node, CopySlices):
        return _slices_recipe(node, value_of, given)
    op = node.op
    if op is None:
        raise Unknown(f"{node.name()} is not an op")
    return Recipe(node, _arguments(node, op, value_of, given), _op_run(op, node.dtype))


# ------------------------------------------------------------------------------------- an op


def _op_run(op: Op, dtype: Any) -> Callable[[list[Any]], Sequence[Array]]:
    plan = op.plan
    kinds = dtype if isinstance(dtype, list) else [dtype]

    def run(arguments: list[Any]) -> list[Array]:
        given = [_wrapped(argument) for argument in arguments]
        named = {p.name: given[p.place] for p in plan.keywords}
        found = op.function(*given[: plan.positional], **named)
        results = [found] if isinstance(found, Tensor) else list(found)
        arrays = [result._array for result in results]
        for number, kind in enumerate(kinds):  # what was written in place took its target's type
            if kind is not None and arrays[number].dtype != kind:
                arrays[number] = arrays[number].astype(kind)
        return arrays

    return run


def _wrapped(argument: Any) -> Any:
    if type(argument) is list:
        return [_wrapped(entry) for entry in argument]
    return wrap(argument) if is_array(argument) else argument


def _arguments(
    node: Node, op: Op, value_of: ValueOf, given: Given | None, region: object = None
) -> list[Any]:
    """Where the arguments of an op's call are; `region` stands for the first, if it is given."""
    if op.name.endswith("_here") or op.name.startswith("_overwrite"):
        raise Unknown(f"{op.name} changes its operand")
    plan = op.plan
    if plan.edges is None:
        return [
            _list_operand(node, p, value_of, given) if p.is_list else _option(node, op, p, given)
            for p in plan.parameters
        ]
    found: list[Any] = []
    for p in plan.parameters:
        if p.kind == "option":
            found.append(_option(node, op, p, given))
            continue
        index = plan.tensors.index(p)
        if index == 0 and region is not None:
            found.append(region)
        else:
            found.append(_operand(node, op, p, index, value_of, given))
    return found


def _list_operand(node: Node, p: Parameter, value_of: ValueOf, given: Given | None) -> list[Any]:
    numbers = node.edge_numbers or (0,) * len(node.edges)
    found: list[Any] = []
    for position, (edge, number) in enumerate(zip(node.edges, numbers, strict=True)):
        try:
            if edge is None:
                raise Unknown("a tensor of its list has no history")
            found.append(_behind(edge, number, p.name, value_of))
        except Unknown:
            if given is None:
                raise
            found.append(given.of(given.arguments[p.place][position], p.name))
    return found


def _behind(edge: Node, number: int, name: str, value_of: ValueOf) -> Value | Leaf:
    """What an edge leads to: a leaf, or a result of another node."""
    if not is_accumulator(edge):
        return value_of(edge, number)
    leaf: Tensor = edge.saved[0]
    found = Leaf(leaf, edge.lasti, name)  # an accumulator remembers the version of its leaf
    if not found.is_unchanged():
        raise Unknown(f"its leaf {name!r} may have been written since")
    return found


def _operand(
    node: Node, op: Op, p: Parameter, index: int, value_of: ValueOf, given: Given | None
) -> Any:
    try:
        return _operand_in_graph(node, op, p, index, value_of, given)
    except Unknown:
        if given is None:
            raise
        return given.source(p.place, p.name)


def _operand_in_graph(
    node: Node, op: Op, p: Parameter, index: int, value_of: ValueOf, given: Given | None
) -> Any:
    plan = op.plan
    assert plan.edges is not None
    if index in plan.edges:
        position = plan.edges.index(index)
        edge = node.edges[position]
        if edge is not None:
            number = 0 if node.edge_numbers is None else node.edge_numbers[position]
            return _behind(edge, number, p.name, value_of)
    if given is not None and given.arguments[p.place] is not Ellipsis:
        return given.source(p.place, p.name)
    for save in plan.saves:
        if save.source != index:
            continue
        entry = node.saved[save.start]
        if save.kind == "input":
            read = save.always or any([node.edges[reader] is not None for reader in save.readers])
            if entry is not None or read:
                return _constant(entry, node.saved[save.start + 1], p.name)
        elif save.kind == "shape" and entry is None and p.kind == "optional":
            return None  # a tensor would have a shape
    raise Unknown(f"its operand {p.name!r} has no history and was not saved")


def _constant(entry: Any, version: int, name: str) -> Any:
    """A saved operand without history."""
    if type(entry) is SavedTensor:
        if type(entry._packed) is Value:
            return entry._packed
        if entry._value is None:
            raise Unknown("its saved values are packed by hooks")
        entry, version = entry._value, entry._version
    if not isinstance(entry, Tensor):
        return entry
    if entry._level or not is_array(entry._array):
        raise Unknown(f"its operand {name!r} is not a plain array")
    found = Leaf(entry, version, name)
    if not found.is_unchanged():
        raise Unknown(f"its operand {name!r} was written since")
    return found


# Options that no derivative reads, but that follow from the shape of the result.
_SHAPES: dict[str, Callable[[tuple[int, ...]], object]] = {
    **dict.fromkeys(("expand", "view", "_reshape_alias", "_unsafe_view", "sum_to_size"), tuple),
    **dict.fromkeys(("adaptive_avg_pool2d", "adaptive_max_pool2d"), lambda shape: shape[-2:]),
    **dict.fromkeys(("adaptive_avg_pool3d", "adaptive_max_pool3d"), lambda shape: shape[-3:]),
}
_DTYPES = frozenset("sum _sum_all mean _mean_all prod _prod_all cumsum cumprod nansum".split())


def _option(node: Node, op: Op, p: Parameter, given: Given | None) -> Any:
    if p.name == "generator":
        raise Unknown("it draws random numbers")
    if given is not None:
        return given.arguments[p.place]
    for save in op.plan.saves:
        if save.kind == "option" and save.source == p.place:
            return node.saved[save.start]
    shape = node.shape[0] if isinstance(node.shape, list) else node.shape
    if p.name in ("size", "output_size") and op.name in _SHAPES:
        return _SHAPES[op.name](shape)
    if p.name == "dtype" and op.name in _DTYPES:
        return dtypes.from_numpy_dtype(node.dtype)
    if p.name == "dtype" and op.name == "_to_dtype":
        return node.dtype
    if p.name == "sparse_grad":
        return False  # says nothing of the result
    raise Unknown(f"its option {p.name!r} is not known to the graph")


# ---------------------------------------------------------------------------- a write to a view


def _slices_recipe(node: CopySlices, value_of: ValueOf, given: Given | None) -> Recipe:
    inner, before = node.inner, node.edges[0]
    if inner is None or dressed(inner).op is None:
        raise Unknown("a custom Function wrote to a view")
    if before is None:
        raise Unknown("what was written to had no history")
    op = dressed(inner).op
    assert op is not None
    number = 0 if node.edge_numbers is None else node.edge_numbers[0]
    base = _behind(before, number, "base", value_of)
    arguments = _arguments(inner, op, value_of, given, _REGION)
    again = _op_run(op, inner.dtype)
    return Recipe(node, [base, *arguments], _written(again, node.chain, node.strides))


_REGION = object()


def _written(
    again: Callable[[list[Any]], Sequence[Array]],
    chain: tuple[ViewStep, ...],
    strides: tuple[int, ...],
) -> Callable[[list[Any]], Sequence[Array]]:
    def run(arguments: list[Any]) -> list[Array]:
        base, *others = arguments
        result = copy_with_strides(base, strides)
        region = result
        for step in chain:
            region = step.raw(region)
        given = [region.copy() if other is _REGION else other for other in others]
        region[...] = again(given)[0]
        return [result]

    return run


# --------------------------------------------------------------------------- a custom Function


@above
def forward_again(
    function: type[Function], arguments: list[Any], drew_from: tuple[Any, ...] | None
) -> Sequence[Array]:
    """The arrays that a custom Function's `forward` returns; None for what is no tensor.

    If it draws, it does so from where the generator was then.
    """
    raise NotImplementedError


# arguments of a custom Function that its node may hold: nothing that could lead back to it
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), type, dtypes.dtype)


def remembered(node: FunctionNode, arguments: Sequence[Any]) -> None:
    """Note what a Function was called with, as far as its node may hold it."""
    found: list[Any] = []
    for argument in arguments:
        if isinstance(argument, Tensor):
            cell = argument._cell
            version = cell.version if cell is not None and cell.counts else 0
            found.append((weakref.ref(argument), version))
        elif isinstance(argument, _SIMPLE) or callable(argument):
            found.append(argument)
        else:
            return
    node.arguments = tuple(found)


def _function_recipe(node: FunctionNode, value_of: ValueOf, given: Given | None) -> Recipe:
    function, drew_from = node.function, node.drew_from
    arguments = node.arguments if given is None else given.arguments
    if arguments is None:
        raise Unknown(
            f"{function.__name__} writes to its arguments, gets objects other than numbers, or "
            "draws from a generator of its own"
        )
    found = _function_arguments(node, arguments, value_of, given)
    return Recipe(node, found, lambda given: forward_again(function, given, drew_from))


def _function_arguments(
    node: FunctionNode, arguments: Sequence[Any], value_of: ValueOf, given: Given | None
) -> list[Any]:
    """Where the arguments of a Function are: those it was given, or those its node remembers."""
    numbers = iter(node.edge_numbers or (0,) * len(node.edges))
    edges = iter(node.edges)
    found: list[Any] = []
    for is_tensor, argument in zip(node.tensor_arguments, arguments, strict=True):
        if not is_tensor:
            found.append(argument)
            continue
        edge, number = next(edges), next(numbers)
        try:
            if edge is not None:
                found.append(_behind(edge, number, "argument", value_of))
                continue
        except Unknown:
            if given is None:
                raise
        if given is not None:
            found.append(given.of(argument, "argument"))
            continue
        reference, version = argument
        tensor = reference()
        if tensor is None:
            raise Unknown(f"an argument of {node.function.__name__} without history is gone")
        found.append(_constant(tensor, version, "argument"))
    return found
