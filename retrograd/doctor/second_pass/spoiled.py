"""Second pass, question "spoiled": which node has made gradients nan, or all of them zero.

Every node of a graph that is sent back gets a hook, which sees what arrives at the node and what it
hands on. The first one that is given numbers and hands on none (or is given some and hands on
zeros) is where it went wrong; what follows passes it on. It counts if parameters that an optimizer
holds are left with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from retrograd.doctor.session import Watched
from retrograd.watching.engines import Original
from retrograd.watching.gradients import parameters_of
from retrograd.watching.graph import Node, saved_names, tensors_in, walk
from retrograd.watching.lines import LEAF

MOST_CALLS = 400  # of the program
MOST_NODES = 20_000  # of a graph
HUGE = 1e12  # beyond this the training has come apart, and no single operation is to blame
RETURNED = "returned nan values in its"  # PyTorch's words in anomaly mode
ENOUGH = 3  # backward calls in which one node lets nothing through

Kind = Literal["nan", "zero"]


class SpoiledWatch:
    """Looks at the gradients between nodes, call by call."""

    def __init__(
        self, watched: Watched, kind: Kind, decided: Callable[[dict[str, object]], None]
    ) -> None:
        self.watched = watched
        self.torch = watched.engine.torch
        self.kind = kind
        self.decided = decided
        self.seen: dict[str, dict[str, Any]] = {}  # by the line
        self._calls = 0
        self._first: tuple[Node, int, float | None] | None = None  # in this call: see `_smallest`
        self._undo: Callable[[], None] | None = None

    def __enter__(self) -> SpoiledWatch:
        self._undo = self.watched.engine.watch(self._around)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._undo is not None:
            self._undo()

    def _around(
        self,
        outputs: Sequence[Any],
        retain: bool,
        create: bool,
        inputs: Sequence[Any],
        accumulates: bool,
        run: Original,
    ) -> object:
        self._calls += 1
        roots = tensors_in(list(outputs), self.torch.Tensor)
        nodes = walk((root.grad_fn for root in roots), MOST_NODES + 1)
        if len(nodes) > MOST_NODES or not all(self._is_number(root) for root in roots):
            return run()
        self._first = None
        handles = [
            node.register_hook(self._hook(node)) for node, number in nodes.items() if number < LEAF
        ]
        try:
            results = run()
        except RuntimeError as error:
            if RETURNED in str(error):  # anomaly mode stops at what this looks for
                self._note(roots)
            raise
        finally:
            for handle in handles:
                handle.remove()
        if accumulates and self._is_left():
            self._note(roots)
        return results

    def _hook(self, node: Node) -> Callable[[Any, Any], None]:
        def look(given_on: Any, arrived: Any) -> None:
            if self._first is None and self._is_at_fault(arrived, given_on):
                origin = self._origin(node)
                self._first = origin, origin._sequence_nr(), self._smallest(origin)

        return look

    def _is_at_fault(self, arrived: Any, given_on: Any) -> bool:
        before = [self._size(each) for each in tensors_in(list(arrived), self.torch.Tensor)]
        after = [self._size(each) for each in tensors_in(list(given_on), self.torch.Tensor)]
        if not before or not after:
            return False
        if self.kind == "zero":
            return max(before) > 0 and max(after) == 0
        return max(before) < HUGE and not all(map(math.isfinite, after))

    def _size(self, tensor: Any) -> float:
        """The largest number in it; nan if one is."""
        if not tensor.numel() or not tensor.is_floating_point() or tensor.is_sparse:
            return 0.0
        with self.torch.no_grad():
            size = float(self.torch.linalg.vector_norm(tensor.detach(), math.inf))
        return math.inf if math.isnan(size) else size

    def _is_number(self, root: Any) -> bool:
        return self._size(root) < HUGE

    def _origin(self, node: Node) -> Node:
        """Where an operand that is no number comes from: `log` of `p * log(p)`."""
        while self.kind == "nan":
            following = None
            for index, name in enumerate(("_saved_self", "_saved_other")):
                operand = getattr(node, name, None)
                if isinstance(operand, self.torch.Tensor) and self._size(operand) == math.inf:
                    following = node.next_functions[index][0]
            if following is None or following._sequence_nr() >= LEAF:
                return node
            node = following
        return node

    def _smallest(self, node: Node) -> float | None:
        """The smallest number that the node has kept of its operand or result."""
        for name in saved_names(node):
            if name in ("saved_self", "saved_result"):
                value = getattr(node, f"_{name}", None)
                if isinstance(value, self.torch.Tensor) and value.numel():
                    with self.torch.no_grad():
                        return float(value.detach().abs().min())
        return None

    def _note(self, roots: Sequence[Any]) -> None:
        """The call has left it in the parameters."""
        if self._first is None:
            return
        node, number, smallest = self._first
        log = self.watched.tracer.log
        stack = [[p.file, p.line, p.function] for _, p in log.stack_of(number)]
        if not stack:
            return
        name = node.name().rpartition("::")[2].partition("Backward")[0]
        size = max((self._size(root) for root in roots), default=0.0)
        found = self.seen.setdefault(str([stack, name]), {"stack": stack, "op": name, "calls": 0})
        found |= {"calls": found["calls"] + 1, "call": self._calls, "loss": size}
        found["smallest"] = smallest
        if found["calls"] >= (1 if self.kind == "nan" else ENOUGH) or self._calls > MOST_CALLS:
            self.decided(self.found())

    def _is_left(self) -> bool:
        """Whether a gradient of a parameter is no number; whether all of them are zero."""
        held = [p for o in self.watched.recorder.gradients.optimizers for p in parameters_of(o)]
        sizes = [self._size(p.grad) for p in held if p.grad is not None]
        if self.kind == "zero":
            return bool(sizes) and max(sizes) == 0
        return not all(map(math.isfinite, sizes))

    def found(self) -> dict[str, object]:
        """The lines at which it began."""
        return {"spoiled": list(self.seen.values())}
