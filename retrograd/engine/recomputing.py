"""Saved values that are let go and computed again: ``retain_graph="recompute"``.

`survey` looks at the graph behind some nodes: every saved value that a node made (an `Entry`), its
bytes, and whether a recipe can make it again or the reason why not. `engine.letting_go` lets some
go; their nodes then hold a `Value` in their place, and `restored` computes it when a backward call,
or anybody, reads it. What one call computes is shared by all that it runs, until the walk has
passed it: nothing is computed twice in a call, and what lies behind the walk goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

from retrograd.backend import is_array
from retrograd.engine import failures
from retrograd.engine.accumulate import is_accumulator
from retrograd.engine.cutting import nodes_behind
from retrograd.engine.function_node import FunctionNode
from retrograd.engine.node import GraphRoot, Node, dressed
from retrograd.engine.packing import SavedTensor
from retrograd.engine.recipes import Leaf, Recipe, Unknown, Value, recipe_of
from retrograd.engine.state import (
    IN_HOOK,
    STATE,
    Modes,
)
from retrograd.tensor import Array, Tensor, VersionCell, cell_of, wrap


class Entry:
    """One saved value of a node that was made by the graph, not given to it.

    `reason` says why it cannot be computed again; None if it can, at the `cost` of its recipe.
    `nbytes` are those of the memory that it keeps alive, which others may share (`memory`).
    """

    __slots__ = ("array", "memory", "nbytes", "node", "place", "reason", "value")

    def __init__(self, node: Node, place: int, value: Value, array: Array) -> None:
        self.node = node
        self.place = place  # in `node.saved`
        self.value = value
        self.array = array
        owner = owner_of(array)
        self.memory = id(owner)
        self.nbytes = int(owner.nbytes)
        self.reason: str | None = None

    @property
    def cost(self) -> int:
        """About how many numbers its own op reads and computes."""
        return 0 if self.value.recipe is None else self.value.recipe.cost


def owner_of(array: Any) -> Any:
    """The array that owns the memory."""
    while getattr(array, "base", None) is not None and is_array(array.base):
        array = array.base
    return array


# -------------------------------------------------------------------------------- the survey


VIEW_OF_LEAF = "it is a view of a leaf"  # whose memory is not the graph's
_FROM = "it is made from a value that cannot be computed again: "


class Survey:
    """The graph behind some nodes, as far as it matters for computing values again."""

    def __init__(
        self,
        nodes: Sequence[Node],
        recipes: dict[Node, Recipe | str],
        values: dict[tuple[Node, int], Value],
        drawn: Callable[[Tensor], Value | None],
    ) -> None:
        self.nodes = nodes  # the oldest first
        self.entries: list[Entry] = []
        self.values = values
        self.recipes = recipes
        self._drawn = drawn
        self.arrays: dict[Value, Array] = {}  # of the values that somebody saved
        self._unknown: dict[Value, Node] = {}  # values without a recipe, and what made them
        self._known_before()
        for node in self.nodes:
            self._look_at(node)
        self._reasons: dict[Recipe, str | None] = {}
        for recipe in self.recipes.values():
            if isinstance(recipe, Recipe):
                self._reasons[recipe] = self._obstacle(recipe)
        given = self._memory_of_leaves()
        for entry in self.entries:
            entry.reason = self.reason_of(entry.value)
            if entry.memory in given:
                entry.reason = VIEW_OF_LEAF

    def _known_before(self) -> None:
        """Values that were let go before are the same values now."""
        for node in self.nodes:
            for entry in node.saved:
                if type(entry) is SavedTensor and type(entry._packed) is Value:
                    maker = node if entry.is_output else entry._grad_fn
                    if maker is not None:
                        self.values[maker, entry.number] = entry._packed

    def value_of(self, node: Node, number: int) -> Value:
        """The value of a node's output."""
        found = self.values.get((node, number))
        if found is None:
            recipe = self.recipes.get(node)
            made = recipe if isinstance(recipe, Recipe) else None
            found = self.values[node, number] = Value(made, number)
            if made is None:
                self._unknown[found] = node
        return found

    def _look_at(self, node: Node) -> None:
        if node not in self.recipes:
            try:
                recipe = recipe_of(node, self.value_of)
                recipe.draw_again(self._drawn)
                self.recipes[node] = recipe
            except Unknown as reason:
                self.recipes[node] = str(reason)
        for place, maker, number, array, cell, version in saved_values(node):
            value = self._value_from(maker, number)
            if value is None:
                continue
            value.saw(array, cell, version)
            self.arrays.setdefault(value, array)
            self.entries.append(Entry(node, place, value, array))

    def _value_from(self, maker: Node | Tensor, number: int) -> Value | None:
        """The value of what was saved; None where it was not made by the nodes looked at."""
        if isinstance(maker, Tensor):
            return self._drawn(maker)
        recipe = self.recipes.get(maker)
        if recipe is None:
            return None
        value = self.value_of(maker, number)
        if value.recipe is None and isinstance(recipe, Recipe):
            value.recipe = recipe
        return value

    def _obstacle(self, recipe: Recipe) -> str | None:
        for value in recipe.inputs():
            if value.array is None and value not in self.arrays:
                reason = self.reason_of(value)
                if reason is not None:
                    return reason if reason.startswith(_FROM) else _FROM + reason
        return None

    def reason_of(self, value: Value) -> str | None:
        """Why a value cannot be computed again; None if it can."""
        if value.recipe is not None:
            return self._reasons.get(value.recipe)
        maker = self._unknown.get(value)
        recipe = None if maker is None else self.recipes.get(maker)
        return recipe if isinstance(recipe, str) else "it is not known what made it"

    def _memory_of_leaves(self) -> set[int]:
        found: set[int] = set()
        for node in self.nodes:
            recipe = self.recipes.get(node)
            if isinstance(recipe, Recipe):
                found.update(id(owner_of(leaf.tensor._array)) for leaf in recipe.leaves())
        return found


Drawn = Callable[[Tensor], Value | None]


def survey(roots: Iterable[Node], drawn: Drawn = lambda tensor: None) -> Survey:
    """What the graph behind some nodes saved, and what of it can be computed again.

    ``survey([loss.grad_fn]).entries`` has, for every saved value that the graph made, its `nbytes`,
    the `cost` of computing it again and the `reason` why that cannot be done, if it cannot.
    `drawn` knows the values of tensors of random numbers.
    """
    return Survey(_nodes_behind(roots), {}, {}, drawn)


def _nodes_behind(roots: Iterable[Node]) -> list[Node]:
    found = nodes_behind(roots)
    return sorted(
        [n for n in found if not is_accumulator(n) and not isinstance(n, GraphRoot)],
        key=lambda node: node.sequence,
    )


_Saved = tuple[int, Node | Tensor, int, Array, VersionCell, int]


def saved_values(node: Node) -> Iterator[_Saved]:
    """Place, maker, number, array, cell and version of what a node saved.

    The maker of a constant is the tensor itself. Not what was written since (reading it is an
    error), nor what hooks have packed.
    """
    node = dressed(node)
    if node.freed is not None:
        return
    if isinstance(node, FunctionNode):
        for place, entry in enumerate(node.saved):
            yield from _packed_value(node, place, entry)
        return
    if node.op is None:
        return
    for kind, _, number, place, *_ in node.op.plan.kept:
        entry = node.saved[place]
        if type(entry) is SavedTensor:
            yield from _packed_value(node, place, entry)
        elif kind == "output":
            cell, version = node.saved[place + 1 : place + 3]
            if is_array(entry) and cell.version == version:
                yield place, node, number, entry, cell, version
        elif isinstance(entry, Tensor):
            yield from _saved_input(place, entry, node.saved[place + 1])


def _packed_value(node: Node, place: int, entry: SavedTensor) -> Iterator[_Saved]:
    tensor = entry._value
    if entry._hooks is not None or tensor is None:
        return
    if not entry.is_output:
        yield from _saved_input(place, tensor, entry._version)
    elif is_array(tensor._array) and not tensor._level and entry._tangents is None:
        cell = cell_of(tensor)
        if cell.version == entry._version:
            yield place, node, entry.number, tensor._array, cell, entry._version


def _saved_input(place: int, tensor: Tensor, version: int) -> Iterator[_Saved]:
    view, meta = tensor._view, tensor._meta
    if tensor._level or not is_array(tensor._array):
        return
    if tensor._grad_fn is None:
        if not tensor._requires_grad:
            yield place, tensor, 0, tensor._array, cell_of(tensor), version
        return
    cell = cell_of(tensor)  # made now if it must be: a later write has to show
    if cell.version != version or (view is not None and view.at != version):
        return
    if meta is None or not meta.tangents:
        yield place, tensor._grad_fn, tensor._output_nr, tensor._array, cell, version


# --------------------------------------------------------------------------- computing again


class Computed:
    """What one backward call has computed again, as long as the walk can need it."""

    __slots__ = ("arrays", "newest", "reads")

    def __init__(self) -> None:
        self.arrays: dict[Recipe, Sequence[Array]] = {}
        self.newest: list[tuple[int, int, Recipe]] = []  # a heap
        self.reads: dict[Recipe, int] = {}

    @property
    def nbytes(self) -> int:
        """The bytes of what is there now."""
        return sum([int(array.nbytes) for made in self.arrays.values() for array in made])

    def drop_newer(self, sequence: int) -> None:
        """Forget what only nodes newer than that could need: the walk has passed them."""
        newest = self.newest
        while newest and -newest[0][0] > sequence:
            self.arrays.pop(heappop(newest)[2], None)

    def add(self, recipe: Recipe, arrays: Sequence[Array]) -> None:
        """Remember results, and forget those that were needed only on the way to them."""
        self.arrays[recipe] = arrays
        heappush(self.newest, (-recipe.sequence, id(recipe), recipe))
        for value in recipe.inputs():
            source = value.recipe
            if source is not None and not source.is_saved:
                self.reads[source] = self.reads.get(source, 0) + 1
                if self.reads[source] == source.readers:
                    self.arrays.pop(source, None)


def restored(value: Value, node: Node | None = None) -> Tensor:
    """A value that was let go, for the node that saved it."""
    known = value.known()
    if known is not None:
        return wrap(known)
    assert value.recipe is not None
    call = STATE.call
    done = None if call is None else call.recomputed
    if done is None:
        done = Computed()
        if call is not None:
            call.recomputed = done
    if node is not None:
        done.drop_newer(node.sequence)
    with _plainly():
        return wrap(_computed(value, done))


def _computed(wanted: Value, done: Computed) -> Array:
    """Compute a value and what it needs, the oldest first; there is no recursion."""
    assert wanted.recipe is not None
    stack = [wanted.recipe]
    while stack:
        recipe = stack[-1]
        if recipe in done.arrays:
            stack.pop()
            continue
        missing = [
            value.recipe
            for value in recipe.inputs()
            if value.known() is None
            and value.recipe is not None
            and value.recipe not in done.arrays
        ]
        if missing:
            stack += missing
            continue
        stack.pop()
        done.add(
            recipe, recipe.run([_read(argument, recipe, done) for argument in recipe.arguments])
        )
    return wanted.laid(done.arrays[wanted.recipe][wanted.number])


def _read(argument: Any, recipe: Recipe, done: Computed) -> Any:
    if type(argument) is Value:
        known = argument.known()
        if known is not None:
            return known
        if argument.recipe is not None:
            return argument.laid(done.arrays[argument.recipe][argument.number])
        node, cell, array = recipe.node(), argument.cell, argument.array
        assert node is not None and cell is not None and array is not None
        raise failures.modified(node, "input", array, "", cell, argument.version)
    if type(argument) is Leaf:
        return argument.read(recipe)
    if type(argument) is list:
        return [_read(entry, recipe, done) for entry in argument]
    return argument


def _plainly() -> Modes:
    """Without what the surroundings would add: history, casts, hooks, a scope's notes."""
    return Modes(
        **{"grad_enabled": False, "cut": IN_HOOK, "saved_hooks": (), "autocast": None},
        **{"inference": False, "scope": None, "draws": None},
    )
