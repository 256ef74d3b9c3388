"""``out=``: what has no gradient to lose, and memory that views go on seeing."""

import warnings

import pytest

pytestmark = pytest.mark.torch

COMPARISONS = "gt eq ne lt le ge logical_and logical_or logical_xor".split()


def _both():
    import torch

    import retrograd

    return retrograd, torch


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_takes_operands_that_require_grad(name):
    seen = []
    for t in _both():
        x = t.tensor([1.0, -2.0, 0.0], requires_grad=True)
        out = t.empty(3, dtype=t.bool)
        assert getattr(t, name)(x, t.zeros(3), out=out) is out
        seen.append((out.tolist(), out.requires_grad))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("name", ["argmax", "any", "all", "add", "sign"])
def test_what_else_is_refused_or_not(name):
    seen = []
    for t in _both():
        x = t.tensor([1.0, -2.0], requires_grad=True)
        out = t.empty(0, dtype={"argmax": t.long, "any": t.bool, "all": t.bool}.get(name, t.float))
        arguments = (x, x) if name == "add" else (x,)
        try:
            seen.append(getattr(t, name)(*arguments, out=out).tolist())
        except RuntimeError as error:
            seen.append(str(error).splitlines()[0])
    assert seen[0] == seen[1]


def test_softplus_writes_into_a_given_tensor():
    for t in _both():
        out = t.empty(2)
        assert t.nn.functional.softplus(t.zeros(2), out=out) is out
        assert out.tolist() == pytest.approx([0.6931472] * 2)


@pytest.mark.parametrize(("start", "stop", "size"), [(0, 3, 1), (0, 2, 3), (1, 3, 3), (1, 2, 0)])
def test_an_output_that_is_resized_writes_the_memory_its_views_see(start, stop, size):
    seen = []
    for t in _both():
        base = t.arange(4.0)
        view = base[start:stop]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            t.add(t.ones(size), 1, out=view)
        seen.append((base.tolist(), view.tolist()))
    assert seen[0] == seen[1]
