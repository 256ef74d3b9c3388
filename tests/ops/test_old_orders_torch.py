"""Numbers before tensors: the order of arguments that PyTorch deprecated in 1.5 and still takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:This overload of")]

Call = Callable[[Any, Any, Any, Any], Any]

CALLS: dict[str, Call] = {
    "add": lambda t, x, m, v: t.add(x, 2, m),
    "add with a number tensor": lambda t, x, m, v: t.add(x, t.tensor(2.0), m),
    "add of numbers": lambda t, x, m, v: x.add(2, 3),
    "sub": lambda t, x, m, v: x.sub(0.5, m),
    "add_": lambda t, x, m, v: x.clone().add_(-0.5, m),
    "sub_": lambda t, x, m, v: x.clone().sub_(-0.5, m),
    "addcmul": lambda t, x, m, v: t.addcmul(x, 0.5, m, m),
    "addcmul_": lambda t, x, m, v: x.clone().addcmul_(0.5, m, m),
    "addcdiv": lambda t, x, m, v: x.addcdiv(0.5, m, m + 3),
    "addcdiv_": lambda t, x, m, v: x.clone().addcdiv_(0.5, m, m + 3),
    "addmm": lambda t, x, m, v: t.addmm(0.5, x, 2, m, m),
    "addmm beta": lambda t, x, m, v: t.addmm(0.5, x, m, m),
    "addmm method": lambda t, x, m, v: x.addmm(0.5, 2, m, m),
    "addmm_": lambda t, x, m, v: x.clone().addmm_(0.5, m, m),
    "addmv": lambda t, x, m, v: t.addmv(0.5, v, 2, m, v),
    "addmv_": lambda t, x, m, v: v.clone().addmv_(0.5, 2, m, v),
    "addr": lambda t, x, m, v: x.addr(0.5, v, v),
    "baddbmm": lambda t, x, m, v: t.baddbmm(0.5, x[None], 2, m[None], m[None]),
    "addbmm_": lambda t, x, m, v: x.clone().addbmm_(0.5, 2, m[None], m[None]),
}


@pytest.mark.parametrize("name", CALLS)
def test_value_and_gradients(name: str) -> None:
    found = []
    for library in (torch, retrograd):
        x = library.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        m = library.tensor([[0.5, -1.0], [1.5, 2.0]], requires_grad=True)
        v = library.tensor([2.0, -3.0], requires_grad=True)
        result = CALLS[name](library, x, m, v)
        result.pow(2).sum().backward()
        gradients = [[] if p.grad is None else p.grad.tolist() for p in (x, m, v)]
        found.append((result.tolist(), gradients))
    assert found[0] == found[1]


def test_out() -> None:
    for library in (torch, retrograd):
        out = library.empty(2)
        assert library.add(library.ones(2), 3, library.ones(2), out=out) is out
        assert out.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: x.add(x, x),
        lambda t, x: t.add(x, "a", x),
        lambda t, x: t.add(x, 2, x, alpha=3),
        lambda t, x: x.addcmul(x, x, x),
        lambda t, x: x.addcmul(2, 3, x),
        lambda t, x: x.add_(2, x, 3),
        lambda t, x: t.addmm(1, 2, x, 3, x),
    ],
)
def test_refused(call: Callable[[Any, Any], Any]) -> None:
    for library in (torch, retrograd):
        with pytest.raises(TypeError):
            call(library, library.ones(2, 2))


def test_the_warning_names_the_new_order() -> None:
    texts = []
    for library in (torch, retrograd):
        before = library.is_warn_always_enabled()
        library.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match="This overload of addcdiv_ is deprecated") as seen:
                library.ones(2).addcdiv_(0.5, library.ones(2), library.ones(2))
        finally:
            library.set_warn_always(before)
        texts.append(str(seen[0].message).partition(" (Triggered")[0])
    assert texts[0] == texts[1]
    assert np.float32(1.5) == retrograd.ones(1).add_(0.5, retrograd.ones(1)).item()
