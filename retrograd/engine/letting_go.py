"""Letting go of saved values that can be computed again, and choosing which of them.

`let_go` looks at a whole graph, after a forward or backward pass: a few cuts are chosen
(`engine.checkpoints`), what is needed across them stays, the rest goes. While a graph still grows,
`let_go_before` does so with one cut in what is new of it, and `thin_out` goes over what was kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from retrograd.engine.checkpoints import Span, best_border, best_cuts, crossing
from retrograd.engine.function_node import FunctionNode
from retrograd.engine.node import Node, dressed
from retrograd.engine.packing import SavedTensor, pack_node
from retrograd.engine.recipes import Recipe, Value
from retrograd.engine.recomputing import Entry, Survey, restored, survey
from retrograd.tensor import Array, Tensor

# Smaller values stay: what stands in their place would take as much.
SMALLEST = 1024


def release_arrays(roots: Iterable[Node]) -> None:
    """Let go of what can be computed again of the graph behind some nodes."""
    let_go(survey(roots))


def let_go(found: Survey) -> None:
    """Let go, so that kept and computed values together take the fewest bytes."""
    memory = Memory(found)
    spans = list(memory.spans.values())
    memory.keep(crossing(spans, best_cuts(spans, len(found.nodes))))


def let_go_before(found: Survey) -> tuple[int, list[Array]]:
    """Cut once, near the end, and let go of what lies before and is not needed behind.

    The place after which the cut is, and the arrays that stay because of it.
    """
    memory = Memory(found)
    spans = list(memory.spans.values())
    border = best_border(spans, len(found.nodes))
    return border, memory.keep([span.end > border for span in spans], border)


def thin_out(found: Survey, border: int) -> list[Array]:
    """Choose the cuts before a border anew; the arrays that stay because of them and of it."""
    memory = Memory(found)
    spans = list(memory.spans.values())
    cuts = [cut for cut in best_cuts(spans, len(found.nodes)) if cut < border]
    stays = crossing(spans, [*cuts, border])
    return memory.keep(
        [stay or span.start > border for stay, span in zip(stays, spans, strict=True)], border
    )


def demote(
    found: Survey, entries: Iterable[Entry], restore: Callable[..., Tensor] = restored
) -> None:
    """Let go of some saved values; what recipes need of the others stays with these."""
    entries = [entry for entry in entries if entry.reason is None]
    gone = {entry.value for entry in entries}
    for value in gone:
        value.array = None
    for value, array in found.arrays.items():
        if value not in gone and value.array is None:
            value.array = array
    by_node: dict[Node, list[Entry]] = {}
    for entry in entries:
        by_node.setdefault(entry.node, []).append(entry)
    for node, members in by_node.items():
        if not isinstance(node, FunctionNode):
            pack_node(node)
        for entry in members:
            saved = node.saved[entry.place] if entry.place < len(node.saved) else None
            if type(saved) is SavedTensor:
                saved.replace(entry.value, restore)


class Memory:
    """The memory of a graph's values: when it is made, when it is last needed, what lies in it."""

    def __init__(self, found: Survey) -> None:
        self.found = found
        self.spans: dict[object, Span] = {}
        self.of: dict[Value, object] = {}  # the key of its span; None for a view of a leaf
        self._places = {node: index for index, node in enumerate(found.nodes)}
        for entry in found.entries:
            self._saved_by(entry)
        for index, node in enumerate(found.nodes):  # a view comes after what it is a view of
            made = found.recipes[node]
            if isinstance(made, Recipe):
                self._read_by(made, index)

    def _saved_by(self, entry: Entry) -> None:
        recipe = entry.value.recipe
        if entry.reason is not None or recipe is None:
            return
        self.of[entry.value] = entry.memory
        maker = recipe.node()  # random numbers have none: they can be drawn where they are used
        place = self._places[entry.node]
        start = place if maker is None else self._places.get(maker, 0)
        known = self.spans.get(entry.memory, Span(start, start, entry.nbytes, True))
        self.spans[entry.memory] = Span(
            min(known.start, start), max(known.end, place), known.nbytes, True
        )

    def _read_by(self, recipe: Recipe, index: int) -> None:
        """All memory that computing values again would need, views with what they are views of."""
        for value in recipe.inputs():
            maker = None if value.recipe is None else value.recipe.node()
            if maker is None or maker not in self._places:
                continue
            if value not in self.of:
                self.of[value] = self._under(value, maker)
            memory = self.of[value]
            if memory is None:
                continue
            start, nbytes = self._places[maker], _size(maker, value.number)
            known = self.spans.get(memory, Span(start, 0, nbytes, value.is_there()))
            self.spans[memory] = known._replace(end=max(known.end, index))

    def _under(self, value: Value, maker: Node) -> object:
        """What stands for the memory of a value that nobody saved; None for a view of a leaf."""
        op = dressed(maker).op
        if op is None or op.view is None or value.recipe is None:
            return value
        for source in value.recipe.inputs():
            return self.of.get(source, value)
        return None

    def keep(self, stays: Sequence[bool], border: int | None = None) -> list[Array]:
        """Keep the values in these spans, and let go of the others; the arrays that were kept.

        With a `border` only those made until there are looked at.
        """
        found = self.found
        if border is not None:
            for value, memory in self.of.items():
                if memory is not None and self.spans[memory].start > border:
                    found.arrays.pop(value, None)
        kept = {memory for memory, stay in zip(self.spans, stays, strict=True) if stay}
        demote(
            found,
            [
                entry
                for entry in found.entries
                if entry.reason is None and entry.nbytes >= SMALLEST and entry.memory not in kept
            ],
        )
        arrays = []
        for value, memory in self.of.items():
            if memory is None or (border is not None and self.spans[memory].start > border):
                continue
            if memory not in kept:
                if value not in found.arrays and found.reason_of(value) is None:
                    value.array = None  # nobody saved it: an earlier choice kept it
            elif value.array is not None or value.keep():
                assert value.array is not None
                arrays.append(value.array)
        return arrays


def result_bytes(recipe: Recipe) -> int:
    """How many bytes one run of a recipe makes; nothing where they are not known."""
    node = recipe.node()
    if node is None:
        return 0
    count = len(node.shape) if isinstance(node.shape, list) else 1
    return sum([_size(node, number) for number in range(count)])


def _size(node: Node, number: int) -> int:
    several = isinstance(node.shape, list)
    shape, dtype = (node.shape[number], node.dtype[number]) if several else (node.shape, node.dtype)
    return 0 if shape is None else math.prod(shape) * int(dtype.itemsize)
