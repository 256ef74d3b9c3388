"""One scenario with custom Functions on PyTorch and on retrograd, with all that it notes compared.

A scenario is a function of a library and a `Notes` object. What it notes (tensors with everything
that can be seen of them, nodes by name, exceptions by type and text) must be the same on both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd


class Notes:
    """What one run of a scenario showed."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.seen: list[Any] = []

    def __call__(self, *values: Any) -> None:
        """Note these values."""
        self.seen.append(tuple(self.plain(value) for value in values))

    def gradients(self, *values: Any) -> None:
        """Note values among which tensors count by their numbers and history alone.

        Whether a gradient is a view, or was added to in place, is the engine's business.
        """
        self.seen.append(tuple(_without_memory(self.plain(value)) for value in values))

    def attempt(self, action: Callable[[], Any]) -> Any:
        """Run `action`, noting its exception or its result."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = action()
        except Exception as error:
            self.seen.append(("raised", _error_type(error), _first_line(error)))
            return None
        self.seen.append(("fine", self.plain(result), [_warning(w) for w in caught]))
        return result

    def plain(self, value: Any) -> Any:
        """A value in a form that both libraries share."""
        if isinstance(value, self.library.Tensor):
            return _facts(value)
        if isinstance(value, dict):
            return {key: self.plain(entry) for key, entry in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value).__name__, [self.plain(entry) for entry in value]
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, self.library.dtype):
            return str(value)
        return type(value).__name__


def _facts(tensor: Any) -> Any:
    facts: dict[str, Any] = {
        "values": np.asarray(tensor.detach().tolist()),
        "dtype": str(tensor.dtype),
        "shape": tuple(tensor.shape),
        "requires_grad": tensor.requires_grad,
        "is_view": tensor._is_view(),
    }
    if tensor.is_inference():
        return facts
    facts["version"] = tensor._version
    try:
        node = tensor.grad_fn
    except RuntimeError as error:
        facts["grad_fn"] = _first_line(error)
        return facts
    facts["is_leaf"] = tensor.is_leaf
    facts["output_nr"] = tensor.output_nr
    facts["grad_fn"] = None if node is None else node.name()
    if node is not None:
        facts["next"] = [(None if n is None else n.name(), k) for n, k in node.next_functions]
    return facts


def _without_memory(note: Any) -> Any:
    if isinstance(note, dict):
        return {k: _without_memory(v) for k, v in note.items() if k not in ("version", "is_view")}
    if isinstance(note, (list, tuple)):
        return type(note)(_without_memory(entry) for entry in note)
    return note


def _error_type(error: Exception) -> str:
    return type(error).__name__


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else ""


def _warning(record: Any) -> tuple[str, str]:
    text = str(record.message).split(" (Triggered internally")[0]
    return record.category.__name__, text.splitlines()[0]


def _run(scenario: Callable[[Any, Notes], None], library: Any) -> list[Any]:
    notes = Notes(library)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `attempt` notes them
            scenario(library, notes)
    except Exception as error:
        notes.seen.append(("ended", _error_type(error), _first_line(error)))
    return notes.seen


def compare(scenario: Callable[[Any, Notes], None], torch: Any) -> None:
    """Run a scenario on both libraries; everything noted must agree."""
    theirs = _run(scenario, torch)
    ours = _run(scenario, retrograd)
    for number, (their_note, our_note) in enumerate(zip(theirs, ours, strict=False)):
        assert same(their_note, our_note), (
            f"note {number} differs:\n  torch {their_note}\n  ours  {our_note}"
        )
    assert len(theirs) == len(ours), f"torch {theirs[len(ours) :]}\n ours {ours[len(theirs) :]}"
    assert theirs, "the scenario noted nothing"


def same(theirs: Any, ours: Any) -> bool:
    """Whether two notes agree; texts of errors agree when ours starts with PyTorch's."""
    if type(theirs) is not type(ours):
        return False
    if isinstance(theirs, np.ndarray):
        return theirs.shape == ours.shape and np.allclose(theirs, ours, 1e-6, 1e-8, equal_nan=True)
    if isinstance(theirs, dict):
        return theirs.keys() == ours.keys() and all(same(v, ours[k]) for k, v in theirs.items())
    if isinstance(theirs, tuple) and len(theirs) == 3 and theirs[0] in ("raised", "ended"):
        kind, error, text = theirs
        return bool(ours[:2] == (kind, error) and ours[2].startswith(text))
    if isinstance(theirs, (list, tuple)):
        return len(theirs) == len(ours) and all(map(same, theirs, ours))
    return bool(theirs == ours)


# ------------------------------------------------------------------------------------- scenarios

Scenario = Callable[[Any, Notes], None]


class Scenarios(dict[str, Scenario]):
    """The scenarios of a module by name; also the decorator that adds one."""

    def __call__(self, function: Scenario) -> Scenario:
        assert function.__name__ not in self
        self[function.__name__] = function
        return function


def leaf(lib: Any, *values: float, grad: bool = True) -> Any:
    """A leaf of one dimension in double precision."""
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=grad)


def product(lib: Any) -> Any:
    """x * y as a Function by the book."""

    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    return Product


def same_again(lib: Any) -> Any:
    """Returns its input as it is."""

    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    return Same


def doubled_in_place(lib: Any, saves: bool = False) -> Any:
    """Changes its input in place; `seen` notes what it saved."""

    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            if saves:
                ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            if saves:
                note_saved(ctx)
            return grad * 2

    def note_saved(ctx: Any) -> None:
        (saved,) = ctx.saved_tensors
        Double.seen.append((saved.tolist(), saved.grad_fn.name(), saved.requires_grad))

    Double.seen = []
    return Double
