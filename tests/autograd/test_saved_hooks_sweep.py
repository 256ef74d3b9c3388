"""Every op under saved-tensor hooks: the gradients are those without hooks, of both orders."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import retrograd
from tests.ops.compare import build, cases, flatten, function_of

pytestmark = pytest.mark.slow

SAMPLES: dict[str, list[Any]] = {}
for _name, _sample in cases():
    SAMPLES.setdefault(_name, []).append(_sample)


def gradients(outputs: list[Any], leaves: list[Any], order: int) -> list[Any]:
    """Gradients of the outputs' sums (with weights, so that each counts) and of those again."""
    total = None
    for number, output in enumerate(outputs):
        part = (output * (number + 1.5)).sum()
        part = part.real if part.is_complex() else part
        total = part if total is None else total + part
    first = retrograd.autograd.grad(total, leaves, create_graph=order == 2, allow_unused=True)
    if order == 1:
        return list(first)
    found = [g for g in first if g is not None and g.requires_grad]
    if not found:
        return []
    return gradients(found, leaves, 1)


def run(name: str, sample: Any, how: str, order: int) -> Any:
    """The gradients of one sample, or the error that it ends in."""
    try:
        args, kwargs, leaves = build(sample, retrograd, "float64", False, True)
    except TypeError:  # values that only complex numbers have
        args, kwargs, leaves = build(sample, retrograd, "complex128", False, True)
    if not leaves:
        return None
    hooks = retrograd.autograd.graph.saved_tensors_hooks(
        lambda tensor: tensor.detach().clone(), lambda packed: packed
    )
    retrograd.manual_seed(0)
    try:
        if how == "hooks":
            with hooks:
                result = function_of(name, retrograd)(*args, **kwargs)
        else:
            result = function_of(name, retrograd)(*args, **kwargs)
        outputs = [
            output
            for output in flatten(result)
            if isinstance(output, retrograd.Tensor) and output.grad_fn is not None
        ]
        if how == "raw":
            for node in {output.grad_fn for output in outputs}:
                _pack(node)
        return gradients(outputs, leaves, order) if outputs else None
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


def _pack(node: Any) -> None:
    """Look at every raw saved value, which turns it into an object, and put hooks on half."""
    for number, name in enumerate(n for n in dir(type(node)) if n.startswith("_raw_saved_")):
        try:
            saved = getattr(node, name)
        except AttributeError:
            continue  # a number
        if number % 2 and saved.data is not None:
            saved.register_hooks(lambda tensor: tensor.clone(), lambda packed: packed)


def alike(a: Any, b: Any) -> bool:
    """The same errors, or the same gradients but for the order of sums, which follows layouts."""
    if not isinstance(a, list) or not isinstance(b, list):
        return bool(a == b)
    return len(a) == len(b) and all(
        (x is None and y is None) or np.allclose(x.numpy(), y.numpy(), 1e-11, 1e-12, equal_nan=True)
        for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_gradients_under_hooks(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in SAMPLES[name]:
            for order in (1, 2):
                plain = run(name, sample, "plain", order)
                for how in ("hooks", "raw"):
                    assert alike(plain, run(name, sample, how, order)), (sample, how, order)
