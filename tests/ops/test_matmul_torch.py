"""The graphs of matrix products, compared with those of PyTorch node by node."""

from __future__ import annotations

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((2, 5, 2, 3), (2, 5, 3, 4)),
]


def graph(node):
    """A graph as nested text: ``MmBackward0(AccumulateGrad, None)``."""
    if node is None:
        return "None"
    inner = ", ".join(graph(edge) for edge, _ in node.next_functions)
    name = type(node).__name__
    return f"{name}({inner})" if inner else name


def leaf(library, shape, wanted=True):
    tensor = library.ones(shape)
    return tensor.requires_grad_() if wanted else tensor


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_matmul_has_the_graph_of_pytorch(first, second, wanted):
    ours, theirs = (
        graph((leaf(library, first, wanted[0]) @ leaf(library, second, wanted[1])).grad_fn)
        for library in (retrograd, torch)
    )
    assert ours == theirs


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (5, 2, 3), (4, 5, 2, 3)])
def test_linear_has_the_graph_of_pytorch(shape, wanted, bias):
    def run(library):
        x, weight = leaf(library, shape, wanted), leaf(library, (4, 3))
        more = leaf(library, (4,)) if bias else None
        return graph(library.nn.functional.linear(x, weight, more).grad_fn)

    assert run(retrograd) == run(torch)


def test_linear_keeps_the_weight_only_for_an_input_that_needs_a_gradient():
    weight, bias = leaf(retrograd, (4, 3)), leaf(retrograd, (4,))
    linear = retrograd.nn.functional.linear
    assert linear(retrograd.ones(2, 3), weight, bias).grad_fn._saved_mat2 is None
    assert linear(leaf(retrograd, (2, 3)), weight, bias).grad_fn._saved_mat2 is not None


def test_the_gradient_of_a_weight_is_contiguous():
    weight = leaf(retrograd, (4, 3))
    retrograd.nn.functional.linear(retrograd.ones(2, 3), weight).sum().backward()
    assert weight.grad.is_contiguous()


def test_a_matrix_times_something_foreign():
    with pytest.raises(TypeError, match="unsupported operand type"):
        retrograd.ones(2, 2) @ 3
