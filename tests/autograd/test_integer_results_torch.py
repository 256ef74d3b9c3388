"""A history cannot end in integers: asking for their dtype is refused where PyTorch refuses it."""

from __future__ import annotations

import warnings

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CALLS = """
x.sum(dtype=t.int64)
x.sum(0, dtype=t.int32)
x.sum((0, 1), True, dtype=t.bool)
x.prod(dtype=t.int64)
x.prod(0, dtype=t.uint8)
x.nansum(0, dtype=t.int64)
x.cumsum(0, dtype=t.int64)
x.cumprod(1, dtype=t.int16)
x.mean(dtype=t.int64)
x.sum(dtype=t.float64)
x.detach().sum(dtype=t.int64)
x.to(t.int64)
x.long().sum()
x.argmax()
x.detach().cumsum(0, dtype=t.bool)
x.detach().cumprod(0, dtype=t.bool)
x[:0].detach().cumsum(0, dtype=t.bool)
x[0, 0].detach().cumsum(0, dtype=t.bool)
""".strip().splitlines()


@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
@pytest.mark.parametrize("call", CALLS)
def test_same_as_pytorch(call, mode):
    found = []
    for library in (retrograd, torch):
        x = library.arange(6.0).reshape(2, 3).requires_grad_()
        with getattr(library, mode)(), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                result = eval(call, {"x": x, "t": library})
                node = result.grad_fn and result.grad_fn.name()
                found.append((str(result.dtype), result.tolist(), node, result.requires_grad))
            except Exception as error:
                found.append((type(error).__name__, str(error).split("\n")[0]))
    assert found[0] == found[1]
