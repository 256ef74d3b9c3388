"""Every op over its samples under autocast, beside PyTorch: gradients and nodes."""

from __future__ import annotations

import pytest

import retrograd
from tests.amp.walk import SAMPLES, call, close, graphs
from tests.ops.compare import gradients, to_array

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

# PyTorch's own gradient fails: its formula meets the dtypes that autocast mixed
BROKEN_GRADIENTS = ("linalg.pinv", "nn.functional.affine_grid", "affine_grid_generator")
# the fallback of attention computes in float32 there, and casts around it
OTHER_NODES = ("nn.functional.scaled_dot_product_attention", *BROKEN_GRADIENTS)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in BROKEN_GRADIENTS])
def test_gradients_and_nodes(name):
    for sample in SAMPLES[name]:
        if sample.error or not sample.grad:
            continue
        (ours, our_leaves), (theirs, leaves) = (
            call(library, name, sample, "float32", "bfloat16") for library in (retrograd, torch)
        )
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            continue  # the test of dtypes speaks of these
        found = gradients(ours, our_leaves, retrograd, False)
        expected = gradients(theirs, leaves, torch, False)
        for mine, other in zip(found, expected, strict=True):
            assert (mine is None) == (other is None), sample
            if mine is None:
                continue
            assert str(mine.dtype) == str(other.dtype)
            if not close(to_array(mine), to_array(other)):
                plain = []
                for library in (retrograd, torch):
                    results, given = call(library, name, sample, "float32", None)
                    plain.append(gradients(results, given, library, False))
                assert not all(
                    close(to_array(x), to_array(y))
                    for x, y in zip(*plain, strict=True)
                    if x is not None
                ), (sample, mine, other)
        if name not in OTHER_NODES and graphs(ours) != graphs(theirs):
            plain = [
                graphs(call(library, name, sample, "float32", None)[0])
                for library in (retrograd, torch)
            ]
            assert plain[0] != plain[1], (sample, graphs(ours), graphs(theirs))
