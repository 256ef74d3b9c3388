"""Unsigned integers of 16, 32 and 64 bits: what PyTorch can do with them, bit by bit."""

from __future__ import annotations

import io

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

KINDS = ["uint16", "uint32", "uint64"]
CALLS = [
    lambda t, a, b: a * b,
    lambda t, a, b: a / b,
    lambda t, a, b: a == b,
    lambda t, a, b: a & b,
    lambda t, a, b: a + 1.5,
    lambda t, a, b: a.sum(),
    lambda t, a, b: a.prod(),
    lambda t, a, b: a.any(),
    lambda t, a, b: a.float(),
    lambda t, a, b: a.bool(),
    lambda t, a, b: a.to(t.int64),
    lambda t, a, b: a[1:],
    lambda t, a, b: a[0].item(),
    lambda t, a, b: a.tolist(),
    lambda t, a, b: t.cat([a, b]),
    lambda t, a, b: t.stack([a, b]),
    lambda t, a, b: t.where(a == a, a, b),
    lambda t, a, b: a.sort().values,
    lambda t, a, b: a.unique(),
    lambda t, a, b: a.clone().fill_(4),
    lambda t, a, b: t.full((2,), 3, dtype=a.dtype),
    lambda t, a, b: t.zeros(2, dtype=a.dtype),
    lambda t, a, b: t.equal(a, a),
    lambda t, a, b: repr(a),
    lambda t, a, b: a.type(),
    lambda t, a, b: a.is_signed(),
    lambda t, a, b: t.result_type(a, 1),
    lambda t, a, b: t.promote_types(a.dtype, t.float32),
    lambda t, a, b: t.promote_types(a.dtype, t.int32),
    lambda t, a, b: t.promote_types(t.bool, a.dtype),
    lambda t, a, b: a + t.tensor([1, 2, 3]),
    lambda t, a, b: t.tensor([1, 2, 3])[a],
    lambda t, a, b: t.iinfo(a.dtype),
    lambda t, a, b: t.tensor([-1], dtype=a.dtype),
    lambda t, a, b: t.tensor([2**70], dtype=a.dtype),
    lambda t, a, b: t.tensor([2**40], dtype=t.uint16),
    lambda t, a, b: t.tensor([1.5], dtype=a.dtype),
    lambda t, a, b: t.hash_tensor(a),
    lambda t, a, b: t.can_cast(a.dtype, t.int32),
]


def outcome(library, kind, call):
    dtype = getattr(library, kind)
    a = library.tensor([3, 1, 2], dtype=dtype)
    b = library.tensor([3, 2, 60000], dtype=dtype)
    try:
        found = call(library, a, b)
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    if hasattr(found, "grad_fn"):
        array = found.numpy()
        return str(found.dtype), array.shape, array.tolist()
    return str(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", range(len(CALLS)))
def test_same_outcome(kind, call):
    ours, theirs = (outcome(library, kind, CALLS[call]) for library in (retrograd, torch))
    assert ours == theirs


@pytest.mark.parametrize("kind", KINDS)
def test_saved_for_each_other(kind):
    for writer, reader in ((retrograd, torch), (torch, retrograd), (retrograd, retrograd)):
        file = io.BytesIO()
        array = np.array([1, 2, np.iinfo(kind).max], kind)
        writer.save({"x": writer.from_numpy(array)}, file)
        file.seek(0)
        loaded = reader.load(file)["x"]
        np.testing.assert_array_equal(loaded.numpy(), array)
        assert str(loaded.dtype) == f"torch.{kind}"
