"""The names of the nodes that ops record, beside PyTorch's, over the samples of every op."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import retrograd
from tests.ops.compare import build, cases, flatten, function_of, is_tensor

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow]

# What is known to differ: a function made of others, or a gradient where PyTorch has none.
DIFFERENT = Path(__file__).with_name("node_names.txt")


def names(name: str, sample: Any, library: Any) -> list[str]:
    """The names of the nodes of all results; of none where the call fails, which others compare."""
    args, options, _ = build(sample, library, sample.dtypes[0], False, True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = flatten(function_of(name, library)(*args, **options))
    except Exception:
        return ["error"]
    tensors = [part for part in found if is_tensor(part)]
    return ["-" if t.grad_fn is None else type(t.grad_fn).__name__ for t in tensors]


def test_nodes_have_the_names_of_pytorch() -> None:
    """If this fails: make the names equal, or take a line out of the list that has become so."""
    found = set()
    compared = 0
    for name, sample in cases():
        theirs, ours = names(name, sample, torch), names(name, sample, retrograd)
        if "error" in (*theirs, *ours):
            continue
        compared += 1
        if theirs != ours:
            pairs = dict.fromkeys(f"{t}/{o}" for t, o in zip(theirs, ours, strict=True) if t != o)
            found.add(f"{name} {' '.join(pairs)}")
    assert compared > 5000
    assert sorted(found) == DIFFERENT.read_text(encoding="utf-8").splitlines()
