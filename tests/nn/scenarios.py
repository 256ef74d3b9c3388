"""Functions of a library, run with both: nearly equal tensors, equal everything else."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd


def outcome(t: Any, scenario: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """The result, or the kind and text of the error; and the warnings."""
    t.manual_seed(3)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = scenario(t)
        except Exception as raised:
            result = [type(raised).__name__, first_part(str(raised))]
    return result, [(w.category.__name__, str(w.message)) for w in seen]


def first_part(text: str) -> str:
    """An error's own text, without the report that explains it."""
    return text.split("\n\n")[0].replace("retrograd.", "torch.")


def compare(ours: Any, theirs: Any, **tolerance: float) -> None:
    if hasattr(ours, "numpy") and hasattr(theirs, "numpy"):
        a, b = ours.detach().resolve_conj().numpy(), theirs.detach().resolve_conj().numpy()
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert type(ours).__name__ == type(theirs).__name__
        assert ours.requires_grad == theirs.requires_grad
        np.testing.assert_allclose(a, b, **tolerance)
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs)
        compare(list(ours.values()), list(theirs.values()), **tolerance)
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs), (ours, theirs)
        for one, other in zip(ours, theirs, strict=True):
            compare(one, other, **tolerance)
    else:
        assert ours == theirs


def beside(scenario: Callable[[Any], Any], rtol: float = 1e-5, atol: float = 1e-6) -> Any:
    """Run a scenario with both libraries under the same seed; gives retrograd's result."""
    import torch

    ours, our_warnings = outcome(retrograd, scenario)
    theirs, their_warnings = outcome(torch, scenario)
    compare(ours, theirs, rtol=rtol, atol=atol)
    assert our_warnings == their_warnings
    return ours


def fails(result: Any) -> bool:
    """Whether a scenario ended in an error."""
    return isinstance(result, list) and bool(result) and str(result[0]).endswith("Error")
