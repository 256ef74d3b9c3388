"""Samples that cut the graph: `sample()` of a distribution that could give `rsample()` as well.

A sample without history is right where its density is asked for afterwards (a policy gradient), or
where nothing is to be trained through it. Here is looked for one that a loss was computed from,
while the same loss trains the parameters of its distribution by another term.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from retrograd.watching.graph import Node, leaves_above, saved_names
from retrograd.watching.lines import LEAF, Step
from retrograd.watching.records import Call, CutSample
from retrograd.watching.replacing import Undo, replaced

WAITING = 32  # samples that are kept until the next step
MOST_CALLS = 24  # backward calls in whose graphs they are looked for


class Samples:
    """Follows samples without history into the losses that are sent back."""

    def __init__(self) -> None:
        self.used: list[CutSample] = []
        self.densities = 0  # how often a density was asked for
        self._waiting: list[tuple[Any, set[int], list[Step]]] = []  # sample, nodes, stack
        self._depth = 0
        self._calls = 0

    def install(
        self, torch: Any, safely: Callable[..., Any], here: Callable[[], list[Step]]
    ) -> list[Undo]:
        """Put the patches in place; each of the results takes one away."""
        module = sys.modules.get(f"{torch.__package__}.distributions")
        public = [] if module is None else [v for v in vars(module).values() if isinstance(v, type)]
        undo = []
        for kind in dict.fromkeys(public):
            if hasattr(kind, "rsample") and hasattr(kind, "log_prob"):
                own = vars(kind)
                if "sample" in own:
                    sampling = self._sampling(torch, own["sample"], safely, here)
                    undo.append(replaced(kind, "sample", sampling))
                if "log_prob" in own:
                    undo.append(replaced(kind, "log_prob", self._asking(own["log_prob"])))
        return undo

    def _sampling(self, torch: Any, original: Any, safely: Any, here: Any) -> Any:
        def sample(distribution: Any, *args: object, **keywords: object) -> object:
            self._depth += 1
            try:
                result = original(distribution, *args, **keywords)
            finally:
                self._depth -= 1
            if not self._depth and self._calls < MOST_CALLS and torch.is_grad_enabled():
                safely(self._note, torch, distribution, result, here())
            return result

        return sample

    def _asking(self, original: Any) -> Any:
        def log_prob(distribution: Any, *args: object, **keywords: object) -> object:
            self.densities += 1
            return original(distribution, *args, **keywords)

        return log_prob

    def _note(self, torch: Any, distribution: Any, result: Any, stack: list[Step]) -> None:
        if not distribution.has_rsample or not isinstance(result, torch.Tensor) or not stack:
            return
        nodes = {node for each in _tensors_of(distribution, torch) for node in _numbers(each)}
        if nodes and not result.requires_grad:
            self._waiting = [*self._waiting[1 - WAITING :], (result, nodes, stack)]

    def before_backward(self, call: Call, nodes: dict[Node, int]) -> None:
        """Is one of the samples in this graph, and are the parameters of its distribution?"""
        if not self._waiting or self._calls >= MOST_CALLS or self.densities:
            return
        self._calls += 1
        numbers = set(nodes.values())
        wanted = [each for each in self._waiting if each[1] & numbers]
        if wanted:
            saved = {place for node in nodes for place in _memory_of_saved(node)}
            for result, _, stack in wanted:
                if result.data_ptr() and result.data_ptr() in saved:
                    self.used.append(CutSample(stack, call))

    def after_step(self) -> None:
        """What comes next is another iteration."""
        self._waiting.clear()


def _tensors_of(distribution: Any, torch: Any, depth: int = 0) -> list[Any]:
    """The parameters of a distribution, and of those that it is made of."""
    found: list[Any] = []
    for value in vars(distribution).values():
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif depth < 2 and hasattr(value, "rsample"):
            found += _tensors_of(value, torch, depth + 1)
    return found


def _numbers(tensor: Any) -> list[int]:
    """The nodes right above a parameter: it may be a view that was made for the distribution."""
    found: list[int] = []
    waiting = [tensor.grad_fn]
    while waiting and len(found) < 4:
        node = waiting.pop()
        if node is not None and node._sequence_nr() < LEAF and leaves_above([node]):
            found.append(node._sequence_nr())
            if node.name().startswith(("Expand", "View")):
                waiting += [following for following, _ in node.next_functions]
    return found


def _memory_of_saved(node: Node) -> list[int]:
    found: list[int] = []
    for name in saved_names(node):
        try:
            raw = getattr(node, f"_raw_{name}")
            if name == "saved_tensors" or getattr(raw, "unpack_hook", None) is not None:
                continue
            value = getattr(node, f"_{name}")
            if hasattr(value, "data_ptr"):
                found.append(value.data_ptr())
        except (AttributeError, RuntimeError):
            continue
    return found
