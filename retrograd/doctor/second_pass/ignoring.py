"""Second pass, question "ignoring": custom functions whose backward takes no notice of its input.

The chain rule multiplies by what arrives. Here backward runs a second time with other numbers: a
result that stays the same, and is not zero, does not come from the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.doctor.session import Watched
from retrograd.watching.graph import tensors_in

ENOUGH = 3  # backward calls of one function
MOST_CALLS = 60  # of the program


class IgnoringWatch:
    """Wraps the backward of the functions in question when they are used first."""

    def __init__(
        self, watched: Watched, names: Sequence[str], decided: Callable[[dict[str, object]], None]
    ) -> None:
        self.watched = watched
        self.torch = watched.engine.torch
        self.names = set(names)
        self.decided = decided
        self.ignored: dict[str, int] = {}  # by name of the class: calls that took no notice
        self.minded: set[str] = set()  # that did, or whose input was one: nothing to multiply by
        self._wrapped: set[type] = set()
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> IgnoringWatch:
        kind, watch = self.torch.autograd.Function, self
        original = kind.__dict__["apply"]

        def apply(cls: Any, *args: Any, **keywords: Any) -> Any:
            if cls.__name__ in watch.names and cls not in watch._wrapped:
                watch._wrapped.add(cls)
                watch._wrap(cls)
            return original.__get__(None, cls)(*args, **keywords)

        kind.apply = classmethod(apply)
        self._undo.append(lambda: setattr(kind, "apply", original))
        return self

    def __exit__(self, *exception: object) -> None:
        while self._undo:
            self._undo.pop()()

    def _wrap(self, cls: Any) -> None:
        original, watch = cls.backward, self

        def backward(ctx: Any, *gradients: Any) -> Any:
            results = original(ctx, *gradients)
            watch._compare(cls.__name__, original, ctx, gradients, results)
            return results

        cls.backward = staticmethod(backward)

    def _compare(
        self, name: str, backward: Callable[..., Any], ctx: Any, gradients: Any, results: Any
    ) -> None:
        torch = self.torch
        with torch.no_grad():
            given = tensors_in(list(gradients), torch.Tensor)
            if any(g.is_meta for g in given) or all(bool((g == 1).all()) for g in given):
                return  # nobody knows; or a loss itself: nothing is lost
            other = [self._another(g) for g in gradients]
            try:
                again = backward(ctx, *other)
            except Exception:
                self.minded.add(name)
                return
            if _are_equal(torch, results, again):
                self.ignored[name] = self.ignored.get(name, 0) + 1
            else:
                self.minded.add(name)
        calls = len(self.watched.recorder.calls)
        if self.ignored.get(name, 0) >= ENOUGH or calls > MOST_CALLS:
            self.decided(self.found())

    def _another(self, gradient: Any) -> Any:
        if not isinstance(gradient, self.torch.Tensor) or not gradient.is_floating_point():
            return gradient
        signs = self.torch.arange(gradient.numel(), dtype=gradient.dtype) % 2 * 2 - 1
        return gradient * 3 * signs.reshape(gradient.shape) - 0.5

    def found(self) -> dict[str, object]:
        """The functions that never took notice."""
        ignoring = {name: n for name, n in self.ignored.items() if name not in self.minded}
        return {"ignoring": ignoring}


def _are_equal(torch: Any, results: Any, again: Any) -> bool:
    """Whether both have the same gradients, and not zeros only."""
    first, second = tensors_in([results], torch.Tensor), tensors_in([again], torch.Tensor)
    if not first or len(first) != len(second):
        return False
    given = any(bool(each.any()) for each in first)
    return given and all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
