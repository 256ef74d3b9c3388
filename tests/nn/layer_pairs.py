"""One layer in both libraries, made and run alike, with everything observable compared."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

import retrograd

TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def make(t: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A layer whose initial values are drawn after the same seed."""
    t.manual_seed(7)
    return getattr(t.nn, name)(*args, **options)


def values(state: Any) -> dict[str, Any]:
    return {name: tensor.detach().numpy().copy() for name, tensor in state.items()}


def same(ours: Any, theirs: Any, **tolerance: float) -> None:
    """Equal values, shapes and dtypes."""
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(ours, theirs, **tolerance)


def same_state(ours: Any, theirs: Any, **tolerance: float) -> None:
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, tensor in theirs.state_dict().items():
        same(ours.state_dict()[key], tensor, **tolerance)


def run(t: Any, layer: Any, array: Any) -> list[Any]:
    """The output, the gradients of input and parameters, and gradients of those."""
    x = t.tensor(array, requires_grad=True)
    results = layer(x)
    results = list(results) if isinstance(results, tuple) else [results]
    leaves = [x, *layer.parameters()]
    weights = t.arange(1.0, results[0].numel() + 1, dtype=t.float64).reshape(results[0].shape)
    loss = (results[0] * (weights * 0.7).sin()).sum()
    first = t.autograd.grad(loss, leaves, create_graph=True)
    results += first
    curved = [g for g in first if g.requires_grad]  # none where the layer is a fixed linear map
    if curved:
        total = sum((g * g).sum() for g in curved)
        again = t.autograd.grad(total, leaves, allow_unused=True)
        results += [g for g in again if g is not None]
    return results


def compare(
    torch: Any,
    name: str,
    args: tuple[Any, ...],
    options: dict[str, Any],
    shape: tuple[int, ...],
) -> None:
    """Everything about one layer: values, names, text, training and evaluation, copies."""
    ours, theirs = (make(t, name, args, options) for t in (retrograd, torch))
    assert repr(ours) == repr(theirs)
    same_state(ours, theirs, rtol=0, atol=0)
    generator = np.random.default_rng(5)
    ours.double(), theirs.double()
    # parameters away from zero and one, so that their part in the result shows
    for key, parameter in theirs.named_parameters():
        drawn = generator.normal(size=tuple(parameter.shape)) * 0.5
        parameter.data = torch.tensor(drawn)
        dict(ours.named_parameters())[key].data = retrograd.tensor(drawn)
    for training in (True, True, False):
        ours.train(training), theirs.train(training)
        array = generator.normal(size=shape)
        got = run(retrograd, ours, array)
        wanted = run(torch, theirs, array)
        assert len(got) == len(wanted)
        for mine, real in zip(got, wanted, strict=True):
            same(mine, real, **TIGHT)
        same_state(ours, theirs, **TIGHT)
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert repr(copied) == repr(ours)
        same_state(copied, theirs, **TIGHT)
        same(_first(copied(retrograd.tensor(array))), wanted[0], **TIGHT)


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


def same_error(torch: Any, action: Any) -> None:
    """``action(library)`` raises the same type and first line in both."""
    caught = []
    for t in (retrograd, torch):
        try:
            action(t)
        except Exception as error:
            caught.append((type(error).__name__, str(error).splitlines()[0]))
        else:
            caught.append(None)
    assert caught[0] == caught[1]
    assert caught[1] is not None
