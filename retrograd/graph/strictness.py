"""`graph.strict`: what PyTorch lets pass in silence, or reports late, is an error on its line."""

from __future__ import annotations

from types import TracebackType

from retrograd.engine.state import STRICT, set_strict
from retrograd.engine.strictness import forget_all


class strict:
    """Strict mode: a switch, and a context manager that switches back.

    While it is on, in all threads:

    - a backward pass that comes to a node which an earlier one has consumed raises, also if the
      node saved nothing and PyTorch would walk it again;
    - a write to memory that a node made in strict mode still keeps for backward raises at its own
      line (RG119), and names the node and its line. A NumPy array that `numpy()` gives out while
      its memory is kept is read-only; what else writes to the memory unseen is found by a checksum
      when backward comes to the node.

    >>> from retrograd import graph
    >>> x = torch.ones(3, requires_grad=True)
    >>> with graph.strict():
    ...     y = x.exp()
    ...     try:
    ...         y += 1
    ...     except RuntimeError as error:
    ...         print(error.code)
    RG119

    ``graph.strict()`` alone switches it on for good, ``graph.strict(False)`` off.
    """

    def __init__(self, mode: bool = True) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"graph.strict() takes a bool, not {type(mode).__name__}")
        self._before = STRICT.enabled
        _switch(mode)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _switch(self._before)


def is_strict() -> bool:
    """Whether strict mode is on.

    >>> from retrograd import graph
    >>> graph.is_strict()
    False
    """
    return STRICT.enabled


def _switch(mode: bool) -> None:
    set_strict(mode)
    if not mode:
        forget_all()
