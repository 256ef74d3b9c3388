"""A layer with any inputs, made and run in both libraries under the same seeds."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import numpy as np

import retrograd

TIGHT = {"rtol": 1e-9, "atol": 1e-11}


class Case(NamedTuple):
    """How to make a layer, and the shapes (float64) or arrays it is called with."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    inputs: tuple[Any, ...]

    def __str__(self) -> str:
        given = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.options.items()]
        return f"{self.name}({', '.join(given)})"


def case(name: str, *args: Any, inputs: Any, **options: Any) -> Case:
    """A Case; `inputs` is one shape, one array or a list of them."""
    return Case(name, args, options, tuple(inputs) if isinstance(inputs, list) else (inputs,))


def make(t: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A layer whose initial values are drawn after the same seed."""
    t.manual_seed(7)
    return getattr(t.nn, name)(*args, **options)


def same(ours: Any, theirs: Any, **tolerance: float) -> None:
    """Equal values, shapes and dtypes."""
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(ours, theirs, **tolerance)


def same_state(ours: Any, theirs: Any, **tolerance: float) -> None:
    """Equal names and values of all parameters and buffers."""
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, tensor in theirs.state_dict().items():
        same(ours.state_dict()[key], tensor, **tolerance)


def run(t: Any, layer: Any, inputs: list[Any], second: bool) -> list[Any]:
    """The outputs, the gradients of float inputs and parameters, and those of a norm of them."""
    given = [t.tensor(a, requires_grad=a.dtype.kind == "f") for a in inputs]
    # A layer that overwrites its input may not be given a leaf.
    passed = [x * 1.0 if x.requires_grad else x for x in given]
    t.manual_seed(11)
    outputs = layer(*passed)
    results = list(outputs) if isinstance(outputs, tuple) else [outputs]
    output = results[0]
    leaves = [x for x in (*given, *layer.parameters()) if x.requires_grad]
    if not leaves:
        return results
    weights = t.arange(1.0, output.numel() + 1, dtype=t.float64).reshape(output.shape)
    loss = (output * (weights * 0.7).sin()).sum()
    first = t.autograd.grad(loss, leaves, create_graph=second)
    results += first
    if second:
        total = sum((g * g).sum() for g in first)
        if total.requires_grad:
            again = t.autograd.grad(total, leaves, allow_unused=True)
            # A gradient of zeros and no gradient at all mean the same here.
            results += [
                t.zeros_like(leaf) if g is None else g
                for leaf, g in zip(leaves, again, strict=True)
            ]
        else:
            results += [t.zeros_like(leaf) for leaf in leaves]
    return results


def compare(torch: Any, chosen: Case, second: bool = True) -> None:
    """Text, initial values, results in training and evaluation, and copies of one layer."""
    layers = [make(t, chosen.name, chosen.args, chosen.options) for t in (retrograd, torch)]
    ours, theirs = layers
    assert repr(ours) == repr(theirs)
    same_state(ours, theirs, rtol=0, atol=0)
    ours.double(), theirs.double()
    generator = np.random.default_rng(5)
    # Parameters away from zero and one, so that their part in the result shows.
    for key, parameter in theirs.named_parameters():
        drawn = generator.normal(size=tuple(parameter.shape)) * 0.5
        parameter.data = torch.tensor(drawn)
        dict(ours.named_parameters())[key].data = retrograd.tensor(drawn)
    for training in (True, True, False):
        ours.train(training), theirs.train(training)
        inputs = [
            given if isinstance(given, np.ndarray) else generator.normal(size=given) * 1.5
            for given in chosen.inputs
        ]
        got, wanted = (
            run(t, m, inputs, second) for t, m in zip((retrograd, torch), layers, strict=True)
        )
        assert len(got) == len(wanted)
        for mine, real in zip(got, wanted, strict=True):
            same(mine, real, **TIGHT)
        same_state(ours, theirs, rtol=1e-12, atol=1e-14)
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert repr(copied) == repr(ours)
        assert copied.training is False
        same_state(copied, theirs, rtol=1e-12, atol=1e-14)
        result = copied(*[retrograd.tensor(a) for a in inputs])
        same(result[0] if isinstance(result, tuple) else result, wanted[0], **TIGHT)


def same_error(torch: Any, build: Any) -> None:
    """Both libraries refuse `build(library)` with the same kind of error and first line."""
    raised = []
    for t in (retrograd, torch):
        try:
            build(t)
        except Exception as error:
            raised.append((type(error), str(error).split("\n")[0]))
        else:
            raise AssertionError(f"{t.__name__} raised nothing")
    (mine, said), (real, expected) = raised
    # What retrograd raises may be a subclass that explains itself.
    assert issubclass(mine, real), (mine, real)
    assert said == expected
