"""One scenario on PyTorch and on retrograd: results, structure, flags and errors must be alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd

_ROOM = {"float32": 2e-5, "float64": 1e-10, "complex64": 2e-5, "complex128": 1e-10}


def outcome(library: Any, scenario: Callable[[Any], Any]) -> Any:
    """What a scenario returns, or the exception it ends with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return scenario(library)
        except Exception as error:
            return error


def assert_same(torch: Any, scenario: Callable[[Any], Any]) -> None:
    """Run a scenario on both libraries and compare all there is to see."""
    theirs, ours = outcome(torch, scenario), outcome(retrograd, scenario)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        if not (isinstance(theirs, Exception) and isinstance(ours, Exception)):
            failed = theirs if isinstance(theirs, Exception) else ours
            raise AssertionError(f"{theirs!r} in PyTorch, {ours!r} here") from failed
        assert type(theirs).__name__ in [kind.__name__ for kind in type(ours).__mro__], repr(ours)
        wanted, found = first_line(torch, theirs), first_line(retrograd, ours)
        if found != wanted:
            raise AssertionError(f"{wanted!r} in PyTorch, {found!r} here") from ours
        return
    compare(torch, theirs, ours, "result")


def first_line(library: Any, error: Exception) -> str:
    """The first line of a message, with types named in one way."""
    text = str(error).split("\n")[0]
    return text.replace("retrograd.tensor.Tensor", "torch.Tensor")


def compare(torch: Any, theirs: Any, ours: Any, where: str) -> None:
    """Raise at the first difference between two trees of results."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, retrograd.Tensor), f"{where}: {type(ours)}"
        assert str(theirs.dtype) == str(ours.dtype), f"{where}: {ours.dtype}, not {theirs.dtype}"
        assert tuple(theirs.shape) == tuple(ours.shape), f"{where}: {tuple(ours.shape)}"
        assert theirs.requires_grad == ours.requires_grad, f"{where}: {ours.requires_grad=}"
        room = _ROOM.get(str(theirs.dtype).removeprefix("torch."), 0)
        np.testing.assert_allclose(
            ours.detach().numpy(),
            theirs.detach().numpy(force=True),
            rtol=room,
            atol=room,
            err_msg=where,
        )
    elif isinstance(theirs, (tuple, list)):
        assert type(ours).__name__ == type(theirs).__name__, f"{where}: {ours!r}"
        assert len(theirs) == len(ours), f"{where}: {len(ours)} items"
        for place, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            compare(torch, their, our, f"{where}[{place}]")
    elif isinstance(theirs, dict):
        assert list(theirs) == list(ours), f"{where}: {list(ours)}"
        for name in theirs:
            compare(torch, theirs[name], ours[name], f"{where}[{name!r}]")
    else:
        assert str(theirs) == str(ours), f"{where}: {ours!r}, not {theirs!r}"


class Scenarios(list[Any]):
    """A list of scenarios with a decorator that adds to it."""

    def add(self, scenario: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Add a scenario under the name of its function."""
        self.append(scenario)
        return scenario

    def cases(self) -> dict[str, Any]:
        """The arguments of `pytest.mark.parametrize`."""
        return {
            "argnames": "scenario",
            "argvalues": list(self),
            "ids": [scenario.__name__ for scenario in self],
        }
