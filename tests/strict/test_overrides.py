"""A kernel of a device's own: it takes the op's place there, in rules too, and nowhere else."""

from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import core
from retrograd.backend import CPU
from retrograd.ops.kinds import Array
from retrograd.ops.registry import OPS, op
from tests.strict.arrays import STRICT


@pytest.fixture
def own_exp():
    @STRICT.override("exp")
    def kernel(xp, input):
        return xp.full_like(input, 7.0)

    yield
    STRICT.withdraw("exp")


def test_an_override_is_used_on_its_device(own_exp):
    x = torch.zeros(2)
    assert torch.exp(x.to("privateuseone")).tolist() == [7.0, 7.0]
    assert torch.exp(x).tolist() == [1.0, 1.0]
    assert STRICT.raw.exp(x.to("privateuseone")._array).tolist() == [7.0, 7.0]


def test_without_it_the_neutral_kernel_runs():
    assert torch.exp(torch.zeros(2).to("privateuseone")).tolist() == [1.0, 1.0]


def declared(name):
    """An op of this test alone: nobody has called it yet."""

    def kernel(xp, input: Array, times: int = 2) -> Array:
        return xp.multiply(input, times)

    kernel.__name__ = name
    return op(input=lambda m, g, times: m.mul(g, times), namespace=None, methods=())(kernel)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_override_of_the_cpu_is_used_in_calls_and_in_rules(compiled):
    name = f"_overridden_{compiled}"
    function = declared(name)

    @CPU.override(name)
    def quicker(xp, input, times=2):
        return xp.full_like(input, 7.0)

    x = torch.zeros(2, requires_grad=True)
    back = (lambda: None) if compiled else core.put_aside()
    try:
        assert function(x).tolist() == [7.0, 7.0]
        assert function(x, times=3).tolist() == [7.0, 7.0]
        assert getattr(CPU.raw, name)(x._array).tolist() == [7.0, 7.0]
        function(x).sum().backward()
    finally:
        back()
        del OPS[name], CPU.overrides[name]
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_cpu_refuses_one_that_it_would_not_use():
    with pytest.raises(NotImplementedError, match="'exp' is the function 'exp' of its xp"):
        CPU.override("exp")(lambda xp, input: input)
    torch.softmax(torch.zeros(2), 0)
    before = CPU.kernel("softmax")
    if core.AVAILABLE:
        with pytest.raises(RuntimeError, match="'softmax' was called before"):
            CPU.override("softmax")(lambda xp, input, dim: input)
    assert CPU.kernel("softmax") is before


def test_a_device_may_take_half_precision_as_it_is():
    kinds = []

    @STRICT.override("mm")
    def product(xp, input, mat2):
        kinds.append(input.dtype.name)
        return xp.matmul(input, mat2)

    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float16)
    try:
        for halves in (set(), {"mm"}):
            STRICT.halves = STRICT.half_rules = halves
            STRICT.flat.clear(), STRICT.runs.clear()
            x = a.to("privateuseone").requires_grad_()
            result = x @ x
            result.sum().backward()
            assert result.tolist() == (a @ a).tolist() and result.dtype is torch.float16
            assert x.grad.dtype is torch.float16 and x.grad.tolist() == [[7.0, 11.0], [9.0, 13.0]]
    finally:
        STRICT.halves, STRICT.half_rules = set(), set()
        STRICT.flat.clear(), STRICT.runs.clear()
        STRICT.withdraw("mm")
    assert kinds == ["float32"] * 3 + ["float16"] * 3
