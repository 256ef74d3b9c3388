"""A kernel of a device's own: it takes the op's place there, in rules too, and nowhere else."""

from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.backend import CPU
from tests.strict.arrays import STRICT


@pytest.fixture
def own_exp():
    @STRICT.override("exp")
    def kernel(xp, input):
        return xp.full_like(input, 7.0)

    yield
    del STRICT.overrides["exp"]
    STRICT.raw.__dict__.pop("exp", None)


def test_an_override_is_used_on_its_device(own_exp):
    x = torch.zeros(2)
    assert torch.exp(x.to("privateuseone")).tolist() == [7.0, 7.0]
    assert torch.exp(x).tolist() == [1.0, 1.0]
    assert STRICT.raw.exp(x.to("privateuseone")._array).tolist() == [7.0, 7.0]


def test_without_it_the_neutral_kernel_runs():
    assert torch.exp(torch.zeros(2).to("privateuseone")).tolist() == [1.0, 1.0]


def test_the_cpu_refuses_one_that_it_would_not_use():
    with pytest.raises(NotImplementedError, match="'exp' is bound with its declaration"):
        CPU.override("exp")
